//! What must hold for kinds that select the pods they make.

use keelson_object::selector::label::Selector;
use keelson_object::selector::validate_label_selector;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::pod_template;

/// Checks the selector of a workload's spec, then its template.
///
/// Upstream: pkg/apis/apps/validation/validation.go, the middle of ValidateDeploymentSpec and of
/// ValidateReplicaSetSpec (v1.36.4); both speak of a deployment.
pub(crate) fn check(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let selector_at = at.key("selector");
    let selector = match (spec.get("selector"), spec.map("selector")) {
        (Some(value), Some(map)) => {
            validate_label_selector(map, &selector_at, errors);
            let is_empty = |field| map.get(field).is_none_or(Value::is_empty);
            if is_empty("matchLabels") && is_empty("matchExpressions") {
                errors.invalid(&selector_at, value, "empty selector is invalid for deployment");
            }
            let Ok(selector) = Selector::from_label_selector(map) else {
                return errors.invalid(&selector_at, value, "invalid label selector");
            };
            selector
        }
        _ => {
            errors.required(&selector_at, "");
            Selector::nothing()
        }
    };
    check_template(spec.map("template").unwrap_or(&Map::new()), &selector, &at.key("template"), errors);
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidatePodTemplateSpecForReplicaSet (v1.36.4).
fn check_template(template: &Map, selector: &Selector, at: &Path<'_>, errors: &mut FieldErrors) {
    let labels = template.at("metadata.labels").unwrap_or(&Value::Null);
    let label = |key: &str| labels.as_map().and_then(|map| map.str(key));
    if !selector.is_everything() && !selector.matches(label) {
        let at = at.key("metadata.labels");
        errors.invalid(&at, labels, "`selector` does not match template `labels`");
    }
    check_lasting(template, "ReplicaSet", at, errors);
}

/// Checks the template of pods that a kind replaces for ever: they must not come to an end.
pub(crate) fn check_lasting(template: &Map, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    pod_template::check(template, at, errors);
    let at = at.key("spec");
    let policy = template.at("spec.restartPolicy").and_then(Value::as_str).unwrap_or_default();
    if policy != "Always" {
        errors.not_supported(&at.key("restartPolicy"), policy, &["Always"]);
    }
    if template.at("spec.activeDeadlineSeconds").is_some_and(|it| !it.is_null()) {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&at.key("activeDeadlineSeconds"), detail);
    }
}
