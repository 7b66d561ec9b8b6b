//! Names of storage drivers.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Path};

/// The longest name.
const MAX: usize = 63;

/// Checks the name of a driver, for which the case of letters does not count.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateCSIDriverName (v1.36.4).
pub(crate) fn check(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    if name.len() > MAX {
        errors.too_long(at, MAX);
    }
    errors.invalid_each(at, name, name_rules::dns1123_subdomain(&name.to_lowercase()));
}
