//! Conditions of the form that all newer kinds share.

use std::collections::HashSet;

use keelson_object::selector::name_rules::qualified_name;
use keelson_object::{FieldErrors, Map, Path, Value};

const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

const REASON_RULE: &str = "a condition reason must start with alphabetic character, optionally followed by a string \
    of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
    'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
    '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateConditions (v1.36.4).
pub(crate) fn check(conditions: &[Value], at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (position, condition) in conditions.iter().enumerate() {
        let Some(condition) = condition.as_map() else { continue };
        let at = at.index(position);
        let name = condition.str("type").unwrap_or_default();
        if !seen.insert(name) {
            errors.duplicate(&at.key("type"), name);
        }
        check_one(condition, &at, errors);
    }
}

fn check_one(condition: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |key: &str| condition.str(key).unwrap_or_default();
    errors.invalid_each(&at.key("type"), text("type"), qualified_name(text("type")));
    if !matches!(text("status"), "True" | "False" | "Unknown") {
        errors.not_supported(&at.key("status"), text("status"), &["False", "True", "Unknown"]);
    }
    let generation = condition.int("observedGeneration").unwrap_or_default();
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        errors.invalid(&at.key("observedGeneration"), generation, detail);
    }
    if text("lastTransitionTime").is_empty() {
        errors.required(&at.key("lastTransitionTime"), "");
    }
    let reason = text("reason");
    if reason.is_empty() {
        errors.required(&at.key("reason"), "");
    } else if !is_reason(reason) {
        errors.invalid(&at.key("reason"), reason, REASON_RULE);
    }
    if reason.len() > MAX_REASON {
        errors.too_long(&at.key("reason"), MAX_REASON);
    }
    if text("message").len() > MAX_MESSAGE {
        errors.too_long(&at.key("message"), MAX_MESSAGE);
    }
}

fn is_reason(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (bytes, last) = (text.as_bytes(), text.bytes().last());
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && last.is_some_and(is_word)
        && bytes.iter().all(|&byte| is_word(byte) || matches!(byte, b',' | b':'))
}

#[cfg(test)]
mod tests {
    use super::is_reason;

    #[test]
    fn a_reason_is_a_word_or_several() {
        let check = |text: &str, expected: bool| assert_eq!(is_reason(text), expected, "{text:?}");
        check("Ready", true);
        check("A", true);
        check("A,B:c_1_", true);
        check("", false);
        check("1a", false);
        check("a,", false);
        check("a b", false);
        check("a-b", false);
    }
}
