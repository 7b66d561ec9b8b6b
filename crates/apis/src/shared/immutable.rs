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

/// Whether the same is said in both; what is not there is the same as what is empty.
///
/// Upstream: apimachinery/pkg/api/equality/semantic.go, Semantic (v1.36.4).
pub(crate) fn is_same(new: Option<&Value>, old: Option<&Value>) -> bool {
    let there = |value: Option<&Value>| value.is_some_and(|it| !it.is_empty());
    match (there(new), there(old)) {
        (true, true) => new == old,
        (new, old) => new == old,
    }
}

/// Checks that the text at `key` has not changed.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn text(key: &str, new: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (new, old) = (new.str(key).unwrap_or_default(), old.str(key).unwrap_or_default());
    if new != old {
        errors.invalid(at, new, IMMUTABLE);
    }
}

/// Checks that a value that may be absent has not changed; shown as it is on the wire.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4).
pub(crate) fn value(new: Option<&Value>, old: Option<&Value>, at: &Path<'_>, errors: &mut FieldErrors) {
    let (new, old) = (new.unwrap_or(&Value::Null), old.unwrap_or(&Value::Null));
    if new != old {
        errors.invalid(at, new, IMMUTABLE);
    }
}
