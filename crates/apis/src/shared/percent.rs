//! Amounts that are numbers or percentages: `3`, `25%`.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Path, Value};

use crate::shared::go_number::{NoNumber, atoi};

/// An amount must not be negative, and text must be a percentage.
///
/// Upstream: pkg/apis/apps/validation/validation.go, ValidatePositiveIntOrPercent (v1.36.4).
pub(crate) fn check(value: &Value, at: &Path<'_>, errors: &mut FieldErrors) {
    match value {
        Value::String(text) if is_percent(text) => {}
        Value::String(text) => {
            name_rules::percent(text).into_iter().for_each(|message| errors.invalid(at, value, message));
        }
        _ => errors.non_negative(at, value.as_int()),
    }
}

/// Checks that a percentage is not more than 100.
///
/// Upstream: pkg/apis/apps/validation/validation.go, IsNotMoreThan100Percent (v1.36.4).
pub(crate) fn check_not_more_than_all(value: &Value, at: &Path<'_>, errors: &mut FieldErrors) {
    if percent(value).is_some_and(|percent| percent > 100) {
        errors.invalid(at, value, "must not be greater than 100%");
    }
}

/// The number before the `%`, or the number itself; 0 for a text that is not a number.
///
/// Upstream: pkg/apis/apps/validation/validation.go, getIntOrPercentValue (v1.36.4).
pub(crate) fn amount(value: &Value) -> i64 {
    let number = || value.as_int().or_else(|| Some(lenient(value.as_str()?)));
    percent(value).or_else(number).unwrap_or_default()
}

fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str().filter(|text| is_percent(text))?;
    Some(lenient(text.trim_end_matches('%')))
}

/// Like Go, returns the nearest number for one out of range, and zero for a text that is not a number.
fn lenient(text: &str) -> i64 {
    match atoi(text) {
        Ok(number) | Err(NoNumber::Range(number)) => number,
        Err(NoNumber::Syntax) => 0,
    }
}

fn is_percent(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::amount;
    use keelson_object::Value;

    #[test]
    fn amounts_are_what_stands_before_the_sign() {
        let check = |text: &str, expected: i64| assert_eq!(amount(&Value::from(text)), expected, "{text}");
        check("25%", 25);
        check("99999999999999999999%", i64::MAX);
        check("7", 7);
        check("-99999999999999999999", i64::MIN);
        check("a%", 0);
        check("%", 0);
        assert_eq!(amount(&Value::Int(3)), 3);
    }
}
