//! Required strings, which must be present and not empty.

use keelson_object::{FieldErrors, Map, Path};

/// Checks a name that must be there, by its rule.
pub(crate) fn name(
    holder: &Map,
    field: &str,
    rule: fn(&str) -> Vec<String>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    match holder.str(field).unwrap_or_default() {
        "" => errors.required(&at.key(field), ""),
        name => errors.invalid_each(&at.key(field), name, rule(name)),
    }
}
