//! Fields of pods that belong to feature gates: while the feature is off, new uses are removed.

use std::sync::Arc;

use keelson_object::{Map, Object};

use super::graduated::Missing;
use super::rules::annotations::Annotations;
use super::rules::has_restart_rules;
use super::{CONTAINER_LISTS, PodRules};
use crate::catalog::Settings;
use crate::shared::edit::parts;
use crate::shared::gated::{Feature, Off};

/// Features and their fields below the spec of a pod.
///
/// Upstream: pkg/api/pod/util.go, dropDisabledFields (v1.36.4), for the features that can be off.
const FEATURES: [Feature; 8] = [
    feature(&["GenericWorkload"], &["schedulingGroup"]),
    feature(&["HostnameOverride"], &["hostnameOverride"]),
    feature(&["PodLevelResources"], &["resources"]),
    feature(&["MatchLabelKeysInPodTopologySpread"], &["topologySpreadConstraints.*.matchLabelKeys"]),
    feature(&["ClusterTrustBundleProjection"], &["volumes.*.projected.sources.*.clusterTrustBundle"]),
    feature(&["PodCertificateRequest"], &["volumes.*.projected.sources.*.podCertificate"]),
    feature(
        &["EnvFiles"],
        &[
            "containers.*.env.*.valueFrom.fileKeyRef",
            "initContainers.*.env.*.valueFrom.fileKeyRef",
            "ephemeralContainers.*.env.*.valueFrom.fileKeyRef",
        ],
    ),
    feature(
        &["ContainerStopSignals"],
        &[
            "containers.*.lifecycle.stopSignal",
            "initContainers.*.lifecycle.stopSignal",
            "ephemeralContainers.*.lifecycle.stopSignal",
        ],
    ),
];

/// Features that v1.36 has for good, and their fields below the spec of a pod.
const GRADUATED: [Feature; 5] = [
    feature(&["UserNamespacesSupport"], &["hostUsers"]),
    feature(&["SupplementalGroupsPolicy"], &["securityContext.supplementalGroupsPolicy"]),
    feature(&["SELinuxChangePolicy"], &["securityContext.seLinuxChangePolicy"]),
    feature(
        &["DynamicResourceAllocation"],
        &[
            "resourceClaims",
            "containers.*.resources.claims",
            "initContainers.*.resources.claims",
            "ephemeralContainers.*.resources.claims",
        ],
    ),
    feature(
        &["InPlacePodVerticalScaling"],
        &["containers.*.resizePolicy", "initContainers.*.resizePolicy", "ephemeralContainers.*.resizePolicy"],
    ),
];

/// Features that v1.36 has for good, and their fields below the status of a pod.
const GRADUATED_OF_STATUS: [Feature; 2] = [
    feature(&["DynamicResourceAllocation"], &["resourceClaimStatuses"]),
    feature(&["PodObservedGenerationTracking"], &["observedGeneration", "conditions.*.observedGeneration"]),
];

/// Features and their fields below the status of a pod.
///
/// Upstream: pkg/api/pod/util.go, dropDisabledPodStatusFields (v1.36.4), for the features that can be off.
const OF_STATUS: [Feature; 6] = [
    feature(&["InPlacePodLevelResourcesVerticalScaling"], &["resources", "allocatedResources"]),
    feature(&["DRAExtendedResource"], &["extendedResourceClaimStatus"]),
    feature(&["DRANodeAllocatableResources"], &["nodeAllocatableResourceClaimStatuses"]),
    feature(
        &["ResourceHealthStatus"],
        &[
            "containerStatuses.*.allocatedResourcesStatus",
            "initContainerStatuses.*.allocatedResourcesStatus",
            "ephemeralContainerStatuses.*.allocatedResourcesStatus",
        ],
    ),
    feature(
        &["ResourceHealthStatusMessage"],
        &[
            "containerStatuses.*.allocatedResourcesStatus.*.resources.*.message",
            "initContainerStatuses.*.allocatedResourcesStatus.*.resources.*.message",
            "ephemeralContainerStatuses.*.allocatedResourcesStatus.*.resources.*.message",
        ],
    ),
    feature(
        &["ImageVolumeWithDigest"],
        &[
            "containerStatuses.*.volumeMounts.*.volumeStatus",
            "initContainerStatuses.*.volumeMounts.*.volumeStatus",
            "ephemeralContainerStatuses.*.volumeMounts.*.volumeStatus",
        ],
    ),
];

