//! Conditions as many kinds have them: a type, a status, a time, a reason, a message.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateConditions (v1.36.4).

use std::collections::HashSet;

use keelson_object::selector::name_rules::{pattern_message, qualified_name};
use keelson_object::{FieldErrors, Map, Path, Value};

pub(crate) use keelson_object::condition::status_of;

const MAX_REASON: usize = 1024;
const MAX_MESSAGE: usize = 32 * 1024;

/// Checks a list of conditions, which stands at `at`.
pub(crate) fn check(conditions: &[Value], at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (index, condition) in conditions.iter().filter_map(Value::as_map).enumerate() {
        let at = at.index(index);
        let kind = condition.str("type").unwrap_or_default();
        if !seen.insert(kind) {
            errors.duplicate(&at.key("type"), kind);
        }
        check_one(condition, &at, errors);
    }
}

fn check_one(condition: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| condition.str(name).unwrap_or_default();
    errors.invalid_each(&at.key("type"), field("type"), qualified_name(field("type")));
    if !matches!(field("status"), "True" | "False" | "Unknown") {
        errors.not_supported(&at.key("status"), field("status"), &["False", "True", "Unknown"]);
    }
    let generation = condition.int("observedGeneration").unwrap_or_default();
    if generation < 0 {
        errors.invalid(&at.key("observedGeneration"), generation, "must be greater than or equal to zero");
    }
    if field("lastTransitionTime").is_empty() {
        errors.required(&at.key("lastTransitionTime"), "");
    }
    let reason = field("reason");
    if reason.is_empty() {
        errors.required(&at.key("reason"), "");
    } else {
        if !is_reason(reason) {
            let message = "a condition reason must start with alphabetic character, optionally followed by a string \
                of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
            let examples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
            let detail = pattern_message(message, "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", &examples);
            errors.invalid(&at.key("reason"), reason, detail);
        }
        if reason.len() > MAX_REASON {
            errors.too_long(&at.key("reason"), MAX_REASON);
        }
    }
    if field("message").len() > MAX_MESSAGE {
        errors.too_long(&at.key("message"), MAX_MESSAGE);
    }
}

/// `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?`
fn is_reason(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::is_reason;

    #[test]
    fn a_reason_is_a_word() {
        for good in ["A", "my_name", "ReasonA,ReasonB", "A:B_"] {
            assert!(is_reason(good), "{good}");
        }
        for bad in ["", "_a", "1a", "a b", "a,", "a-b"] {
            assert!(!is_reason(bad), "{bad}");
        }
    }
}
