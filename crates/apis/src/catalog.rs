//! The list of groups: one line each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use keelson_registry::Group;
use keelson_registry::live::Ground;
use parking_lot::Mutex;

use crate::access::Access;
use crate::services::{Family, PortRange, ServiceCounts};

/// The operator's settings for built-in kinds.
#[derive(Clone)]
pub struct Settings {
    /// The TTL of events.
    pub event_ttl: Duration,
    /// The enabled feature gates.
    pub features: BTreeSet<String>,
    /// Whether privileged containers are allowed.
    pub allow_privileged: bool,
    /// The authenticators and authorizers behind reviews.
    pub access: Access,
    /// The storage, for ComponentStatus.
    pub ground: Option<Ground>,
    /// The ranges of service addresses and node ports.
    pub services: ServiceRanges,
    /// The metrics of their allocation.
    pub service_counts: Arc<ServiceCounts>,
    /// The disabled features. Features that are always on in v1.36 can only be off if an older version of
    /// Kubernetes is emulated.
    pub off: BTreeSet<String>,
    /// The feature gates that were queried.
    pub asked: Arc<Mutex<BTreeSet<String>>>,
}

/// The ranges of service addresses and node ports.
#[derive(Clone, Copy, Debug)]
pub struct ServiceRanges {
    /// The default address family of services.
    pub primary: Family,
    /// Whether services can have an address of the second family as well.
    pub is_dual: bool,
    /// The range of node ports.
    pub node_ports: PortRange,
}

impl Default for ServiceRanges {
    fn default() -> ServiceRanges {
        ServiceRanges { primary: Family::V4, is_dual: false, node_ports: PortRange::DEFAULT }
    }
}

impl Settings {
    /// Whether a feature gate is enabled. Also records that the gate has an effect.
    pub fn is_on(&self, feature: &str) -> bool {
        self.asked.lock().insert(feature.to_owned());
        self.features.contains(feature)
    }

    /// Whether a feature that is always on in v1.36 is off.
    pub fn is_missing(&self, feature: &str) -> bool {
        self.asked.lock().insert(feature.to_owned());
        self.off.contains(feature)
    }

    /// The feature gates that were queried.
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked.lock().clone()
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            event_ttl: Duration::from_secs(3600),
            features: BTreeSet::new(),
            off: BTreeSet::new(),
            allow_privileged: true,
            access: Access::default(),
            ground: None,
            services: ServiceRanges::default(),
            service_counts: Arc::default(),
            asked: Arc::default(),
        }
    }
}

/// The order of discovery documents.
///
/// Upstream: pkg/controlplane/apiserver/aggregator.go, apiVersionPriorities (v1.36.4).
const ORDER: [&str; 23] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
];

/// Every built-in group, in the order of discovery documents.
pub fn groups(settings: &Settings) -> Vec<Group> {
    let mut groups = vec![
        crate::core::group(settings),
        crate::events::group(settings),
        crate::apps::group(settings),
        crate::autoscaling::group(settings),
        crate::batch::group(settings),
        crate::policy::group(),
        crate::scheduling::group(settings),
        crate::coordination::group(settings),
        crate::node::group(),
        crate::networking::group(settings),
        crate::storage::group(settings),
        crate::discovery::group(settings),
        crate::resource_k8s::group(settings),
        crate::storagemigration::group(),
        crate::internal::group(),
        crate::apiregistration::group(),
        crate::authentication::group(settings),
        crate::authorization::group(settings),
        crate::certificates::group(),
        crate::rbac::group(&settings.access.rbac),
        crate::admissionregistration::group(settings),
        crate::apiextensions::group(),
        crate::flowcontrol::group(),
    ];
    groups.sort_by_key(|group| ORDER.iter().position(|name| *name == group.name));
    for group in &mut groups {
        for resource in &mut group.resources {
            resource.owned_finalizers = !has_generic_metadata(&group.name, &resource.kind);
        }
    }
    crate::lifecycle::mark(&mut groups);
    groups
}

/// Whether upstream validates the metadata of a kind with the generic rules, as for custom resources: any
/// qualified name may be a finalizer.
///
/// Upstream: who calls ValidateObjectMeta of apimachinery/pkg/api/validation, and not that of pkg/apis/core/validation
/// (v1.36.4).
fn has_generic_metadata(group: &str, kind: &str) -> bool {
    match group {
        "admissionregistration.k8s.io"
        | "apiextensions.k8s.io"
        | "apiregistration.k8s.io"
        | "coordination.k8s.io"
        | "node.k8s.io" => true,
        "policy" => kind == "PodDisruptionBudget",
        "" => kind == "Event",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::options::Part;

    use super::{Settings, groups};

    #[test]
    fn every_kind_has_a_schema() {
        for group in groups(&Settings::default()) {
            for resource in &group.resources {
                for version in &resource.versions {
                    assert!(
                        version.schema.is_some(),
                        "{} {} has no schema",
                        version.api_version,
                        resource.kind
                    );
                }
            }
        }
    }

    /// Upstream: pkg/registry/**/strategy.go and the stores that name them, GetResetFields (v1.36.4).
    #[test]
    fn owners_are_told_without_what_a_status_does_not_write() {
        let beside_spec = |kind: &str| match kind {
            "APIService"
            | "DeviceTaintRule"
            | "FlowSchema"
            | "PodGroup"
            | "PriorityLevelConfiguration"
            | "ResourceClaim"
            | "ResourcePoolStatusRequest"
            | "ServiceCIDR"
            | "StorageVersion"
            | "StorageVersionMigration"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment" => &["metadata"][..],
            "CertificateSigningRequest" => &["status.conditions"],
            "Deployment" => &["metadata.labels"],
            "Pod" => &["metadata.deletionTimestamp", "metadata.ownerReferences"],
            _ => &[],
        };
        let everything = groups(&Settings::default());
        let with_status = everything.iter().flat_map(|it| &it.resources).filter(|it| it.has_status);
        for resource in with_status {
            let fields = resource.strategy.reset_fields(Part::Status).unwrap_or(&["spec"]);
            let mut expected = vec!["spec"];
            expected.extend(beside_spec(&resource.kind));
            let mut fields = fields.to_vec();
            fields.sort_unstable();
            expected.sort_unstable();
            assert_eq!(fields, expected, "{}", resource.kind);
        }
    }

    #[test]
    fn owners_are_told_without_what_a_plain_write_does_not_write() {
        let everything = groups(&Settings::default());
        let with_status = everything.iter().flat_map(|it| &it.resources).filter(|it| it.has_status);
        for resource in with_status {
            let expected: &[&str] = match resource.kind.as_str() {
                "CertificateSigningRequest" => &["spec", "status"],
                // Those of service ranges are a feature, and no feature is on here.
                "PodCertificateRequest" | "PodGroup" | "ServiceCIDR" => &[],
                _ => &["status"],
            };
            let fields = resource.strategy.reset_fields(Part::Main).unwrap_or(&["status"]);
            assert_eq!(fields, expected, "{}", resource.kind);
        }
    }

    #[test]
    fn every_plural_is_lower_case() {
        for resource in groups(&Settings::default()).iter().flat_map(|it| &it.resources) {
            assert_eq!(resource.plural, resource.plural.to_ascii_lowercase());
        }
    }
}
