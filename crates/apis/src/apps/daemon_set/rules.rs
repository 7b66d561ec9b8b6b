//! Validation of DaemonSets.

use keelson_object::selector::label::Selector;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use crate::shared::go_form::{Field, Form, Shape, as_json};
use crate::shared::pod_template::{self, Gates};
use crate::shared::read::{sub, text};
use crate::shared::{counts, immutable, percent, selector_rules, workload_rules};

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDaemonSetSpec (v1.36.4).
pub(super) fn check(
    object: &Object,
    old: Option<&Object>,
    (template_generation, gates): (i64, &Gates),
    errors: &mut FieldErrors,
) {
    let (spec, at) = (sub(&object.fields, "spec"), Path::root("spec"));
    check_selector(spec, old.map(|old| sub(&old.fields, "spec")), &at, errors);
    let (template, template_at) = (sub(spec, "template"), at.key("template"));
    let rules = workload_rules::template_rules(gates, old);
    pod_template::check_template(template, &rules, &template_at, errors);
    workload_rules::check_endless(template, "DaemonSet", &template_at, errors);
    errors.non_negative(&at.key("minReadySeconds"), spec.int("minReadySeconds"));
    errors.non_negative(&at.key("templateGeneration"), Some(template_generation));
    check_strategy(sub(spec, "updateStrategy"), &at.key("updateStrategy"), errors);
    errors.non_negative(&at.key("revisionHistoryLimit"), spec.int("revisionHistoryLimit"));
}

/// The selector may be absent, but then it selects nothing.
fn check_selector(spec: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let selector_at = at.key("selector");
    let selector = spec.map("selector");
    if let Some(selector) = selector {
        let old = old.and_then(|old| old.map("selector"));
        selector_rules::check_changed(selector, old, &selector_at, errors);
    }
    if let Ok(selector) = selector.map_or(Ok(Selector::nothing()), Selector::from_label_selector) {
        workload_rules::check_selected(sub(spec, "template"), &selector, &at.key("template"), errors);
    }
    if let Some(map) = selector
        && map.get("matchLabels").is_none_or(Value::is_empty)
        && map.list("matchExpressions").is_empty()
    {
        let shown = spec.get("selector").map(as_json).unwrap_or_default();
        errors.invalid_as(&selector_at, shown, "empty selector is invalid for daemonset");
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDaemonSetUpdateStrategy (v1.36.4).
fn check_strategy(strategy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const ROLLING: [Field; 2] = [
        Field("MaxUnavailable", "maxUnavailable", Form::Number),
        Field("MaxSurge", "maxSurge", Form::Number),
    ];
    const STRATEGY: [Field; 2] =
        [Field("Type", "type", Form::Text), Field("RollingUpdate", "rollingUpdate", Form::Maybe(&ROLLING))];
    let rolling_at = at.key("rollingUpdate");
    match (text(strategy, "type"), strategy.map("rollingUpdate")) {
        ("OnDelete", _) => {}
        ("RollingUpdate", Some(rolling)) => check_rolling_update(rolling, &rolling_at, errors),
        ("RollingUpdate", None) => errors.required(&rolling_at, ""),
        _ => errors.not_supported(at, Shape(strategy, &STRATEGY), &["RollingUpdate", "OnDelete"]),
    }
}

/// Either some pods are missing meanwhile or there are some more, not both.
///
/// Upstream: pkg/apis/apps/validation/validation.go, ValidateRollingUpdateDaemonSet (v1.36.4).
fn check_rolling_update(rolling: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| rolling.get(name).unwrap_or(&Value::Int(0));
    let (unavailable, surge) = (field("maxUnavailable"), field("maxSurge"));
    let (unavailable_at, surge_at) = (at.key("maxUnavailable"), at.key("maxSurge"));
    percent::check(unavailable, &unavailable_at, errors);
    percent::check(surge, &surge_at, errors);
    percent::check_not_more_than_all(unavailable, &unavailable_at, errors);
    percent::check_not_more_than_all(surge, &surge_at, errors);
    match (percent::amount(unavailable) != 0, percent::amount(surge) != 0) {
        (true, true) => {
            errors.invalid_as(&surge_at, as_json(surge), "may not be set when maxUnavailable is non-zero");
        }
        (false, false) => errors.required(&unavailable_at, "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// The count of changes of the template is ours, so that only the selector is left to be changed.
///
/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDaemonSetSpecUpdate (v1.36.4).
pub(super) fn check_update(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
    immutable::check(spec, old, "selector", &Path::root("spec"), errors);
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDaemonSetStatusUpdate (v1.36.4).
pub(super) fn check_status(object: &Object, old: &Object, errors: &mut FieldErrors) {
    const COUNTS: [&str; 9] = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    let at = Path::root("status");
    let status = sub(&object.fields, "status");
    counts::check_non_negative(status, &COUNTS, &at, errors);
    counts::check_collisions(status, sub(&old.fields, "status"), &at, errors);
}
