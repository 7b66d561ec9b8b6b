//! What must hold for the way in which pods are replaced.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateDeploymentStrategy (v1.36.4).
pub(super) fn check(strategy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let rolling = strategy.map("rollingUpdate");
    let rolling_at = at.key("rollingUpdate");
    match (strategy.str("type").unwrap_or_default(), rolling) {
        ("Recreate", None) => {}
        ("Recreate", Some(_)) => {
            errors.forbidden(&rolling_at, "may not be specified when strategy `type` is 'Recreate'");
        }
        ("RollingUpdate", Some(rolling)) => check_rolling_update(rolling, &rolling_at, errors),
        ("RollingUpdate", None) => {
            errors.required(&rolling_at, "this should be defaulted and never be nil");
        }
        _ => errors.not_supported(at, &as_upstream_prints_it(strategy), &["Recreate", "RollingUpdate"]),
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateRollingUpdateDeployment (v1.36.4).
fn check_rolling_update(rolling: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let zero = Value::Int(0);
    let field = |name| rolling.get(name).unwrap_or(&zero);
    let (unavailable, surge) = (field("maxUnavailable"), field("maxSurge"));
    let unavailable_at = at.key("maxUnavailable");
    check_number_or_percent(unavailable, &unavailable_at, errors);
    check_number_or_percent(surge, &at.key("maxSurge"), errors);
    if amount(unavailable) == 0 && amount(surge) == 0 {
        errors.invalid(&unavailable_at, unavailable, "may not be 0 when `maxSurge` is 0");
    }
    if percent(unavailable).is_some_and(|percent| percent > 100) {
        errors.invalid(&unavailable_at, unavailable, "must not be greater than 100%");
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidatePositiveIntOrPercent (v1.36.4).
fn check_number_or_percent(value: &Value, at: &Path<'_>, errors: &mut FieldErrors) {
    match value {
        Value::String(text) => {
            for message in name_rules::percent(text) {
                errors.invalid(at, value, message);
            }
        }
        _ => errors.non_negative(at, value.as_int()),
    }
}

fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str().filter(|text| name_rules::percent(text).is_empty())?;
    Some(text.trim_end_matches('%').parse().unwrap_or(i64::MAX))
}

/// The number before the `%`, or the number itself; a text that is no number counts as none.
fn amount(value: &Value) -> i64 {
    let number = || value.as_int().or_else(|| value.as_str()?.parse().ok());
    percent(value).or_else(number).unwrap_or_default()
}

/// The names and the order of upstream's internal type, which has no JSON of its own.
fn as_upstream_prints_it(strategy: &Map) -> Value {
    let rolling = strategy.map("rollingUpdate").map(|rolling| {
        let field = |name| rolling.get(name).cloned().unwrap_or(Value::Int(0));
        let mut shown = Map::new();
        shown.push_new("MaxUnavailable", field("maxUnavailable"));
        shown.push_new("MaxSurge", field("maxSurge"));
        Value::Map(shown)
    });
    let mut shown = Map::new();
    shown.push_new("Type", strategy.str("type").unwrap_or_default());
    shown.push_new("RollingUpdate", rolling.unwrap_or_default());
    Value::Map(shown)
}
