//! Strings and lists of strings, for validation.

use keelson_object::{FieldErrors, Path, Value};

/// Whether `text` is one of `items`.
pub(crate) fn is_listed(items: &[Value], text: &str) -> bool {
    items.iter().any(|it| it.as_str() == Some(text))
}

/// Tells all that is wrong with a text in one message.
pub(crate) fn check_joined(text: &str, problems: &[String], at: &Path<'_>, errors: &mut FieldErrors) {
    if !problems.is_empty() {
        errors.invalid(at, text, problems.join(","));
    }
}
