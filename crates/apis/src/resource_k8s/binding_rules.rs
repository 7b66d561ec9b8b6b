//! Conditions under which a device counts as bound, and those under which binding has failed.

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{is_short, label_name};

const MAX_CONDITIONS: usize = 4;
const CONDITIONS: &str = "bindingConditions";
const FAILURES: &str = "bindingFailureConditions";

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceBindingParameters (v1.36.4).
pub(super) fn check(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (conditions, failures) = (map.list(CONDITIONS), map.list(FAILURES));
    for (field, list) in [(CONDITIONS, conditions), (FAILURES, failures)] {
        if is_short(list, MAX_CONDITIONS, &at.key(field), errors) {
            for (position, name) in list.iter().filter_map(Value::as_str).enumerate() {
                label_name(name, &at.key(field).index(position), errors);
            }
        }
    }
    let (mut bound, mut failed) = (HashSet::new(), HashSet::new());
    for (position, name) in conditions.iter().filter_map(Value::as_str).enumerate() {
        if !bound.insert(name) {
            errors.duplicate(&at.key(CONDITIONS).index(position), name);
        }
    }
    for (position, name) in failures.iter().filter_map(Value::as_str).enumerate() {
        let at = at.key(FAILURES);
        if !failed.insert(name) {
            errors.duplicate(&at.index(position), name);
        }
        if bound.contains(name) {
            let detail = "bindingFailureConditions must not overlap with bindingConditions";
            errors.invalid(&at.index(position), name, detail);
        }
    }
    match (conditions.is_empty(), failures.is_empty()) {
        (true, false) => {
            let detail = "bindingConditions are required to use bindingFailureConditions";
            errors.invalid(&at.key(CONDITIONS), (), detail);
        }
        (false, true) => {
            let detail = "bindingFailureConditions are required to use bindingConditions";
            errors.invalid(&at.key(FAILURES), (), detail);
        }
        _ => {}
    }
}
