//! Fields that never change.

use keelson_object::{FieldErrors, Object, Path, Value};

/// Reports `field` if it is not what it was.
///
/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, ValidateImmutableField (v1.36.4), which shows the field as
/// Go names its parts.
pub(crate) fn check(object: &Object, old: &Object, field: &str, errors: &mut FieldErrors) {
    let (now, before) = (object.fields.get(field), old.fields.get(field));
    if now != before {
        errors.invalid(&Path::root(field), now.unwrap_or(&Value::Null), "field is immutable");
    }
}
