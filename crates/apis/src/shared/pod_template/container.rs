//! Defaults of containers.

use keelson_object::Map;

use super::{default_field_ref, image};
use crate::shared::edit::{fill, part, parts};
use crate::shared::resource_list;

/// Fills in one container, of whichever list.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Container (v1.36.4), and what is in a container.
pub(super) fn default(container: &mut Map) {
    let pull_policy = image::pull_policy(container.str("image").unwrap_or_default());
    fill(container, "imagePullPolicy", pull_policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    for port in parts(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    parts(container, "env").for_each(default_variable);
    resource_list::round_up_both(part(container, "resources"));
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = part(container, name) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = part(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = part(lifecycle, name) {
                default_http_get(handler);
            }
        }
    }
}

fn default_variable(variable: &mut Map) {
    let Some(source) = part(variable, "valueFrom") else { return };
    default_field_ref(source);
    if let Some(file) = part(source, "fileKeyRef") {
        file.default_to("optional", false);
    }
}

/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Probe (v1.36.4).
fn default_probe(probe: &mut Map) {
    fill(probe, "timeoutSeconds", 1);
    fill(probe, "periodSeconds", 10);
    fill(probe, "successThreshold", 1);
    fill(probe, "failureThreshold", 3);
    default_http_get(probe);
    if let Some(grpc) = part(probe, "grpc") {
        grpc.default_to("service", "");
    }
}

/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_HTTPGetAction (v1.36.4).
fn default_http_get(handler: &mut Map) {
    if let Some(action) = part(handler, "httpGet") {
        fill(action, "path", "/");
        fill(action, "scheme", "HTTP");
    }
}
