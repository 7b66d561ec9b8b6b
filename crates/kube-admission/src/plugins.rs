//! Plugin list: the admission plugins, their order, and which of them are enabled by default.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use keelson_object::Map;
use keelson_registry::admission::{Chain, Plugin};
use keelson_webhook_client::Client;

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
use crate::event_rate_limit::{self, EventRateLimit};
use crate::extended_resource_toleration::ExtendedResourceToleration;
use crate::gated::Gated;
use crate::image_policy_webhook::{self, ImagePolicyWebhook};
use crate::job_validation::JobValidation;
use crate::limit_pod_hard_anti_affinity_topology::LimitPodHardAntiAffinityTopology;
use crate::limit_ranger::LimitRanger;
use crate::namespace_auto_provision::NamespaceAutoProvision;
use crate::namespace_exists::NamespaceExists;
use crate::namespace_lifecycle::NamespaceLifecycle;
use crate::node_declared_feature_validator::NodeDeclaredFeatureValidator;
use crate::node_restriction::NodeRestriction;
use crate::owner_references_permission_enforcement::OwnerReferencesPermissionEnforcement;
use crate::persistent_volume_claim_resize::PersistentVolumeClaimResize;
use crate::pod_group_workload_exists::PodGroupWorkloadExists;
use crate::pod_node_selector::{self, PodNodeSelector};
use crate::pod_resize_validator::PodResizeValidator;
use crate::pod_security::{self, PodSecurity};
use crate::pod_toleration_restriction::{self, PodTolerationRestriction};
use crate::pod_topology_labels::PodTopologyLabels;
use crate::priority::Priority;
use crate::protection::Protection;
use crate::resource_quota::{self, Ledger, ResourceQuota};
use crate::runtime_class::RuntimeClass;
use crate::service_account::ServiceAccount;
use crate::taint_nodes_by_condition::TaintNodesByCondition;
use crate::webhook::{self, MutatingWebhooks, Services, ValidatingWebhooks, Webhooks};

/// The feature gates that plugins query.
pub const FEATURES: [&str; 12] = [
    "AllowInsecureKubeletCertificateSigningRequests",
    "ClusterTrustBundle",
    "DRAExtendedResource",
    "GenericWorkload",
    "InPlacePodVerticalScaling",
    "NodeDeclaredFeatures",
    "PodCertificateRequest",
    "PodLevelResources",
    "PodTopologyLabelsAdmission",
    "ServiceAccountNodeAudienceRestriction",
    "WorkloadAwarePreemption",
    "WorkloadWithJob",
];

/// The settings of all plugins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The enabled feature gates.
    pub features: BTreeSet<String>,
    /// How long a pod stays on a node that is not ready.
    pub not_ready_toleration_seconds: i64,
    /// How long a pod stays on a node that cannot be reached.
    pub unreachable_toleration_seconds: i64,
    /// The plugin configurations from the admission configuration file.
    pub configurations: Configurations,
    /// The addresses of webhooks behind services.
    pub services: Services,
    /// The metrics of PodSecurity.
    pub pod_security: Arc<pod_security::Counts>,
    /// The ledger of charged quotas, if this server counts their usage.
    pub ledger: Option<Ledger>,
    /// The settings of webhook calls.
    pub webhooks: Webhooks,
}

impl std::default::Default for Settings {
    fn default() -> Settings {
        Settings {
            features: BTreeSet::new(),
            not_ready_toleration_seconds: 300,
            unreachable_toleration_seconds: 300,
            configurations: Configurations::default(),
            services: Services::default(),
            pod_security: Arc::default(),
            ledger: None,
            webhooks: Webhooks::default(),
        }
    }
}

impl Settings {
    /// Whether a feature gate is enabled.
    pub(crate) fn is_on(&self, feature: &str) -> bool {
        debug_assert!(FEATURES.contains(&feature), "{feature} is not in the list of what is asked for");
        self.features.contains(feature)
    }
}

/// The configurations of plugins that have one.
#[derive(Clone, std::default::Default)]
pub struct Configurations {
    event_rate_limit: event_rate_limit::Configuration,
    image_policy: Option<image_policy_webhook::Configuration>,
    image_policy_client: Option<Client>,
    pod_node_selector: pod_node_selector::Configuration,
    pod_security: pod_security::Configuration,
    pod_toleration_restriction: pod_toleration_restriction::Configuration,
    pub(crate) mutating_webhooks: webhook::Configuration,
    pub(crate) validating_webhooks: webhook::Configuration,
    pub(crate) resource_quota: resource_quota::Configuration,
}

