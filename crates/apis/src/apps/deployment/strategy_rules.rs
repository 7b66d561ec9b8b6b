//! Validation of the deployment strategy.

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::{Field, Form, as_json};
use crate::shared::{go_form, percent};

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
        _ => errors.not_supported(at, go_form::Shape(strategy, &STRATEGY), &["Recreate", "RollingUpdate"]),
    }
}

const STRATEGY: [Field; 2] =
    [Field("Type", "type", Form::Text), Field("RollingUpdate", "rollingUpdate", Form::Maybe(&ROLLING))];

const ROLLING: [Field; 2] =
    [Field("MaxUnavailable", "maxUnavailable", Form::Number), Field("MaxSurge", "maxSurge", Form::Number)];

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateRollingUpdateDeployment (v1.36.4).
fn check_rolling_update(rolling: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| rolling.get(name).unwrap_or(&Value::Int(0));
    let (unavailable, surge) = (field("maxUnavailable"), field("maxSurge"));
    let unavailable_at = at.key("maxUnavailable");
    percent::check(unavailable, &unavailable_at, errors);
    percent::check(surge, &at.key("maxSurge"), errors);
    if percent::amount(unavailable) == 0 && percent::amount(surge) == 0 {
        errors.invalid_as(&unavailable_at, as_json(unavailable), "may not be 0 when `maxSurge` is 0");
    }
    percent::check_not_more_than_all(unavailable, &unavailable_at, errors);
}
