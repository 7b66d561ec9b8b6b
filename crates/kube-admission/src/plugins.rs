//! Which plugins there are, in which order, and which are on unless an operator says otherwise.

use std::collections::BTreeSet;

use keelson_object::Map;
use keelson_registry::admission::{Chain, Plugin};

use crate::always::{AlwaysAdmit, AlwaysDeny};
use crate::always_pull_images::AlwaysPullImages;
use crate::certificate_approval::CertificateApproval;
use crate::certificate_signing::CertificateSigning;
use crate::certificate_subject_restriction::CertificateSubjectRestriction;
use crate::cluster_trust_bundle_attest::ClusterTrustBundleAttest;
use crate::default_ingress_class::DefaultIngressClass;
use crate::default_storage_class::DefaultStorageClass;
use crate::default_toleration_seconds::DefaultTolerationSeconds;
use crate::deny_service_external_ips::DenyServiceExternalIps;
use crate::extended_resource_toleration::ExtendedResourceToleration;
use crate::limit_pod_hard_anti_affinity_topology::LimitPodHardAntiAffinityTopology;
use crate::limit_ranger::LimitRanger;
use crate::namespace_auto_provision::NamespaceAutoProvision;
use crate::namespace_exists::NamespaceExists;
use crate::namespace_lifecycle::NamespaceLifecycle;
use crate::node_restriction::NodeRestriction;
use crate::owner_references_permission_enforcement::OwnerReferencesPermissionEnforcement;
use crate::persistent_volume_claim_resize::PersistentVolumeClaimResize;
use crate::pod_group_workload_exists::PodGroupWorkloadExists;
use crate::pod_security::{self, PodSecurity};
use crate::pod_topology_labels::PodTopologyLabels;
use crate::priority::Priority;
use crate::protection::Protection;
use crate::resource_quota::{self, Ledger, ResourceQuota};
use crate::runtime_class::RuntimeClass;
use crate::service_account::ServiceAccount;
use crate::taint_nodes_by_condition::TaintNodesByCondition;
use crate::webhook::{MutatingWebhooks, Services, ValidatingWebhooks};

/// Features that plugins ask for.
pub const FEATURES: [&str; 9] = [
    "AllowInsecureKubeletCertificateSigningRequests",
    "ClusterTrustBundle",
    "DRAExtendedResource",
    "GenericWorkload",
    "PodCertificateRequest",
    "PodLevelResources",
    "PodTopologyLabelsAdmission",
    "ServiceAccountNodeAudienceRestriction",
    "WorkloadAwarePreemption",
];

/// What plugins are made with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which features are on.
    pub features: BTreeSet<String>,
    /// How long a pod stays on a node that is not ready.
    pub not_ready_toleration_seconds: i64,
    /// How long a pod stays on a node that cannot be reached.
    pub unreachable_toleration_seconds: i64,
    /// What the file of all plugins says.
    pub configurations: Configurations,
    /// Where webhooks listen that stand behind a service.
    pub services: Services,
    /// Where it is noted what quotas were charged for, if somebody here counts what they limit.
    pub ledger: Option<Ledger>,
}

impl std::default::Default for Settings {
    fn default() -> Settings {
        Settings {
            features: BTreeSet::new(),
            not_ready_toleration_seconds: 300,
            unreachable_toleration_seconds: 300,
            configurations: Configurations::default(),
            services: Services::default(),
            ledger: None,
        }
    }
}

impl Settings {
    /// Whether a feature is on.
    pub(crate) fn is_on(&self, feature: &str) -> bool {
        debug_assert!(FEATURES.contains(&feature), "{feature} is not in the list of what is asked for");
        self.features.contains(feature)
    }
}

/// The configurations of plugins that have one.
#[derive(Clone, Debug, std::default::Default)]
pub struct Configurations {
    pod_security: pod_security::Configuration,
    pub(crate) resource_quota: resource_quota::Configuration,
}

impl Configurations {
    /// Takes the configuration of a plugin, as it stands in the file of all plugins; or says all that is wrong with it.
    pub fn add(&mut self, plugin: &str, configuration: &Map) -> Result<(), Vec<String>> {
        match plugin {
            "PodSecurity" => {
                let read = pod_security::Configuration::read(configuration);
                self.pod_security =
                    read.map_err(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>())?;
                Ok(())
            }
            "ResourceQuota" => {
                self.resource_quota = resource_quota::Configuration::read(configuration)?;
                Ok(())
            }
            _ => Err(vec![format!("admission plugin {plugin:?} takes no configuration")]),
        }
    }
}

type Make = fn(&Settings) -> Box<dyn Plugin>;

struct Entry {
    name: &'static str,
    default: Default,
    /// `None` while it is not written yet.
    make: Option<Make>,
}

#[derive(PartialEq)]
enum Default {
    On,
    Off,
}

const fn on(name: &'static str) -> Entry {
    Entry { name, default: Default::On, make: None }
}

const fn off(name: &'static str) -> Entry {
    Entry { name, default: Default::Off, make: None }
}

impl Entry {
    const fn by(self, make: Make) -> Entry {
        Entry { make: Some(make), ..self }
    }
}

