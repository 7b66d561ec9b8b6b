//! Validation of tolerations.

use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::PodRules;

/// The effects of taints.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Upstream: pkg/apis/core/validation/validation.go, ValidateTolerations (v1.36.4).
pub(crate) fn check(tolerations: &[Value], rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, toleration) in tolerations.iter().filter_map(Value::as_map).enumerate() {
        check_one(toleration, rules, &at.index(position), errors);
    }
}

fn check_one(toleration: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |field| toleration.str(field).unwrap_or_default();
    let (key, operator, effect) = (text("key"), text("operator"), text("effect"));
    if !key.is_empty() {
        errors.invalid_each(&at.key("key"), key, name_rules::qualified_name(key));
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(&at.key("operator"), operator, detail);
    }
    if toleration.int("tolerationSeconds").is_some() && effect != "NoExecute" {
        errors.invalid(
            &at.key("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    check_value(operator, text("value"), rules, at, errors);
    if !effect.is_empty() {
        check_effect(effect, &at.key("effect"), errors);
    }
}

fn check_value(operator: &str, value: &str, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let operator_at = at.key("operator");
    match operator {
        "" | "Equal" => {
            let problems = name_rules::label_value(value);
            if !problems.is_empty() {
                errors.invalid(&operator_at, value, problems.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            errors.invalid(&operator_at, value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        "Lt" | "Gt" if rules.toleration_comparisons => check_number(value, &at.key("value"), errors),
        "Lt" | "Gt" => errors.not_supported(&operator_at, operator, &["Equal", "Exists", "Lt", "Gt"]),
        _ => errors.not_supported(&operator_at, operator, &["Equal", "Exists"]),
    }
}

/// A number that is compared: whole, in its shortest form, of 64 bits.
///
/// Upstream: apimachinery/pkg/api/validate/content/decimal_int.go, IsDecimalInteger (v1.36.4).
fn check_number(value: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    if value.is_empty() {
        errors.invalid(at, value, "must be non-empty");
    } else if value != "0" && (!is_number || digits.starts_with('0')) {
        errors.invalid(at, value, "must be a valid decimal integer in canonical form");
    }
    // Go accepts a plus sign, but no underscores.
    let unsigned = value.strip_prefix(['+', '-']).unwrap_or(value);
    let is_number = !unsigned.is_empty() && unsigned.bytes().all(|it| it.is_ascii_digit());
    if !is_number {
        errors.invalid(at, value, format!("strconv.ParseInt: parsing {}: invalid syntax", quote(value)));
    } else if value.parse::<i64>().is_err() {
        errors.invalid(at, value, format!("strconv.ParseInt: parsing {}: value out of range", quote(value)));
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateTaintEffect (v1.36.4).
pub(crate) fn check_effect(effect: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if !EFFECTS.contains(&effect) {
        errors.not_supported(at, effect, &EFFECTS);
    }
}
