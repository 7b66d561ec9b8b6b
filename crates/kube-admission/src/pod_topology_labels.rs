//! PodTopologyLabels: a pod carries the zone and the region of its node.

use keelson_object::meta::StringMap;
use keelson_object::{Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

const COPIED: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// The plugin.
pub(crate) struct PodTopologyLabels;

impl Plugin for PodTopologyLabels {
    fn name(&self) -> &'static str {
        "PodTopologyLabels"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create
            && matches!(request.subresource, "" | "binding")
            && request.is_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/podtopologylabels/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(object) = object else { return Ok(()) };
            let name = match request.subresource {
                "" => object.text_at("spec.nodeName"),
                _ => target(object),
            };
            let Some(name) = name.filter(|it| !it.is_empty()) else { return Ok(()) };
            let nodes = request.context.reach("", "nodes")?;
            if let Some(node) = nodes.cache()?.find("", name).await? {
                copy(&node.index().labels, &mut object.meta.labels);
            }
            Ok(())
        })
    }
}

/// The node that a binding names.
fn target(binding: &Object) -> Option<&str> {
    let target = binding.fields.get("target").and_then(Value::as_map)?;
    target.str("name").filter(|_| target.str("kind") == Some("Node"))
}

fn copy(from: &StringMap, to: &mut StringMap) {
    for key in COPIED {
        if let Some(value) = from.get(key) {
            to.set(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{copy, target};
    use crate::testing::object;

    #[track_caller]
    fn check(binding: &str, expected: Option<&str>) {
        assert_eq!(target(&object(binding)), expected);
    }

    #[test]
    fn pods_are_bound_to_nodes() {
        check(r#"{"target":{"kind":"Node","name":"n"}}"#, Some("n"));
        check(r#"{"target":{"name":"n"}}"#, None);
        check(r#"{"target":{"kind":"Other","name":"n"}}"#, None);
    }

    #[test]
    fn where_a_node_is_counts_more_than_what_a_pod_says() {
        let node = object(
            r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","x":"y"}}}"#,
        );
        let mut pod = object(r#"{"metadata":{"labels":{"a":"b","topology.kubernetes.io/zone":"other"}}}"#);
        copy(&node.meta.labels, &mut pod.meta.labels);
        let mut seen: Vec<_> = pod.meta.labels.iter().collect();
        seen.sort_unstable();
        let expected =
            [("a", "b"), ("topology.kubernetes.io/region", "r"), ("topology.kubernetes.io/zone", "z")];
        assert_eq!(seen, expected);
    }
}
