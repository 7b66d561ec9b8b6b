//! Validation of workloads, which select the pods they create.

use keelson_object::selector::label::Selector;
use keelson_object::selector::validate_label_selector;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use crate::shared::edit::part;
use crate::shared::go_form::as_json;
use crate::shared::pod_template::{self, Gates, PodRules};
use crate::shared::read::{Labels, NOTHING, given, sub};
use crate::shared::workload_columns::template_spec;

/// The messages of a kind about its selector.
pub(crate) struct Words {
    /// The kind, in the message about an empty selector.
    pub kind: &'static str,
    /// The message about a selector that cannot be parsed.
    pub unreadable: &'static str,
}

/// Deployments and ReplicaSets: the messages of both name a deployment.
const DEPLOYMENT: Words = Words { kind: "deployment", unreadable: "invalid label selector" };

/// Checks the selector of a workload's spec, then its template.
///
/// Upstream: pkg/apis/apps/validation/validation.go, the middle of ValidateDeploymentSpec and of
/// ValidateReplicaSetSpec (v1.36.4).
pub(crate) fn check(spec: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(selector) = check_selector(spec, &DEPLOYMENT, at, errors) {
        let (template, at) = (sub(spec, "template"), at.key("template"));
        if !selector.is_everything() {
            check_selected(template, &selector, &at, errors);
        }
        pod_template::check_template(template, rules, &at, errors);
        check_endless(template, "ReplicaSet", &at, errors);
    }
}

/// Checks a required selector; returns it unless it cannot be parsed.
pub(crate) fn check_selector(
    spec: &Map,
    words: &Words,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> Option<Selector> {
    let at = at.key("selector");
    let (Some(value), Some(map)) = (spec.get("selector"), spec.map("selector")) else {
        errors.required(&at, "");
        return Some(Selector::nothing());
    };
    validate_label_selector(map, &at, errors);
    let is_empty = |field| map.get(field).is_none_or(Value::is_empty);
    if is_empty("matchLabels") && is_empty("matchExpressions") {
        errors.invalid_as(&at, as_json(value), format!("empty selector is invalid for {}", words.kind));
    }
    let selector = Selector::from_label_selector(map).ok();
    if selector.is_none() {
        errors.invalid_as(&at, as_json(value), words.unreadable);
    }
    selector
}

/// Checks that the selector selects the pods of the template.
pub(crate) fn check_selected(template: &Map, selector: &Selector, at: &Path<'_>, errors: &mut FieldErrors) {
    let labels = template.at("metadata.labels").unwrap_or(&Value::Null);
    let found = Labels::of(labels.as_map());
    if !selector.matches(|key| found.get(key)) {
        let at = at.key("metadata.labels");
        errors.invalid_as(&at, as_json(labels), "`selector` does not match template `labels`");
    }
}

/// Checks that the pods run for ever (`restartPolicy: Always`, no deadline), because they are always
/// replaced.
pub(crate) fn check_endless(template: &Map, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let (spec, at) = (sub(template, "spec"), at.key("spec"));
    let policy = spec.str("restartPolicy").unwrap_or_default();
    if policy != "Always" {
        errors.not_supported(&at.key("restartPolicy"), policy, &["Always"]);
    }
    if given(spec, "activeDeadlineSeconds").is_some() {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(&at.key("activeDeadlineSeconds"), detail);
    }
}

/// The rules for the template of a workload; `old` is the object that it replaces.
pub(crate) fn template_rules(gates: &Gates, old: Option<&Object>) -> PodRules {
    gates.template_rules(old.map(|old| sub(sub(&old.fields, "spec"), "template")))
}

/// Removes disabled features from a template, unless the old one used them.
pub(crate) fn drop_disabled(gates: &Gates, object: &mut Object, old: Option<&Object>) {
    let template = part(&mut object.fields, "spec").and_then(|it| part(it, "template"));
    if let Some(spec) = template.and_then(|it| part(it, "spec")) {
        gates.drop(spec, old.map(|old| template_spec(old).unwrap_or(&NOTHING)));
    }
}
