//! Validation of labels and of label selector objects.

use super::name_rules::{label_value, qualified_name};
use crate::field_error::FieldErrors;
use crate::path::Path;
use crate::value::{Map, Value};

/// Checks a map of labels.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateLabels (v1.36.4).
pub fn validate_labels(labels: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (key, value) in labels.iter() {
        for problem in qualified_name(key) {
            errors.invalid(at, key.as_str(), problem);
        }
        let value = value.as_str().unwrap_or_default();
        for problem in label_value(value) {
            errors.invalid(at, value, problem);
        }
    }
}

/// Checks a label selector object: `matchLabels` and `matchExpressions`.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateLabelSelector (v1.36.4).
pub fn validate_label_selector(selector: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(labels) = selector.map("matchLabels") {
        validate_labels(labels, &at.key("matchLabels"), errors);
    }
    for (position, expression) in selector.maps("matchExpressions").enumerate() {
        let list_at = at.key("matchExpressions");
        let at = list_at.index(position);
        validate_expression(expression, &at, errors);
        validate_values(expression, &at, errors);
    }
}

/// The same for selectors from before values were validated: expressions may compare with anything.
///
/// Upstream: ValidateLabelSelector with AllowInvalidLabelValueInSelector.
pub fn validate_label_selector_keys(selector: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(labels) = selector.map("matchLabels") {
        validate_labels(labels, &at.key("matchLabels"), errors);
    }
    for (position, expression) in selector.maps("matchExpressions").enumerate() {
        validate_expression(expression, &at.key("matchExpressions").index(position), errors);
    }
}

fn validate_expression(expression: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let values = expression.list("values");
    let operator = expression.str("operator").unwrap_or_default();
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&at.key("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(&at.key("values"), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.invalid(&at.key("operator"), operator, "not a valid selector operator"),
    }
    let key = expression.str("key").unwrap_or_default();
    for problem in qualified_name(key) {
        errors.invalid(&at.key("key"), key, problem);
    }
}

fn validate_values(expression: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let values_at = at.key("values");
    for (position, value) in expression.list("values").iter().filter_map(Value::as_str).enumerate() {
        for problem in label_value(value) {
            errors.invalid(&values_at.index(position), value, problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::validate_label_selector;
    use crate::field_error::FieldErrors;
    use crate::path::Path;
    use crate::value::{Map, Value};

    fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
        let mut map = Map::new();
        map.set("key", key);
        map.set("operator", operator);
        map.set("values", values.iter().map(|it| Value::from(*it)).collect::<Vec<_>>());
        map.into()
    }

    #[test]
    fn every_part_of_a_selector_is_checked() {
        let mut labels = Map::new();
        labels.set("app", "-");
        let mut selector = Map::new();
        selector.set("matchLabels", labels);
        selector.set(
            "matchExpressions",
            vec![
                expression("a", "In", &[]),
                expression("b", "Exists", &["x"]),
                expression("c", "Like", &["x"]),
                expression("", "NotIn", &["x", "y "]),
            ],
        );
        let mut errors = FieldErrors::default();
        validate_label_selector(&selector, &Path::root("spec").key("selector"), &mut errors);
        let value_rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
            '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
            '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        let key_rule = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
            with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
            is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let at = "spec.selector.matchExpressions";
        let expected = [
            format!("spec.selector.matchLabels: Invalid value: \"-\": {value_rule}"),
            format!("{at}[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"),
            format!(
                "{at}[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ),
            format!("{at}[2].operator: Invalid value: \"Like\": not a valid selector operator"),
            format!("{at}[3].key: Invalid value: \"\": name part must be non-empty"),
            format!("{at}[3].key: Invalid value: \"\": {key_rule}"),
            format!("{at}[3].values[1]: Invalid value: \"y \": {value_rule}"),
        ];
        let found: Vec<String> = errors.iter().map(|it| it.to_string()).collect();
        assert_eq!(found, expected);
    }
}