impl Configurations {
    /// Takes the configuration of a plugin from the admission configuration file, or returns all its errors.
    /// Plugins without configuration ignore it.
    pub fn add(&mut self, plugin: &str, configuration: &Map) -> Result<(), Vec<String>> {
        let one = |error: String| vec![error];
        match plugin {
            "EventRateLimit" => {
                let read = event_rate_limit::Configuration::read(Some(configuration));
                self.event_rate_limit = read.map_err(one)?;
            }
            "ImagePolicyWebhook" => {
                self.image_policy = Some(image_policy_webhook::Configuration::read(configuration)?);
            }
            "PodNodeSelector" => {
                self.pod_node_selector = pod_node_selector::Configuration::read(configuration);
            }
            "PodSecurity" => {
                self.pod_security = pod_security::Configuration::read(configuration).map_err(one)?
            }
            "PodTolerationRestriction" => {
                let read = pod_toleration_restriction::Configuration::read(configuration);
                self.pod_toleration_restriction = read.map_err(one)?;
            }
            "ResourceQuota" => self.resource_quota = resource_quota::Configuration::read(configuration)?,
            MUTATING => self.mutating_webhooks = webhook::Configuration::read(configuration)?,
            VALIDATING => self.validating_webhooks = webhook::Configuration::read(configuration)?,
            _ => {}
        }
        Ok(())
    }

    /// The error of a plugin that is enabled without its required configuration.
    pub fn without(plugin: &str) -> Result<(), String> {
        match plugin {
            "EventRateLimit" => event_rate_limit::Configuration::read(None).map(drop),
            "ImagePolicyWebhook" => Err("no config specified".to_owned()),
            _ => Ok(()),
        }
    }

    /// Opens the clients of the plugins that call webhooks.
    pub fn connect(&mut self, open: impl Fn(&Path) -> Result<Client, String>) -> Result<(), String> {
        if let Some(policy) = &self.image_policy {
            self.image_policy_client = Some(open(&policy.kubeconfig)?);
        }
        Ok(())
    }

    /// The configurations of the webhook plugins, with the names of the plugins.
    pub fn webhooks(&mut self) -> [(&'static str, &mut webhook::Configuration); 2] {
        [(MUTATING, &mut self.mutating_webhooks), (VALIDATING, &mut self.validating_webhooks)]
    }

    fn image_policy(&self) -> Box<dyn Plugin> {
        match (&self.image_policy, &self.image_policy_client) {
            (Some(policy), Some(client)) => Box::new(ImagePolicyWebhook::new(policy.clone(), client.clone())),
            // Without a configuration there is no webhook, so nothing may run.
            _ => Box::new(AlwaysDeny),
        }
    }
}

impl std::fmt::Debug for Configurations {
    /// Leaves out the clients.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configurations")
            .field("event_rate_limit", &self.event_rate_limit)
            .field("image_policy", &self.image_policy)
            .field("pod_node_selector", &self.pod_node_selector)
            .field("pod_security", &self.pod_security)
            .field("pod_toleration_restriction", &self.pod_toleration_restriction)
            .finish_non_exhaustive()
    }
}

