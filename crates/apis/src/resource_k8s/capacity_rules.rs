//! Validation of device capacities and request policies.

use keelson_object::scalar::Quantity;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{is_short, repeated};

const MAX_VALUES: usize = 10;

/// Whether a device can be allocated to several claims.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    One,
    Many,
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateMultiAllocatableDeviceCapacity and
/// validateSingleAllocatableDeviceCapacity (v1.36.4).
pub(super) fn check(capacity: &Map, sharing: Sharing, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(policy) = capacity.map("requestPolicy") else { return };
    let at = at.key("requestPolicy");
    if sharing == Sharing::One {
        return errors.forbidden(&at, "allowMultipleAllocations must be true");
    }
    let all = quantity(capacity.get("value")).unwrap_or_default();
    let (values, range) = (policy.list("validValues"), policy.map("validRange"));
    let default = quantity(policy.get("default"));
    match (values, range, default) {
        ([], None, _) => {}
        ([_, ..], Some(_), _) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" \
                at the same time";
            errors.forbidden(&at, detail);
        }
        ([_, ..], None, None) => errors.required(&at.key("default"), "required when validValues is defined"),
        ([], Some(_), None) => errors.required(&at.key("default"), "required when validRange is defined"),
        (values, None, Some(default)) => {
            check_values(values, &Wanted { default, all }, &at.key("validValues"), errors);
        }
        (_, Some(range), Some(default)) => {
            check_range(range, &Wanted { default, all }, &at.key("validRange"), errors);
        }
    }
}

/// The default request, and the capacity.
struct Wanted {
    default: Quantity,
    all: Quantity,
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value.filter(|it| !it.is_null()).and_then(|it| Quantity::from_value(it).ok())
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateRequestPolicyValidValues (v1.36.4).
fn check_values(values: &[Value], wanted: &Wanted, at: &Path<'_>, errors: &mut FieldErrors) {
    let amounts: Vec<Quantity> = values.iter().map(|it| quantity(Some(it)).unwrap_or_default()).collect();
    for (position, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let shown = pair[1].to_string();
            let detail = "values must be sorted in ascending order";
            errors.invalid(&at.index(position + 1), shown.as_str(), detail);
        }
    }
    let mut is_default_there = false;
    if is_short(values, MAX_VALUES, at, errors) {
        for (position, amount) in amounts.iter().enumerate() {
            if *amount > wanted.all {
                let detail = format!("option is larger than capacity value: {}", wanted.all);
                errors.invalid(&at.index(position), amount.to_string().as_str(), detail);
            }
            is_default_there |= *amount == wanted.default;
        }
        let whole = |it| quantity(Some(it)).unwrap_or_default().value();
        for (position, value) in repeated(values, whole) {
            errors.duplicate(&at.index(position), whole(value).to_string().as_str());
        }
    }
    if !is_default_there {
        let shown = wanted.default.to_string();
        errors.invalid(at, shown.as_str(), "default value is not valid according to the requestPolicy");
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateRequestPolicyRange (v1.36.4).
fn check_range(range: &Map, wanted: &Wanted, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(min) = quantity(range.get("min")) else {
        return errors.required(&at.key("min"), "required when validRange is defined");
    };
    let (default, all) = (&wanted.default, &wanted.all);
    let mut report = |field: &str, shown: &Quantity, detail: String| {
        errors.invalid(&at.key(field), shown.to_string().as_str(), detail);
    };
    if min > *all {
        report("min", &min, format!("min is larger than capacity value: {all}"));
    }
    if *default < min {
        report("min", default, format!("default is less than min: {min}"));
    }
    let max = quantity(range.get("max"));
    if let Some(max) = &max {
        if min > *max {
            report("max", &min, format!("min is larger than max: {max}"));
        }
        if max > all {
            report("max", max, format!("max is larger than capacity value: {all}"));
        }
        if default > max {
            report("max", default, format!("default is more than max: {max}"));
        }
    }
    let Some(step) = quantity(range.get("step")) else { return };
    let mut first = min.clone();
    first.add(&step);
    if first > *all {
        report("step", &step, format!("one step {first} is larger than capacity value: {all}"));
    }
    for value in [Some(default), max.as_ref()].into_iter().flatten() {
        if !is_on_step(value, &min, &step) {
            let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
            report("step", value, detail);
        }
    }
}

/// No value is on a step of zero; upstream fails there.
fn is_on_step(value: &Quantity, min: &Quantity, step: &Quantity) -> bool {
    let added = value.value().wrapping_sub(min.value());
    step.value() != 0 && added.wrapping_rem(step.value()) == 0
}
