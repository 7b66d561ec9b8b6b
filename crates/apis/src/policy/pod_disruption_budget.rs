//! PodDisruptionBudget: how many pods of an application may be missing.

use keelson_object::scalar::IntOrString;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::edit::part;
use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::read::{given, sub};
use crate::shared::{conditions, counts, percent, selector_rules, spec_and_status};

pub(crate) struct PodDisruptionBudget;

/// The label in the stored form of an empty `v1beta1` selector, which selected nothing; in v1 an empty one
/// selects everything.
const EMPTY_IN_V1BETA1: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// Upstream: pkg/printers/internalversion/printers.go, printPodDisruptionBudget (v1.36.4).
pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::computed("Min Available", |object| amount(object, "spec.minAvailable")),
        Column::computed("Max Unavailable", |object| amount(object, "spec.maxUnavailable")),
        Column::integer("Allowed Disruptions", "status.disruptionsAllowed"),
        Column::age(),
    ]
}

fn amount(object: &Object, path: &str) -> Cell {
    match object.fields.at(path).and_then(IntOrString::from_value) {
        Some(amount) => Cell::from(amount.to_string()),
        None => Cell::from("N/A"),
    }
}

impl Strategy for PodDisruptionBudget {
    /// Upstream: pkg/apis/policy/v1/conversion.go, Convert_v1_PodDisruptionBudget_To_policy_PodDisruptionBudget
    /// (v1.36.4).
    fn default(&self, object: &mut Object) {
        if let Some(selector) = part(&mut object.fields, "spec").and_then(|spec| part(spec, "selector"))
            && !selects_nothing(selector)
            && let Some(Value::List(expressions)) = selector.get_mut("matchExpressions")
        {
            expressions.retain(|it| it.as_map().and_then(|it| it.str("key")) != Some(EMPTY_IN_V1BETA1));
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(sub(&object.fields, "spec"), None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(sub(&object.fields, "spec"), Some(sub(&old.fields, "spec")), errors);
    }

    /// Upstream: pkg/apis/policy/validation/validation.go, ValidatePodDisruptionBudgetStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        const COUNTS: [&str; 4] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        let (status, at) = (sub(&object.fields, "status"), Path::root("status"));
        conditions::check(status.list("conditions"), &at.key("conditions"), errors);
        counts::check_non_negative(status, &COUNTS, &at, errors);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegmentLast
    }
}

/// The spec as upstream prints it.
const SPEC: [Field; 4] = [
    Field("MinAvailable", "minAvailable", Form::AsIs),
    Field("Selector", "selector", Form::AsIs),
    Field("MaxUnavailable", "maxUnavailable", Form::AsIs),
    Field("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", Form::AsIs),
];

/// Upstream: pkg/apis/policy/validation/validation.go, ValidatePodDisruptionBudgetSpec (v1.36.4).
fn check(spec: &Map, old: Option<&Map>, errors: &mut FieldErrors) {
    const AMOUNTS: [&str; 2] = ["minAvailable", "maxUnavailable"];
    const POLICIES: [&str; 2] = ["AlwaysAllow", "IfHealthyBudget"];
    let at = Path::root("spec");
    if AMOUNTS.iter().all(|field| given(spec, field).is_some()) {
        errors.invalid(&at, Shape(spec, &SPEC), "minAvailable and maxUnavailable cannot be both set");
    }
    for field in AMOUNTS {
        if let Some(amount) = given(spec, field) {
            percent::check(amount, &at.key(field), errors);
            percent::check_not_more_than_all(amount, &at.key(field), errors);
        }
    }
    if let Some(selector) = spec.map("selector") {
        let old = old.and_then(|old| old.map("selector"));
        selector_rules::check_changed(selector, old, &at.key("selector"), errors);
    }
    if let Some(policy) = spec.str("unhealthyPodEvictionPolicy").filter(|it| !POLICIES.contains(it)) {
        errors.not_supported(&at.key("unhealthyPodEvictionPolicy"), policy, &POLICIES);
    }
}

/// Whether this is the empty selector of `v1beta1`, and nothing else.
fn selects_nothing(selector: &Map) -> bool {
    let has_labels = selector.get("matchLabels").is_some_and(|it| !it.is_empty());
    let [Value::Map(only)] = selector.list("matchExpressions") else { return false };
    !has_labels
        && only.str("key") == Some(EMPTY_IN_V1BETA1)
        && only.str("operator") == Some("Exists")
        && only.list("values").is_empty()
}

#[cfg(test)]
mod tests {
    use super::{EMPTY_IN_V1BETA1, PodDisruptionBudget, amount};
    use crate::shared::testing::{decoded, tree};

    #[track_caller]
    fn check(expressions: &str, expected: &str) {
        let fill =
            |text: &str| text.replace("OLD", &format!("{{\"key\": \"{EMPTY_IN_V1BETA1}\", \"operator\": "));
        let text = fill(&format!(
            "{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {{\"selector\": {{\"matchExpressions\": {expressions}}}}}}}"
        ));
        let object = decoded(&PodDisruptionBudget, "policy/v1 PodDisruptionBudget", &text);
        let found = object.fields.at("spec.selector.matchExpressions");
        assert_eq!(found, Some(&tree(&fill(expected))), "{text}");
    }

    #[test]
    fn the_label_of_v1beta1_stands_alone_or_not_at_all() {
        check(r#"[OLD"Exists"}]"#, r#"[OLD"Exists"}]"#);
        check(r#"[OLD"DoesNotExist"}]"#, "[]");
        let other = r#"{"key": "a", "operator": "Exists"}"#;
        check(&format!(r#"[OLD"Exists"}}, {other}]"#), &format!("[{other}]"));
    }

    #[test]
    fn amounts_are_numbers_or_parts() {
        let text = r#"{"metadata": {"name": "a"}, "spec": {"minAvailable": "25%", "maxUnavailable": 3}}"#;
        let object = decoded(&PodDisruptionBudget, "policy/v1 PodDisruptionBudget", text);
        assert_eq!(amount(&object, "spec.minAvailable"), "25%".into());
        assert_eq!(amount(&object, "spec.maxUnavailable"), "3".into());
        assert_eq!(amount(&object, "spec.other"), "N/A".into());
    }
}