const MUTATING: &str = "MutatingAdmissionWebhook";
const VALIDATING: &str = "ValidatingAdmissionWebhook";

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
    off("ImagePolicyWebhook").by(|it| it.configurations.image_policy()),
    on("PodSecurity").by(|it| Box::new(pod_security(it))),
    off("PodNodeSelector")
        .by(|it| Box::new(PodNodeSelector::new(it.configurations.pod_node_selector.clone()))),
    on("Priority").by(|it| Box::new(Priority::new(it))),
    on("DefaultTolerationSeconds").by(|it| Box::new(DefaultTolerationSeconds::new(it))),
    off("PodTolerationRestriction").by(|it| {
        Box::new(PodTolerationRestriction::new(it.configurations.pod_toleration_restriction.clone()))
    }),
    off("EventRateLimit").by(|it| Box::new(EventRateLimit::new(&it.configurations.event_rate_limit))),
    off("ExtendedResourceToleration").by(|_| Box::new(ExtendedResourceToleration)),
    on("DefaultStorageClass").by(|_| Box::new(DefaultStorageClass)),
    on("StorageObjectInUseProtection").by(|_| Box::new(Protection::storage_objects())),
    on("PodGroupProtection").by(|it| Box::new(Protection::pod_groups(it))),
    off("OwnerReferencesPermissionEnforcement").by(|_| Box::new(OwnerReferencesPermissionEnforcement)),
    on("PersistentVolumeClaimResize").by(|_| Box::new(PersistentVolumeClaimResize)),
    on("RuntimeClass").by(|_| Box::new(RuntimeClass)),
    on("CertificateApproval").by(|_| Box::new(CertificateApproval)),
    on("CertificateSigning").by(|_| Box::new(CertificateSigning)),
    on("ClusterTrustBundleAttest")
        .by(|it| Gated::boxed(ClusterTrustBundleAttest, &["ClusterTrustBundle"], it)),
    on("CertificateSubjectRestriction").by(|_| Box::new(CertificateSubjectRestriction)),
    on("DefaultIngressClass").by(|_| Box::new(DefaultIngressClass)),
    off("DenyServiceExternalIPs").by(|_| Box::new(DenyServiceExternalIps)),
    on("PodTopologyLabels").by(|it| Gated::boxed(PodTopologyLabels, &["PodTopologyLabelsAdmission"], it)),
    on("PodGroupWorkloadExists").by(|it| Gated::boxed(PodGroupWorkloadExists, &["GenericWorkload"], it)),
    on("NodeDeclaredFeatureValidator")
        .by(|it| Gated::boxed(NodeDeclaredFeatureValidator, &["NodeDeclaredFeatures"], it)),
    on("JobValidation").by(|it| Gated::boxed(JobValidation, &["GenericWorkload", "WorkloadWithJob"], it)),
    on("PodResizeValidator").by(|it| Gated::boxed(PodResizeValidator, &["InPlacePodVerticalScaling"], it)),
    on("MutatingAdmissionPolicy"),
    on(MUTATING).by(|it| Box::new(MutatingWebhooks::new(it))),
    on("ValidatingAdmissionPolicy"),
    on(VALIDATING).by(|it| Box::new(ValidatingWebhooks::new(it))),
    on("ResourceQuota").by(|it| Box::new(ResourceQuota::new(it))),
    off("AlwaysDeny").by(|_| Box::new(AlwaysDeny)),
];

fn pod_security(settings: &Settings) -> PodSecurity {
    PodSecurity::new(settings.configurations.pod_security.clone(), settings.pod_security.clone())
}

/// The plugins of v1.36, in the order in which they run.
pub fn names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|it| it.name)
}

/// Whether v1.36 has a plugin of this name.
pub fn is_known(name: &str) -> bool {
    PLUGINS.iter().any(|it| it.name == name)
}

/// The operator's choice of plugins.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The complete list, if it is given, even if it is empty: then the other two are empty.
    pub only: Option<Vec<String>>,
    /// Plugins to enable besides the defaults.
    pub enabled: Vec<String>,
    /// Default plugins to disable.
    pub disabled: Vec<String>,
}

impl Selection {
    /// The plugins that are on, in order.
    pub fn chain(&self, settings: &Settings) -> Chain {
        Chain::new(self.wanted().filter_map(|it| it.make).map(|make| make(settings)).collect())
    }

    /// The names of the plugins that are on, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.wanted().map(|it| it.name)
    }

    /// The plugins that the operator names and that are not there yet.
    pub fn missing(&self) -> impl Iterator<Item = &'static str> {
        let is_named = |name: &str| self.only.iter().flatten().chain(&self.enabled).any(|it| it == name);
        PLUGINS.iter().filter(move |it| it.make.is_none() && is_named(it.name)).map(|it| it.name)
    }

    fn wanted(&self) -> impl Iterator<Item = &'static Entry> {
        let has = |list: &[String], name: &str| list.iter().any(|it| it == name);
        PLUGINS.iter().filter(move |it| match &self.only {
            Some(only) => has(only, it.name),
            None if it.default == Default::On => !has(&self.disabled, it.name),
            None => has(&self.enabled, it.name),
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
        let only = Selection { only: Some(list(&["AlwaysDeny"])), ..Selection::default() };
        check(&only, "NamespaceLifecycle", false);
        check(&only, "AlwaysDeny", true);
        let nobody = Selection { only: Some(Vec::new()), ..Selection::default() };
        assert_eq!(nobody.names().count(), 0);
    }

    #[test]
    fn who_asks_for_what_is_not_there_is_told() {
        let selection = Selection {
            enabled: list(&["MutatingAdmissionPolicy", "NamespaceLifecycle"]),
            ..Selection::default()
        };
        assert_eq!(selection.missing().collect::<Vec<_>>(), ["MutatingAdmissionPolicy"]);
        assert_eq!(Selection::default().missing().count(), 0);
    }
}
