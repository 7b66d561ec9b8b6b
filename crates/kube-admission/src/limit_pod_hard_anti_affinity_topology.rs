//! LimitPodHardAntiAffinityTopology: required pod anti-affinity is allowed per node only, not for a whole
//! zone.

use std::future::ready;

use keelson_object::{Object, Value};
use keelson_registry::Error;
use keelson_registry::admission::{Plugin, Request, Ruling};

const HOST: &str = "kubernetes.io/hostname";

/// The plugin.
pub(crate) struct LimitPodHardAntiAffinityTopology;

impl Plugin for LimitPodHardAntiAffinityTopology {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/antiaffinity/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let answer = match object.and_then(|pod| wide(pod).map(|key| (pod, key))) {
            None => Ok(()),
            Some((pod, key)) => Err(Error::Forbidden {
                resource: request.resource.group_resource(),
                name: pod.meta.name.to_string(),
                reason: format!(
                    "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} \
                    but only key {HOST} is allowed"
                ),
            }),
        };
        Box::pin(ready(answer))
    }
}

/// The first anti-affinity topology key that is wider than a node.
fn wide(pod: &Object) -> Option<&str> {
    let rules = pod.fields.at("spec.affinity.podAntiAffinity").and_then(Value::as_map)?;
    let keys = rules.maps("requiredDuringSchedulingIgnoredDuringExecution");
    keys.map(|it| it.str("topologyKey").unwrap_or_default()).find(|it| *it != HOST)
}

#[cfg(test)]
mod tests {
    use super::wide;
    use crate::testing::object;

    #[track_caller]
    fn check(rules: &str, expected: Option<&str>) {
        let pod = object(&format!(r#"{{"spec":{{"affinity":{{"podAntiAffinity":{rules}}}}}}}"#));
        assert_eq!(wide(&pod), expected);
    }

    #[test]
    fn only_hosts_are_kept_free() {
        check("{}", None);
        let term = |key| {
            format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{key}"}}]}}"#)
        };
        check(&term("kubernetes.io/hostname"), None);
        check(&term("zone"), Some("zone"));
        check(&term("zone").replace("required", "preferred"), None);
    }
}
