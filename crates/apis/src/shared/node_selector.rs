//! Node selectors: select nodes by labels and names.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::{Field, Form};

/// A term as Go prints it.
///
/// Upstream: pkg/apis/core/types.go, NodeSelectorTerm (v1.36.4).
pub(crate) const TERM: [Field; 2] = [
    Field("MatchExpressions", "matchExpressions", Form::Many(&REQUIREMENT)),
    Field("MatchFields", "matchFields", Form::Many(&REQUIREMENT)),
];

const REQUIREMENT: [Field; 3] = [
    Field("Key", "key", Form::Text),
    Field("Operator", "operator", Form::Text),
    Field("Values", "values", Form::AsIs),
];

/// The values that a requirement may compare labels with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Valid label values.
    OfLabels,
    /// Any values: for old objects, and for preferences.
    Any,
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSelector (v1.36.4).
pub(crate) fn check(selector: &Map, values: Values, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("nodeSelectorTerms");
    if selector.list("nodeSelectorTerms").is_empty() {
        return errors.required(&at, "must have at least one node selector term");
    }
    for (position, term) in selector.maps("nodeSelectorTerms").enumerate() {
        check_term(term, values, &at.index(position), errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSelectorTerm (v1.36.4).
pub(crate) fn check_term(term: &Map, values: Values, at: &Path<'_>, errors: &mut FieldErrors) {
    let list_at = at.key("matchExpressions");
    for (position, requirement) in term.maps("matchExpressions").enumerate() {
        check_label(requirement, values, &list_at.index(position), errors);
    }
    let list_at = at.key("matchFields");
    for (position, requirement) in term.maps("matchFields").enumerate() {
        check_field(requirement, &list_at.index(position), errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeSelectorRequirement (v1.36.4).
fn check_label(requirement: &Map, allowed: Values, at: &Path<'_>, errors: &mut FieldErrors) {
    let (values, values_at) = (requirement.list("values"), at.key("values"));
    let operator = requirement.str("operator").unwrap_or_default();
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
        _ => errors.invalid(&at.key("operator"), operator, "not a valid selector operator"),
    }
    let key = requirement.str("key").unwrap_or_default();
    errors.invalid_each(&at.key("key"), key, name_rules::qualified_name(key));
    if allowed == Values::OfLabels {
        for (position, value) in values.iter().filter_map(Value::as_str).enumerate() {
            errors.invalid_each(&values_at.index(position), value, name_rules::label_value(value));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeFieldSelectorRequirement (v1.36.4).
fn check_field(requirement: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (values, values_at) = (requirement.list("values"), at.key("values"));
    let operator = requirement.str("operator").unwrap_or_default();
    match operator {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(&values_at, detail);
        }
        _ => errors.invalid(&at.key("operator"), operator, "not a valid selector operator"),
    }
    let key = requirement.str("key").unwrap_or_default();
    if key != "metadata.name" {
        return errors.invalid(&at.key("key"), key, "not a valid field selector key");
    }
    for (position, value) in values.iter().filter_map(Value::as_str).enumerate() {
        errors.invalid_each(&values_at.index(position), value, name_rules::dns1123_subdomain(value));
    }
}

/// Whether a requirement has values that are not valid label values.
///
/// Upstream: pkg/apis/core/helper/helpers.go, HasInvalidLabelValueInNodeSelectorTerms (v1.36.4).
pub(crate) fn has_wrong_value(selector: &Map) -> bool {
    let expressions = selector.maps("nodeSelectorTerms").flat_map(|it| it.maps("matchExpressions"));
    let mut values = expressions.flat_map(|it| it.list("values")).filter_map(Value::as_str);
    values.any(|value| !name_rules::label_value(value).is_empty())
}
