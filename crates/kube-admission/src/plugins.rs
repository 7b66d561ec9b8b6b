//! Which plugins there are, in which order, and which are on unless an operator says otherwise.

use keelson_registry::admission::{Chain, Plugin};

use crate::namespace_lifecycle::NamespaceLifecycle;

struct Entry {
    name: &'static str,
    default: Default,
    /// `None` while it is not written yet.
    make: Option<fn() -> Box<dyn Plugin>>,
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
    const fn by(self, make: fn() -> Box<dyn Plugin>) -> Entry {
        Entry { make: Some(make), ..self }
    }
}

/// Upstream: pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins and DefaultOffAdmissionPlugins (v1.36.4).
const PLUGINS: &[Entry] = &[
    off("AlwaysAdmit"),
    off("NamespaceAutoProvision"),
    on("NamespaceLifecycle").by(|| Box::new(NamespaceLifecycle)),
    off("NamespaceExists"),
    off("LimitPodHardAntiAffinityTopology"),
    on("LimitRanger"),
    on("ServiceAccount"),
    off("NodeRestriction"),
    on("TaintNodesByCondition"),
    off("AlwaysPullImages"),
    off("ImagePolicyWebhook"),
    on("PodSecurity"),
    off("PodNodeSelector"),
    on("Priority"),
    on("DefaultTolerationSeconds"),
    off("PodTolerationRestriction"),
    off("EventRateLimit"),
    off("ExtendedResourceToleration"),
    on("DefaultStorageClass"),
    on("StorageObjectInUseProtection"),
    on("PodGroupProtection"),
    off("OwnerReferencesPermissionEnforcement"),
    on("PersistentVolumeClaimResize"),
    on("RuntimeClass"),
    on("CertificateApproval"),
    on("CertificateSigning"),
    on("ClusterTrustBundleAttest"),
    on("CertificateSubjectRestriction"),
    on("DefaultIngressClass"),
    off("DenyServiceExternalIPs"),
    on("PodTopologyLabels"),
    on("PodGroupWorkloadExists"),
    on("NodeDeclaredFeatureValidator"),
    on("JobValidation"),
    on("PodResizeValidator"),
    on("MutatingAdmissionPolicy"),
    on("MutatingAdmissionWebhook"),
    on("ValidatingAdmissionPolicy"),
    on("ValidatingAdmissionWebhook"),
    on("ResourceQuota"),
    off("AlwaysDeny"),
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
    pub fn chain(&self) -> Chain {
        Chain::new(self.wanted().filter_map(|it| it.make).map(|make| make()).collect())
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
