//! Validation of resource quantities.

use std::cmp::Ordering;

use keelson_object::scalar::Quantity;
use keelson_object::{FieldErrors, Map, Path};

pub(crate) use crate::shared::pod_template::rules::resources::check_value as check;

/// An amount that must not be negative.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateNonnegativeQuantity (v1.36.4).
pub(crate) fn non_negative(amount: &Quantity, at: &Path<'_>, errors: &mut FieldErrors) {
    if amount.sign() == Ordering::Less {
        errors.invalid(at, format!("{amount}").as_str(), "must be greater than or equal to 0");
    }
}

/// An amount that must be above zero; returns whether it is.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePositiveQuantityValue (v1.36.4).
pub(crate) fn positive(amount: &Quantity, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let is_positive = amount.sign() == Ordering::Greater;
    if !is_positive {
        errors.invalid(at, format!("{amount}").as_str(), "must be greater than zero");
    }
    is_positive
}

/// Checks that a quantity is not negative when it is rounded; returns whether it is valid.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateBasicResource (v1.36.4).
pub(crate) fn basic(amount: &Quantity, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let value = amount.value();
    if value < 0 {
        errors.invalid(at, value, "must be a valid resource quantity");
    }
    value >= 0
}

/// Names and quantities in the list at `key`. Invalid quantities are skipped; the schema check has rejected
/// them.
pub(crate) fn of<'m>(holder: &'m Map, key: &str) -> impl Iterator<Item = (&'m str, Quantity)> {
    let pairs = holder.map(key).into_iter().flat_map(Map::iter);
    pairs.filter_map(|(name, value)| Some((name.as_str(), Quantity::from_value(value).ok()?)))
}

/// One quantity of the list at `key`.
pub(crate) fn one(holder: &Map, key: &str, name: &str) -> Option<Quantity> {
    Quantity::from_value(holder.map(key)?.get(name)?).ok()
}
