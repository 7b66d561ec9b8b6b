//! Fields that stay as they are.

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::as_json;
use crate::shared::read::same;

/// What upstream says of a field that must not change.
pub(crate) const IMMUTABLE: &str = "field is immutable";

/// The field `key` is what it was.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn check(new: &Map, old: &Map, key: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check_shown(new, old, key, (at, |value| as_json(value)), errors);
}

/// The same for a field that upstream prints in a form of its own.
pub(crate) fn check_shown(
    new: &Map,
    old: &Map,
    key: &str,
    (at, shown): (&Path<'_>, impl Fn(&Value) -> String),
    errors: &mut FieldErrors,
) {
    if !same(new, old, key) {
        let value = new.get(key).unwrap_or(&Value::Null);
        errors.invalid_as(&at.key(key), shown(value), IMMUTABLE);
    }
}
