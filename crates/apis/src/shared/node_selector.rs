//! Node selectors: nodes by their labels and their names.

use keelson_object::selector::name_rules::{dns1123_subdomain, label_value, qualified_name};
use keelson_object::{FieldErrors, Map, Path, Value};

const NO_OPERATOR: &str = "not a valid selector operator";

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSelector (v1.36.4).
pub(crate) fn check(selector: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("nodeSelectorTerms");
    let terms = selector.list("nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&at, "must have at least one node selector term");
    }
    for (position, term) in terms.iter().enumerate() {
        if let Some(term) = term.as_map() {
            check_term(term, &at.index(position), errors);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSelectorTerm (v1.36.4).
pub(crate) fn check_term(term: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, label) in term.maps("matchExpressions").enumerate() {
        check_label(label, &at.key("matchExpressions").index(position), errors);
    }
    for (position, field) in term.maps("matchFields").enumerate() {
        check_field(field, &at.key("matchFields").index(position), errors);
    }
}

fn check_label(label: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (values, values_at) = (label.list("values"), at.key("values"));
    let operator = label.str("operator").unwrap_or_default();
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&values_at, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(&values_at, detail);
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.required(&values_at, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        _ => errors.invalid(&at.key("operator"), operator, NO_OPERATOR),
    }
    let key = label.str("key").unwrap_or_default();
    errors.invalid_each(&at.key("key"), key, qualified_name(key));
    for (position, value) in values.iter().filter_map(Value::as_str).enumerate() {
        errors.invalid_each(&values_at.index(position), value, label_value(value));
    }
}

fn check_field(field: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (values, values_at) = (field.list("values"), at.key("values"));
    let operator = field.str("operator").unwrap_or_default();
    match operator {
        "In" | "NotIn" if values.len() != 1 => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(&values_at, detail);
        }
        "In" | "NotIn" => {}
        _ => errors.invalid(&at.key("operator"), operator, NO_OPERATOR),
    }
    let key = field.str("key").unwrap_or_default();
    if key != "metadata.name" {
        errors.invalid(&at.key("key"), key, "not a valid field selector key");
        return;
    }
    for (position, value) in values.iter().filter_map(Value::as_str).enumerate() {
        errors.invalid_each(&values_at.index(position), value, dns1123_subdomain(value));
    }
}
