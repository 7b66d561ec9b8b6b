//! TaintNodesByCondition: taints new nodes as not ready, so that no pod is scheduled to them yet.

use std::future::ready;

use keelson_object::{Map, Object, Value};
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

const KEY: &str = "node.kubernetes.io/not-ready";
const EFFECT: &str = "NoSchedule";

/// The plugin.
pub(crate) struct TaintNodesByCondition;

impl Plugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Create && request.is_object_of("", "nodes")
    }

    /// Upstream: plugin/pkg/admission/nodetaint/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, _request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        if let Some(node) = object {
            taint(node.fields.map_mut("spec"));
        }
        Box::pin(ready(Ok(())))
    }
}

fn taint(spec: &mut Map) {
    let is_it = |it: &Map| it.str("key") == Some(KEY) && it.str("effect") == Some(EFFECT);
    if spec.maps("taints").any(is_it) {
        return;
    }
    let mut taint = Map::new();
    taint.push_new("key", KEY);
    taint.push_new("effect", EFFECT);
    match spec.get_mut("taints").and_then(Value::as_list_mut) {
        Some(taints) => taints.push(Value::Map(taint)),
        None => spec.set("taints", vec![Value::Map(taint)]),
    }
}

#[cfg(test)]
mod tests {
    use super::taint;
    use crate::testing::map;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let mut spec = map(before);
        taint(&mut spec);
        assert_eq!(spec, map(after));
    }

    #[test]
    fn a_new_node_is_not_ready() {
        let own = r#"{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}"#;
        check("{}", &format!(r#"{{"taints":[{own}]}}"#));
        check(&format!(r#"{{"taints":[{own}]}}"#), &format!(r#"{{"taints":[{own}]}}"#));
        let other = r#"{"key":"node.kubernetes.io/not-ready","effect":"NoExecute"}"#;
        check(&format!(r#"{{"taints":[{other}]}}"#), &format!(r#"{{"taints":[{other},{own}]}}"#));
    }
}
