//! Validation of node and pod affinity.

use keelson_object::selector::{name_rules, validate_label_selector, validate_label_selector_keys};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::{PodRules, topology};
use crate::shared::node_selector::{self, Values};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Upstream: pkg/apis/core/validation/validation.go, validateAffinity (v1.36.4).
pub(super) fn check(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(affinity) = spec.map("affinity") else { return };
    if let Some(nodes) = affinity.map("nodeAffinity") {
        check_nodes(nodes, rules, &at.key("nodeAffinity"), errors);
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        if let Some(pods) = affinity.map(field) {
            check_pods(pods, rules, &at.key(field), errors);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeAffinity (v1.36.4).
fn check_nodes(nodes: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(selector) = nodes.map(REQUIRED) {
        let values = if rules.any_node_affinity_value { Values::Any } else { Values::OfLabels };
        node_selector::check(selector, values, &at.key(REQUIRED), errors);
    }
    let list_at = at.key(PREFERRED);
    let empty = Map::new();
    for (position, term) in nodes.maps(PREFERRED).enumerate() {
        let at = list_at.index(position);
        check_weight(term, &at, errors);
        // A preference that nothing can meet does no harm.
        let preference = term.map("preference").unwrap_or(&empty);
        node_selector::check_term(preference, Values::Any, &at.key("preference"), errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodAffinity and validatePodAntiAffinity (v1.36.4).
fn check_pods(pods: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key(REQUIRED);
    for (position, term) in pods.maps(REQUIRED).enumerate() {
        check_term(term, rules, &list_at.index(position), errors);
    }
    let list_at = at.key(PREFERRED);
    let empty = Map::new();
    for (position, weighted) in pods.maps(PREFERRED).enumerate() {
        let at = list_at.index(position);
        check_weight(weighted, &at, errors);
        let term = weighted.map("podAffinityTerm").unwrap_or(&empty);
        check_term(term, rules, &at.key("podAffinityTerm"), errors);
    }
}

fn check_weight(term: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let weight = term.int("weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.invalid(&at.key("weight"), weight, "must be in the range 1-100");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodAffinityTerm (v1.36.4).
fn check_term(term: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    for field in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = term.map(field) {
            let check =
                if rules.any_selector_value { validate_label_selector_keys } else { validate_label_selector };
            check(selector, &at.key(field), errors);
        }
    }
    for name in term.list("namespaces").iter().filter_map(Value::as_str) {
        errors.invalid_each(&at.key("namespace"), name, name_rules::dns1123_label(name));
    }
    topology::check_label_keys(term, at, errors);
    let key = term.str("topologyKey").unwrap_or_default();
    if key.is_empty() {
        errors.required(&at.key("topologyKey"), "can not be empty");
    }
    errors.invalid_each(&at.key("topologyKey"), key, name_rules::qualified_name(key));
}

/// Whether a term of the pod has a selector that is invalid for new pods.
///
/// Upstream: pkg/api/pod/util.go, hasInvalidLabelValueInAffinitySelector (v1.36.4).
pub(super) fn has_wrong_selector(spec: &Map) -> bool {
    let Some(affinity) = spec.map("affinity") else { return false };
    let mut errors = FieldErrors::default();
    for pods in ["podAffinity", "podAntiAffinity"].iter().filter_map(|field| affinity.map(field)) {
        let weighted = pods.maps(PREFERRED).filter_map(|it| it.map("podAffinityTerm"));
        for term in pods.maps(REQUIRED).chain(weighted) {
            for selector in ["labelSelector", "namespaceSelector"].iter().filter_map(|field| term.map(field))
            {
                validate_label_selector(selector, &Path::empty(), &mut errors);
            }
        }
    }
    !errors.is_empty()
}

/// Whether the required node affinity has an invalid label value.
pub(super) fn has_wrong_node_value(spec: &Map) -> bool {
    let nodes = spec.map("affinity").and_then(|it| it.map("nodeAffinity"));
    nodes.and_then(|it| it.map(REQUIRED)).is_some_and(node_selector::has_wrong_value)
}
