//! Service references of webhooks and aggregated API servers.

use keelson_object::Map;

use super::edit::part;

/// Fills in the port of the service that `parent` names, if it names one.
///
/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_ServiceReference (v1.36.4), and the functions of
/// this name in kube-aggregator and apiextensions-apiserver.
pub(crate) fn default(parent: &mut Map) {
    if let Some(service) = part(parent, "service") {
        service.default_to("port", 443);
    }
}
