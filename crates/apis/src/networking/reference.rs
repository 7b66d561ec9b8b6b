//! References to objects of any kind in the same namespace.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use crate::shared::read::text;

/// Upstream: pkg/apis/networking/validation/validation.go, validateIngressTypedLocalObjectReference (v1.36.4).
pub(super) fn check(reference: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(group) = reference.str("apiGroup") {
        errors.invalid_each(&at.key("apiGroup"), group, name_rules::dns1123_subdomain(group));
    }
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => errors.required(&at.key(field), ""),
            word => errors.invalid_each(&at.key(field), word, name_rules::path_segment_name(word)),
        }
    }
}
