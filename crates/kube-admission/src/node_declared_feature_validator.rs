//! NodeDeclaredFeatureValidator: rejects updates of running pods that need features their node does not
//! declare.

use keelson_object::scalar::quote;
use keelson_object::{Map, Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::nodes;

/// The plugin.
pub(crate) struct NodeDeclaredFeatureValidator;

impl Plugin for NodeDeclaredFeatureValidator {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatureValidator"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update
            && matches!(request.subresource, "" | "resize")
            && request.is_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/nodedeclaredfeatures/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object.filter(|it| nodes::is_changed_on_node(request, it)) else { return Ok(()) };
            let needed = request.old.map(|old| needed(spec(old), spec(pod))).unwrap_or_default();
            if needed.is_empty() {
                return Ok(());
            }
            let node = nodes::of_pod(request, pod).await?;
            let missing = missing(&needed, &node);
            if missing.is_empty() {
                return Ok(());
            }
            let (missing, node) = (missing.join(", "), quote(&node.meta.name));
            let reason =
                format!("pod update requires features {missing} which are not available on node {node}");
            Err(request.forbidden(object, reason))
        })
    }
}

static NONE: Map = Map::new();

fn spec(pod: &Object) -> &Map {
    pod.fields.map("spec").unwrap_or(&NONE)
}

/// The features that a change needs, in the order of their names.
///
/// Upstream: staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features/inplacepodresize (v1.36.4).
fn needed(old: &Map, new: &Map) -> Vec<&'static str> {
    let resources = |map: &'_ Map| map.map("resources").cloned().unwrap_or_default();
    let mut features = Vec::new();
    if resources(old) != resources(new) {
        features.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let mut pairs = old.maps("initContainers").zip(new.maps("initContainers"));
    let is_sidecar = |container: &Map| container.str("restartPolicy") == Some("Always");
    if pairs.any(|(old, new)| !is_sidecar(old) && resources(old) != resources(new)) {
        features.push("InPlacePodVerticalScalingInitContainers");
    }
    features
}

fn missing<'f>(needed: &[&'f str], node: &Object) -> Vec<&'f str> {
    let declared = node.fields.map("status").map(|it| it.list("declaredFeatures")).unwrap_or_default();
    let has = |feature: &str| declared.iter().filter_map(Value::as_str).any(|it| it == feature);
    needed.iter().copied().filter(|it| !has(it)).collect()
}

#[cfg(test)]
mod tests {
    use super::{missing, needed};
    use crate::testing::{map, object};

    const POD: &str = "InPlacePodLevelResourcesVerticalScaling";
    const INIT: &str = "InPlacePodVerticalScalingInitContainers";

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[&str]) {
        assert_eq!(needed(&map(old), &map(new)), expected);
    }

    #[test]
    fn some_changes_need_a_feature() {
        let pod = |cpu: &str| format!(r#"{{"resources":{{"requests":{{"cpu":"{cpu}"}}}}}}"#);
        let init = |cpu: &str, policy: &str| {
            let resources = format!(r#"{{"requests":{{"cpu":"{cpu}"}}}}"#);
            format!(r#"{{"initContainers":[{{"restartPolicy":"{policy}","resources":{resources}}}]}}"#)
        };
        check("{}", "{}", &[]);
        check("{}", r#"{"resources":{}}"#, &[]);
        check(&pod("1"), &pod("1"), &[]);
        check(&pod("1"), &pod("2"), &[POD]);
        check(&init("1", ""), &init("2", ""), &[INIT]);
        check(&init("1", "Always"), &init("2", "Always"), &[]);
    }

    #[test]
    fn a_node_says_what_it_can() {
        let node = object(&format!(r#"{{"status":{{"declaredFeatures":["{INIT}"]}}}}"#));
        assert_eq!(missing(&[POD, INIT], &node), [POD]);
    }
}
