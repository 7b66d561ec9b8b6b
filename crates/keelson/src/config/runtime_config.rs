//! API enablement: validation of `--runtime-config`.

use std::collections::{BTreeMap, BTreeSet};

use crate::flags::{Flags, parse_bool};

/// The groups and versions that upstream has registered, whether it serves them or not.
///
/// Upstream: pkg/controlplane/import_known_versions.go and the schemes of apiextensions and kube-aggregator (v1.36.4).
const REGISTERED: &[(&str, &[&str])] = &[
    ("", &["v1"]),
    ("admission.k8s.io", &["v1", "v1beta1"]),
    ("admissionregistration.k8s.io", &["v1", "v1beta1", "v1alpha1"]),
    ("apiextensions.k8s.io", &["v1", "v1beta1"]),
    ("apiregistration.k8s.io", &["v1", "v1beta1"]),
    ("apps", &["v1", "v1beta1", "v1beta2"]),
    ("authentication.k8s.io", &["v1", "v1beta1", "v1alpha1"]),
    ("authorization.k8s.io", &["v1", "v1beta1"]),
    ("autoscaling", &["v1", "v2"]),
    ("batch", &["v1", "v1beta1"]),
    ("certificates.k8s.io", &["v1", "v1beta1", "v1alpha1"]),
    ("coordination.k8s.io", &["v1", "v1beta1", "v1alpha2"]),
    ("discovery.k8s.io", &["v1", "v1beta1"]),
    ("events.k8s.io", &["v1", "v1beta1"]),
    ("extensions", &["v1beta1"]),
    ("flowcontrol.apiserver.k8s.io", &["v1", "v1beta1", "v1beta2", "v1beta3"]),
    ("imagepolicy.k8s.io", &["v1alpha1"]),
    ("internal.apiserver.k8s.io", &["v1alpha1"]),
    ("networking.k8s.io", &["v1", "v1beta1"]),
    ("node.k8s.io", &["v1", "v1beta1"]),
    ("policy", &["v1", "v1beta1"]),
    ("rbac.authorization.k8s.io", &["v1", "v1beta1", "v1alpha1"]),
    ("resource.k8s.io", &["v1", "v1beta1", "v1beta2", "v1alpha3"]),
    ("scheduling.k8s.io", &["v1", "v1beta1", "v1alpha2"]),
    ("storage.k8s.io", &["v1", "v1beta1", "v1alpha1"]),
    ("storagemigration.k8s.io", &["v1beta1"]),
];

/// Keys that stand for many versions.
const STAGES: [&str; 4] = ["api/all", "api/ga", "api/beta", "api/alpha"];

/// The settings in their final form: the last value of each key, the old names of the core group replaced.
///
/// Upstream: pkg/controlplane/apiserver/options/options.go, Complete (v1.36.4).
pub(super) fn settings(flags: &Flags) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (key, value) in flags.pairs("runtime-config") {
        let is_core = |prefix: &str| key == prefix || key.starts_with(&format!("{prefix}/"));
        let key = if is_core("v1") || is_core("api/v1") { "/v1" } else { key };
        if key != "api/legacy" {
            settings.insert(key.to_owned(), value.clone());
        }
    }
    settings
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/api_enablement.go, Validate (v1.36.4).
pub(super) fn errors(settings: &BTreeMap<String, String>) -> Option<String> {
    if settings.len() == 1 && settings.get("api/all").is_some_and(|value| value == "false") {
        return Some("invalid runtime-config with only api/all=false".to_owned());
    }
    let mut unknown = BTreeSet::new();
    for key in settings.keys().filter(|key| !STAGES.contains(&key.as_str())) {
        let parts: Vec<&str> = key.split('/').collect();
        let ([group, version] | [group, version, _]) = parts[..] else {
            return Some(format!("runtime-config invalid key {key}"));
        };
        if versions(group).is_none() {
            unknown.insert(format!("{group}/{version}"));
        }
    }
    let unknown: Vec<String> = unknown.into_iter().collect();
    (!unknown.is_empty()).then(|| format!("unknown api groups {}", unknown.join(",")))
}

/// The first error that is only found when the settings are applied.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/server/resourceconfig/helpers.go, MergeAPIResourceConfigs (v1.36.4).
pub(super) fn check(settings: &BTreeMap<String, String>) -> Result<(), String> {
    for stage in STAGES {
        if let Some(value) = settings.get(stage)
            && !matches!(value.as_str(), "true" | "false")
        {
            return Err(format!("invalid value {stage}={value}"));
        }
    }
    for (key, value) in settings.iter().filter(|(key, _)| !STAGES.contains(&key.as_str())) {
        let parts: Vec<&str> = key.split('/').collect();
        let (group, version) = (parts[0], parts.get(1).copied().unwrap_or_default());
        let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        if versions(group).is_some_and(|known| !known.contains(&version)) {
            return Err(format!("group version {group_version} that has not been registered"));
        }
        if !value.is_empty() {
            parse_bool(value).map_err(|error| format!("invalid value of {key}: {value}, err: {error}"))?;
        }
        if let [_, _, resource] = parts[..]
            && resource.to_lowercase() != resource
        {
            return Err(format!(
                "invalid key {key}: group/version/resource and resource is always lowercase plural, not {resource:?}"
            ));
        }
    }
    Ok(())
}

fn versions(group: &str) -> Option<&'static [&'static str]> {
    REGISTERED.iter().find(|(name, _)| *name == group).map(|(_, versions)| *versions)
}
