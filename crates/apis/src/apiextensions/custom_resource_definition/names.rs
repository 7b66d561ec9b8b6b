//! Names of a custom resource: in the spec, and those that were accepted.

use keelson_object::selector::name_rules::dns1035_label;
use keelson_object::{FieldErrors, Map, Path};

use crate::shared::strings::check_joined;

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// ValidateCustomResourceDefinitionNames (v1.36.4).
pub(super) fn check(names: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| names.str(name).unwrap_or_default();
    for name in ["plural", "singular"] {
        check_label(field(name), &at.key(name), errors);
    }
    for name in ["kind", "listKind"] {
        let kind = field(name);
        let problems = dns1035_label(&kind.to_lowercase());
        if !kind.is_empty() && !problems.is_empty() {
            let detail = "may have mixed case, but should otherwise match: ";
            errors.invalid(&at.key(name), kind, format!("{detail}{}", problems.join(",")));
        }
    }
    check_labels(names, "shortNames", at, errors);
    if !field("kind").is_empty() && field("kind") == field("listKind") {
        errors.invalid(&at.key("listKind"), field("listKind"), "kind and listKind may not be the same");
    }
    check_labels(names, "categories", at, errors);
}

fn check_labels(names: &Map, list: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key(list);
    for (index, name) in names.strings(list).enumerate() {
        check_joined(name, &dns1035_label(name), &at.index(index), errors);
    }
}

/// A label, if it is there.
fn check_label(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if !name.is_empty() {
        check_joined(name, &dns1035_label(name), at, errors);
    }
}
