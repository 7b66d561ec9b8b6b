//! Mistakes of a whole that is not shown.

use keelson_object::field_error::FieldErrorKind;
use keelson_object::{FieldError, FieldErrors, Path};

/// Reports an invalid value at `at` without showing it.
///
/// Upstream: apimachinery/pkg/util/validation/field/errors.go, OmitValueType (v1.36.4).
pub(crate) fn invalid(at: &Path<'_>, detail: impl Into<String>, errors: &mut FieldErrors) {
    errors.push(FieldError {
        kind: FieldErrorKind::Invalid,
        field: at.to_string(),
        shown: String::new(),
        detail: detail.into(),
    });
}
