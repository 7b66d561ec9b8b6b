//! Conditions: what is true of an object, why, and since when.

use std::collections::HashSet;

use keelson_object::scalar::Time;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const REASON_MAX: usize = 1024;
const MESSAGE_MAX: usize = 32 * 1024;

/// Checks the conditions of a status.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateConditions (v1.36.4).
pub(crate) fn check<'c>(
    conditions: impl Iterator<Item = &'c Map>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut types = HashSet::new();
    for (position, condition) in conditions.enumerate() {
        let at = at.index(position);
        let kind = condition.str("type").unwrap_or_default();
        if !types.insert(kind) {
            errors.duplicate(&at.key("type"), kind);
        }
        check_one(condition, &at, errors);
    }
}

fn check_one(condition: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |field| condition.str(field).unwrap_or_default();
    let (kind, status, reason) = (text("type"), text("status"), text("reason"));
    errors.invalid_each(&at.key("type"), kind, name_rules::qualified_name(kind));
    if !STATUSES.contains(&status) {
        errors.not_supported(&at.key("status"), status, &STATUSES);
    }
    if let Some(generation) = condition.int("observedGeneration").filter(|it| *it < 0) {
        errors.invalid(&at.key("observedGeneration"), generation, "must be greater than or equal to zero");
    }
    if Time::parse(text("lastTransitionTime")).map_or(true, Time::is_zero) {
        errors.required(&at.key("lastTransitionTime"), "");
    }
    let reason_at = at.key("reason");
    if reason.is_empty() {
        errors.required(&reason_at, "");
    } else if !is_reason(reason) {
        let detail = "a condition reason must start with alphabetic character, optionally followed by a string of \
            alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
            'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
            '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
        errors.invalid(&reason_at, reason, detail);
    }
    if reason.len() > REASON_MAX {
        errors.too_long(&reason_at, REASON_MAX);
    }
    if text("message").len() > MESSAGE_MAX {
        errors.too_long(&at.key("message"), MESSAGE_MAX);
    }
}

fn is_reason(text: &str) -> bool {
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| is_word(byte) || matches!(byte, b',' | b':'))
        && text.bytes().last().is_some_and(is_word)
}
