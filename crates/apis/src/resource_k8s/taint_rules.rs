//! Validation of device taints and device selectors.

use keelson_object::selector::name_rules::label_value;
use keelson_object::{FieldErrors, Map, Path};

use super::rules::{driver, label_name, plain_name, pool};

/// The effects of a taint.
pub(super) const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// An unchanged effect is not validated again.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceTaint (v1.36.4).
pub(super) fn check(taint: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    label_name(taint.str("key").unwrap_or_default(), &at.key("key"), errors);
    let value = taint.str("value").unwrap_or_default();
    if !value.is_empty() {
        errors.invalid_each(&at.key("value"), value, label_value(value));
    }
    let effect = taint.str("effect").unwrap_or_default();
    if old.is_some_and(|it| it.str("effect").unwrap_or_default() == effect) {
        return;
    }
    match effect {
        "" => errors.required(&at.key("effect"), ""),
        effect if !EFFECTS.contains(&effect) => errors.not_supported(&at.key("effect"), effect, &EFFECTS),
        _ => {}
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceTaintSelector (v1.36.4).
pub(super) fn check_selector(selector: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(name) = selector.str("driver") {
        driver(name, &at.key("driver"), errors);
    }
    if let Some(name) = selector.str("pool") {
        pool(name, &at.key("pool"), errors);
    }
    if let Some(name) = selector.str("device") {
        plain_name(name, &at.key("device"), errors);
    }
}
