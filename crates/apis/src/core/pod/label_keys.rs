//! matchLabelKeys and mismatchLabelKeys: on creation, terms get the values of the pod's own labels.
//!
//! With the label `app: web`, the term `{matchLabelKeys: [app], labelSelector: {}}` gets `app in (web)`, and
//! one with `mismatchLabelKeys` gets `app notin (web)`. A term without a selector matches nothing and is not
//! changed.

use keelson_object::{Map, Object, SmolStr, Value};

use crate::shared::edit::{part, parts};

/// Upstream: pkg/registry/core/pod/strategy.go, mutatePodAffinity and mutateTopologySpreadConstraints (v1.36.4).
pub(super) fn apply(object: &mut Object) {
    let labels = &object.meta.labels;
    let value = |key: &str| labels.get(key).map(SmolStr::from);
    let Some(spec) = part(&mut object.fields, "spec") else { return };
    if let Some(affinity) = part(spec, "affinity") {
        for side in ["podAffinity", "podAntiAffinity"] {
            let Some(side) = part(affinity, side) else { continue };
            for preferred in parts(side, "preferredDuringSchedulingIgnoredDuringExecution") {
                if let Some(term) = part(preferred, "podAffinityTerm") {
                    merge(term, &value);
                }
            }
            for term in parts(side, "requiredDuringSchedulingIgnoredDuringExecution") {
                merge(term, &value);
            }
        }
    }
    for constraint in parts(spec, "topologySpreadConstraints") {
        merge(constraint, &value);
    }
}

fn merge(term: &mut Map, value: &impl Fn(&str) -> Option<SmolStr>) {
    let mut added = Vec::new();
    for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.list(keys).iter().filter_map(Value::as_str) {
            let Some(value) = value(key) else { continue };
            let mut requirement = Map::new();
            requirement.set("key", key);
            requirement.set("operator", operator);
            requirement.set("values", vec![Value::String(value)]);
            added.push(Value::Map(requirement));
        }
    }
    let Some(selector) = part(term, "labelSelector").filter(|_| !added.is_empty()) else { return };
    let mut expressions = selector.list("matchExpressions").to_vec();
    expressions.append(&mut added);
    selector.set("matchExpressions", expressions);
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{decoded, tree};

    fn check(spec: &str, path: &str, expected: &str) {
        let text = format!("{{\"metadata\": {{\"labels\": {{\"a\": \"1\"}}}}, \"spec\": {spec}}}");
        let mut object = decoded(&Pod(Gates::default()), "v1 Pod", &text);
        apply(&mut object);
        assert_eq!(object.fields.at(path), Some(&tree(expected)), "{spec}");
    }

    #[test]
    fn keys_become_requirements() {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for side in ["podAffinity", "podAntiAffinity"] {
            check(
                &format!(
                    r#"{{"affinity": {{"{side}": {{"{required}": [{{"topologyKey": "t", "labelSelector": {{}},
                        "matchLabelKeys": ["a", "b"], "mismatchLabelKeys": ["a"]}}]}}}}}}"#
                ),
                &format!("spec.affinity.{side}.{required}"),
                r#"[{"topologyKey": "t", "matchLabelKeys": ["a", "b"], "mismatchLabelKeys": ["a"],
                    "labelSelector": {"matchExpressions": [
                        {"key": "a", "operator": "In", "values": ["1"]},
                        {"key": "a", "operator": "NotIn", "values": ["1"]}]}}]"#,
            );
        }
    }

    #[test]
    fn a_term_without_a_selector_stays() {
        let term = r#"[{"maxSkew": 1, "topologyKey": "t", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["a"]}]"#;
        check(&format!("{{\"topologySpreadConstraints\": {term}}}"), "spec.topologySpreadConstraints", term);
    }
}
