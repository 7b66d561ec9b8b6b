//! Counts that controllers report in the status.

use keelson_object::{FieldErrors, Map, Path};

use crate::shared::read::number;

/// Checks that none of these fields is negative.
pub(crate) fn check_non_negative(holder: &Map, fields: &[&str], at: &Path<'_>, errors: &mut FieldErrors) {
    for field in fields {
        errors.non_negative(&at.key(field), holder.int(field));
    }
}

/// None of these fields of a status is larger than `limit`; `named` is how messages call that.
pub(crate) fn check_at_most(
    status: &Map,
    fields: &[&str],
    (limit, named): (&str, &str),
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    for field in fields {
        if number(status, field) > number(status, limit) {
            errors.invalid(&at.key(field), number(status, field), format!("cannot be greater than {named}"));
        }
    }
}

/// Collisions of names are only ever counted up.
///
/// Upstream: pkg/apis/core/validation/validation.go, IsDecremented (v1.36.4).
pub(crate) fn check_collisions(status: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const FIELD: &str = "collisionCount";
    let is_decremented = match (status.int(FIELD), old.int(FIELD)) {
        (None, Some(_)) => true,
        (Some(new), Some(old)) => new < old,
        (_, None) => false,
    };
    if is_decremented {
        errors.invalid(&at.key(FIELD), number(status, FIELD), "cannot be decremented");
    }
}