/// Upstream: pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins and DefaultOffAdmissionPlugins (v1.36.4).
const PLUGINS: &[Entry] = &[
    off("AlwaysAdmit").by(|_| Box::new(AlwaysAdmit)),
    off("NamespaceAutoProvision").by(|_| Box::new(NamespaceAutoProvision)),
    on("NamespaceLifecycle").by(|_| Box::new(NamespaceLifecycle)),
    off("NamespaceExists").by(|_| Box::new(NamespaceExists)),
    off("LimitPodHardAntiAffinityTopology").by(|_| Box::new(LimitPodHardAntiAffinityTopology)),
    on("LimitRanger").by(|it| Box::new(LimitRanger::new(it))),
    on("ServiceAccount").by(|_| Box::new(ServiceAccount)),
    off("NodeRestriction").by(|it| Box::new(NodeRestriction::new(it))),
    on("TaintNodesByCondition").by(|_| Box::new(TaintNodesByCondition)),
    off("AlwaysPullImages").by(|_| Box::new(AlwaysPullImages)),
    off("ImagePolicyWebhook"),
    on("PodSecurity").by(|it| Box::new(PodSecurity::new(it.configurations.pod_security.clone()))),
    off("PodNodeSelector"),
    on("Priority").by(|it| Box::new(Priority::new(it))),
    on("DefaultTolerationSeconds").by(|it| Box::new(DefaultTolerationSeconds::new(it))),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration").by(|_| Box::new(ExtendedResourceToleration)),
    on("DefaultStorageClass").by(|_| Box::new(DefaultStorageClass)),
    on("StorageObjectInUseProtection").by(|_| Box::new(Protection::storage_objects())),
    on("PodGroupProtection").by(|it| Box::new(Protection::pod_groups(it))),
    off("OwnerReferencesPermissionEnforcement").by(|_| Box::new(OwnerReferencesPermissionEnforcement)),
    on("PersistentVolumeClaimResize").by(|_| Box::new(PersistentVolumeClaimResize)),
    on("RuntimeClass").by(|_| Box::new(RuntimeClass)),
    on("CertificateApproval").by(|_| Box::new(CertificateApproval)),
    on("CertificateSigning").by(|_| Box::new(CertificateSigning)),
    on("ClusterTrustBundleAttest").by(|it| Box::new(ClusterTrustBundleAttest::new(it))),
    on("CertificateSubjectRestriction").by(|_| Box::new(CertificateSubjectRestriction)),
    on("DefaultIngressClass").by(|_| Box::new(DefaultIngressClass)),
    off("DenyServiceExternalIPs").by(|_| Box::new(DenyServiceExternalIps)),
    on("PodTopologyLabels").by(|it| Box::new(PodTopologyLabels::new(it))),
    on("PodGroupWorkloadExists").by(|it| Box::new(PodGroupWorkloadExists::new(it))),
    on("NodeDeclaredFeatureValidator"),
    on("JobValidation"),
    on("PodResizeValidator"),
    on("MutatingAdmissionPolicy"),
    on("MutatingAdmissionWebhook").by(|it| Box::new(MutatingWebhooks::new(it.services.clone()))),
    on("ValidatingAdmissionPolicy"),
    on("ValidatingAdmissionWebhook").by(|it| Box::new(ValidatingWebhooks::new(it.services.clone()))),
    on("ResourceQuota").by(|it| Box::new(ResourceQuota::new(it))),
    off("AlwaysDeny").by(|_| Box::new(AlwaysDeny)),
];

/// Whether there is a plugin of this name in v1.36.
pub fn is_known(name: &str) -> bool {
    PLUGINS.iter().any(|it| it.name == name)
}

/// What an operator wants.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The whole list, where it is given: then the other two are empty.
    pub only: Vec<String>,
    /// Beside those that are on by themselves.
    pub enabled: Vec<String>,
    /// Of those that are on by themselves.
    pub disabled: Vec<String>,
}

impl Selection {
    /// The plugins that are on, in order.
    pub fn chain(&self, settings: &Settings) -> Chain {
        Chain::new(self.wanted().filter_map(|it| it.make).map(|make| make(settings)).collect())
    }

    /// The plugins that the operator names and that are not there yet.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        let is_named = |name: &str| self.only.iter().chain(&self.enabled).any(|it| it == name);
        PLUGINS.iter().filter(move |it| it.make.is_none() && is_named(it.name)).map(|it| it.name)
    }

    fn wanted(&self) -> impl Iterator<Item = &'static Entry> {
        let has = |list: &[String], name: &str| list.iter().any(|it| it == name);
        PLUGINS.iter().filter(move |it| match self.only.as_slice() {
            [] if it.default == Default::On => !has(&self.disabled, it.name),
            [] => has(&self.enabled, it.name),
            only => has(only, it.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().copied().map(String::from).collect()
    }

    #[track_caller]
    fn check(selection: &Selection, name: &str, expected: bool) {
        assert_eq!(selection.wanted().any(|it| it.name == name), expected, "{name}");
    }

    #[test]
    fn an_operator_adds_leaves_out_or_lists() {
        check(&Selection::default(), "NamespaceLifecycle", true);
        check(&Selection::default(), "AlwaysDeny", false);
        let other = Selection {
            enabled: list(&["AlwaysDeny"]),
            disabled: list(&["NamespaceLifecycle"]),
            ..Selection::default()
        };
        check(&other, "NamespaceLifecycle", false);
        check(&other, "AlwaysDeny", true);
        let only = Selection { only: list(&["AlwaysDeny"]), ..Selection::default() };
        check(&only, "NamespaceLifecycle", false);
        check(&only, "AlwaysDeny", true);
    }

    #[test]
    fn who_asks_for_what_is_not_there_is_told() {
        let selection =
            Selection { enabled: list(&["PodNodeSelector", "NamespaceLifecycle"]), ..Selection::default() };
        assert_eq!(selection.missing().collect::<Vec<_>>(), ["PodNodeSelector"]);
        assert_eq!(Selection::default().missing().count(), 0);
    }
}