const fn feature(gates: &'static [&'static str], paths: &'static [&'static str]) -> Feature {
    Feature { gates, paths, signs: &[] }
}

/// The features of pods that are off, and the rules that they leave.
#[derive(Clone, Default)]
pub(crate) struct Gates {
    of_spec: Arc<Off>,
    of_status: Arc<Off>,
    missing: Missing,
    rules: PodRules,
}

impl Gates {
    /// The gates of the operator's settings.
    pub(crate) fn of(settings: &Settings) -> Gates {
        Gates {
            of_spec: Arc::new(Off::of(settings, &FEATURES).and_missing(settings, &GRADUATED)),
            of_status: Arc::new(Off::of(settings, &OF_STATUS).and_missing(settings, &GRADUATED_OF_STATUS)),
            missing: Missing::of(settings),
            rules: PodRules::of(settings),
        }
    }

    /// The rules for a pod; `old` is the object that it replaces.
    pub(crate) fn pod_rules(&self, old: Option<&Object>) -> PodRules {
        let rules = self.rules.for_pod();
        let Some(old) = old else { return rules };
        let empty = Map::new();
        rules.after(old.fields.map("spec").unwrap_or(&empty), Annotations::OfPod(&old.meta.annotations))
    }

    /// The rules for a template; `old` is the template that it replaces.
    pub(crate) fn template_rules(&self, old: Option<&Map>) -> PodRules {
        let Some(old) = old else { return self.rules };
        let empty = Map::new();
        let annotations = old.map("metadata").and_then(|it| it.map("annotations"));
        self.rules.after(old.map("spec").unwrap_or(&empty), Annotations::OfTemplate(annotations))
    }

    /// Removes disabled features from a pod, unless the old one used them.
    pub(crate) fn drop_from(&self, object: &mut Object, old: Option<&Object>) {
        let part = |name| old.and_then(|it| it.fields.map(name));
        self.drop(object.fields.map_mut("spec"), part("spec"));
        self.of_status.drop_new(object.fields.map_mut("status"), part("status"));
    }

    /// Removes disabled features from the spec of a pod, unless the old one used them.
    pub(crate) fn drop(&self, spec: &mut Map, old: Option<&Map>) {
        if !self.rules.container_restart_rules && !old.is_some_and(has_restart_rules) {
            drop_restart_rules(spec);
        }
        let said: Vec<bool> = containers(spec).map(|it| !is_empty(it)).collect();
        self.of_spec.drop_new(spec, old);
        self.missing.drop_new(spec, old);
        // A lifecycle that has become empty is removed.
        for (container, said) in containers(spec).zip(said) {
            if said && is_empty(container) {
                container.remove("lifecycle");
            }
        }
    }
}

/// The restart policy marks sidecars; other containers lose theirs.
///
/// Upstream: pkg/api/pod/util.go, dropContainerRestartRules (v1.36.4).
fn drop_restart_rules(spec: &mut Map) {
    for list in CONTAINER_LISTS {
        for container in parts(spec, list) {
            if list != "initContainers" || container.str("restartPolicy") != Some("Always") {
                container.remove("restartPolicy");
            }
            container.remove("restartPolicyRules");
        }
    }
}

fn containers(spec: &mut Map) -> impl Iterator<Item = &mut Map> {
    let lists = spec.iter_mut().filter(|(key, _)| CONTAINER_LISTS.contains(&key.as_str()));
    lists.filter_map(|(_, list)| list.as_list_mut()).flatten().filter_map(|it| it.as_map_mut())
}

fn is_empty(container: &Map) -> bool {
    container.map("lifecycle").is_some_and(Map::is_empty)
}

#[cfg(test)]
mod tests {
    use keelson_object::{Map, Object, Value};

    use super::Gates;
    use crate::catalog::Settings;
    use crate::shared::testing::{text, tree};

