//! Parameters of classes for their drivers.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

/// All keys and values together have at most this many bytes.
const SIZE_MAX: usize = 256 * 1024;

/// There are at most this many.
const COUNT_MAX: usize = 512;

/// Checks the driver of a class.
///
/// Upstream: pkg/apis/storage/validation/validation.go, validateProvisioner (v1.36.4).
pub(super) fn check_driver(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let name = name.to_lowercase();
    errors.invalid_each(at, &name, name_rules::qualified_name(&name));
}

/// Checks the parameters of a class.
///
/// Upstream: pkg/apis/storage/validation/validation.go, validateParameters (v1.36.4).
pub(super) fn check(parameters: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let pairs = || parameters.into_iter().flat_map(Map::iter);
    if pairs().count() > COUNT_MAX {
        return errors.too_long(at, COUNT_MAX);
    }
    for (key, _) in pairs().filter(|(key, _)| key.is_empty()) {
        errors.invalid(at, key.as_str(), "field can not be empty.");
    }
    let size: usize = pairs().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > SIZE_MAX {
        errors.too_long(at, SIZE_MAX);
    }
}

/// Whether there are any parameters.
pub(super) fn is_there(parameters: Option<&Value>) -> bool {
    parameters.is_some_and(|it| !it.is_empty())
}
