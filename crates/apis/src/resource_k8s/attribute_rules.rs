//! Attributes of devices: one value of one type each.

use keelson_object::{FieldErrors, Map, Path, Value};

use super::forms;
use crate::shared::edit::is_set;
use crate::shared::go_form::{Field, Shape};

const MAX_VALUE: usize = 64;

/// The number of values of an attribute.
///
/// Upstream: pkg/apis/resource/validation/validation.go, numEntriesDeviceAttribute (v1.36.4).
pub(super) fn values(attribute: &Map) -> usize {
    let lists = ["bools", "ints", "strings", "versions"];
    lists.iter().map(|it| attribute.list(it).len()).sum::<usize>().max(1)
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceAttribute (v1.36.4).
pub(super) fn check(attribute: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(text) = attribute.str("string") {
        check_text(text, &at.key("string"), errors);
    }
    if let Some(text) = attribute.str("version") {
        check_version(text, &at.key("version"), errors);
    }
    for field in ["bools", "ints", "strings", "versions"] {
        let Some(items) = attribute.get(field).and_then(Value::as_list) else { continue };
        let at = at.key(field);
        if items.is_empty() {
            errors.invalid(&at, &Value::List(Vec::new()), "must not be empty if specified");
        }
        for (position, text) in items.iter().filter_map(Value::as_str).enumerate() {
            match field {
                "versions" => check_version(text, &at.index(position), errors),
                _ => check_text(text, &at.index(position), errors),
            }
        }
    }
    match forms::ATTRIBUTE.iter().filter(|Field(_, field, _)| is_set(attribute, field)).count() {
        0 => errors.invalid(at, "", "exactly one value must be specified"),
        1 => {}
        _ => errors.invalid(at, Shape(attribute, forms::ATTRIBUTE), "exactly one value must be specified"),
    }
}

fn check_text(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if text.len() > MAX_VALUE {
        errors.too_long(at, MAX_VALUE);
    }
}

fn check_version(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if !is_semantic_version(text) {
        errors.invalid(at, text, "must be a string compatible with semver.org spec 2.0.0");
    }
    check_text(text, at, errors);
}

/// `1.2.3-alpha.1+build.5`.
///
/// Upstream: pkg/apis/resource/validation/validation.go, semverRe (v1.36.4).
fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, stage) = text.split_once('-').map_or((text, None), |(core, stage)| (core, Some(stage)));
    let is_word = |it: &str| !it.is_empty() && it.bytes().all(|it| it == b'-' || it.is_ascii_alphanumeric());
    let is_digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let is_number = |it: &str| !it.is_empty() && is_digits(it) && (it == "0" || !it.starts_with('0'));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && stage.is_none_or(|it| it.split('.').all(|it| is_word(it) && (!is_digits(it) || is_number(it))))
        && build.is_none_or(|it| it.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::is_semantic_version;

    #[test]
    fn a_version_is_a_semantic_one() {
        let check = |text: &str, expected: bool| assert_eq!(is_semantic_version(text), expected, "{text}");
        check("0.0.0", true);
        check("1.22.333", true);
        check("1.2.3-alpha.1", true);
        check("1.2.3-0a", true);
        check("1.2.3--x-.0", true);
        check("1.2.3+001.-", true);
        check("1.2.3-rc1+b-1", true);
        check("1.2", false);
        check("1.2.3.4", false);
        check("1.02.3", false);
        check("v1.2.3", false);
        check("1.2.3-", false);
        check("1.2.3-01", false);
        check("1.2.3-a..b", false);
        check("1.2.3+", false);
        check("1.2.3+a+b", false);
        check("1.2.3-a_b", false);
        check("", false);
    }
}
