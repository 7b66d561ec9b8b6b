//! Fields of pods that belong to features: while the feature is off, nobody can begin to use them.

use std::sync::Arc;

use keelson_object::{Map, Value};

use crate::catalog::Settings;
use crate::shared::edit::part;

/// Features and their fields below the spec; `[]` goes through a list.
///
/// Upstream: pkg/api/pod/util.go, dropDisabledFields (v1.36.4), for the features that can be off.
const GATED: [(&str, &[&str]); 6] = [
    ("GenericWorkload", &["schedulingGroup"]),
    ("HostnameOverride", &["hostnameOverride"]),
    ("PodLevelResources", &["resources"]),
    ("ClusterTrustBundleProjection", &["volumes[].projected.sources[].clusterTrustBundle"]),
    ("PodCertificateRequest", &["volumes[].projected.sources[].podCertificate"]),
    (
        "ContainerStopSignals",
        &[
            "containers[].lifecycle.stopSignal",
            "initContainers[].lifecycle.stopSignal",
            "ephemeralContainers[].lifecycle.stopSignal",
        ],
    ),
];

/// The fields that are off.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<[&'static [&'static str]]>);

impl Gates {
    /// As the operator wants it.
    pub(crate) fn of(settings: &Settings) -> Gates {
        let off = GATED.iter().filter(|(feature, _)| !settings.is_on(feature));
        Gates(off.map(|(_, paths)| *paths).collect())
    }

    /// Drops from a spec what is off and was not used before.
    pub(crate) fn drop(&self, spec: &mut Map, old: Option<&Map>) {
        for paths in self.0.iter() {
            let is_used = old.is_some_and(|old| paths.iter().any(|path| has(old, path)));
            if !is_used {
                paths.iter().for_each(|path| remove(spec, path));
            }
        }
    }
}

fn has(map: &Map, path: &str) -> bool {
    match path.split_once('.') {
        None => map.get(path).is_some_and(|it| !it.is_null()),
        Some((key, rest)) => match key.strip_suffix("[]") {
            Some(key) => map.maps(key).any(|it| has(it, rest)),
            None => map.map(key).is_some_and(|it| has(it, rest)),
        },
    }
}

fn remove(map: &mut Map, path: &str) {
    let Some((key, rest)) = path.split_once('.') else {
        map.remove(path);
        return;
    };
    if let Some(key) = key.strip_suffix("[]") {
        let items = map.get_mut(key).and_then(Value::as_list_mut);
        items.into_iter().flatten().filter_map(Value::as_map_mut).for_each(|it| remove(it, rest));
        return;
    }
    let Some(inner) = part(map, key) else { return };
    let had_something = !inner.is_empty();
    remove(inner, rest);
    // A lifecycle that said nothing else says nothing.
    if key == "lifecycle" && had_something && inner.is_empty() {
        map.remove(key);
    }
}

#[cfg(test)]
mod tests {
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
}