    fn check(features: &[&str], old: &str, expected: &str) {
        const SPEC: &str = r#"{"schedulingGroup": {"podGroupName": "g"},
            "containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGTERM"}},
                {"name": "b", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {}}}],
            "volumes": [{"projected": {"sources": [{"clusterTrustBundle": {}}]}}]}"#;
        let features = features.iter().map(|it| (*it).to_owned()).collect();
        let gates = Gates::of(&Settings { features, ..Settings::default() });
        let mut spec = tree(SPEC).as_map().cloned().expect("a map");
        gates.drop(&mut spec, tree(old).as_map());
        assert_eq!(Some(&spec), tree(expected).as_map(), "{}", text(&spec.clone().into()));
    }

    #[test]
    fn what_is_off_is_dropped() {
        check(
            &[],
            "null",
            r#"{"containers": [{"name": "a"}, {"name": "b", "lifecycle": {"preStop": {}}}],
                "volumes": [{"projected": {"sources": [{}]}}]}"#,
        );
    }

    #[test]
    fn what_is_on_or_was_used_stays() {
        check(
            &["GenericWorkload", "ClusterTrustBundleProjection"],
            r#"{"initContainers": [{"lifecycle": {"stopSignal": "SIGUSR1"}}]}"#,
            r#"{"schedulingGroup": {"podGroupName": "g"},
                "containers": [{"name": "a", "lifecycle": {"stopSignal": "SIGTERM"}},
                    {"name": "b", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {}}}],
                "volumes": [{"projected": {"sources": [{"clusterTrustBundle": {}}]}}]}"#,
        );
    }

    #[test]
    fn without_their_rules_only_sidecars_say_when_they_restart() {
        const SPEC: &str = r#"{"containers": [{"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart"}]}],
            "initContainers": [{"restartPolicy": "Always", "restartPolicyRules": [{"action": "Restart"}]},
                {"restartPolicy": "Never"}]}"#;
        let check = |features: &[&str], old: &str, expected: &str| {
            let features = features.iter().map(|it| (*it).to_owned()).collect();
            let gates = Gates::of(&Settings { features, ..Settings::default() });
            let mut spec = tree(SPEC).as_map().cloned().expect("a map");
            gates.drop(&mut spec, tree(old).as_map());
            assert_eq!(Some(&spec), tree(expected).as_map(), "{}", text(&spec.clone().into()));
        };
        check(&[], "null", r#"{"containers": [{}], "initContainers": [{"restartPolicy": "Always"}, {}]}"#);
        check(&["ContainerRestartRules"], "null", SPEC);
        check(&[], r#"{"containers": [{"restartPolicy": "Always"}]}"#, SPEC);
    }

    #[test]
    fn what_is_off_is_dropped_from_the_status_too() {
        let check = |features: &[&str], old: &str, expected: &str| {
            let features = features.iter().map(|it| (*it).to_owned()).collect();
            let gates = Gates::of(&Settings { features, ..Settings::default() });
            let object = |status: &str| {
                let mut object = Object::default();
                object.fields.set("spec", Map::new());
                object.fields.set("status", tree(status));
                object
            };
            let mut new = object(
                r#"{"phase": "Running", "resources": {}, "extendedResourceClaimStatus": {"resourceClaimName": "c"},
                    "containerStatuses": [{"allocatedResourcesStatus": [{"name": "x", "resources": [
                        {"resourceID": "1", "message": "m"}]}]}]}"#,
            );
            gates.drop_from(&mut new, Some(&object(old)));
            assert_eq!(new.fields.get("status"), Some(&tree(expected)));
        };
        check(&[], "{}", r#"{"phase": "Running", "containerStatuses": [{}]}"#);
        check(
            &["ResourceHealthStatus"],
            r#"{"allocatedResources": {"cpu": "1"}}"#,
            r#"{"phase": "Running", "resources": {}, "containerStatuses": [{"allocatedResourcesStatus": [
                {"name": "x", "resources": [{"resourceID": "1"}]}]}]}"#,
        );
    }

    #[test]
    fn an_emulated_version_does_not_have_what_came_later() {
        let off = ["SupplementalGroupsPolicy".to_owned(), "UserNamespacesSupport".to_owned()].into();
        let gates = Gates::of(&Settings { off, ..Settings::default() });
        let spec = r#"{"hostUsers": false, "securityContext": {"supplementalGroupsPolicy": "Strict", "runAsUser": 1}}"#;
        let mut pod = tree(spec).as_map().cloned().expect("a map");
        gates.drop(&mut pod, None);
        assert_eq!(text(&Value::Map(pod)), r#"{"securityContext":{"runAsUser":1}}"#);
        let old = tree(spec).as_map().cloned().expect("a map");
        let mut pod = old.clone();
        gates.drop(&mut pod, Some(&old));
        assert_eq!(pod, old, "what was used before stays");
        let mut pod = old.clone();
        Gates::of(&Settings::default()).drop(&mut pod, None);
        assert_eq!(pod, old, "v1.36 has it for good");
    }
}
