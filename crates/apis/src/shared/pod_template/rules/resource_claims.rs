//! The claims of devices that a pod has.

use std::collections::HashSet;

use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, ObjectMeta, Path};

use super::annotations::MIRROR;

/// Checks the claims and returns their names.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodResourceClaims (v1.36.4).
pub(super) fn check<'s>(
    spec: &'s Map,
    pod: Option<&ObjectMeta>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> HashSet<&'s str> {
    let is_mirror = pod.is_some_and(|pod| pod.annotations.get(MIRROR).is_some());
    let mut names = HashSet::new();
    for (position, claim) in spec.maps("resourceClaims").enumerate() {
        let name = claim.str("name").unwrap_or_default();
        let is_new = !name.is_empty() && names.insert(name);
        if is_mirror {
            // Upstream reports this at a path whose only element has no name.
            errors.forbidden(&Path::root("[]"), "static pods do not support resource claims");
            continue;
        }
        let at = at.index(position);
        if name.is_empty() {
            errors.required(&at.key("name"), "");
        } else if is_new {
            errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name));
        } else {
            errors.duplicate(&at.key("name"), name);
        }
        check_source(claim, &at, errors);
    }
    names
}

/// A claim that is there, or a template of one: not both.
fn check_source(claim: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (by_name, by_template) = (claim.str("resourceClaimName"), claim.str("resourceClaimTemplateName"));
    match (by_name, by_template) {
        (Some(_), Some(_)) => {
            let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid_as(at, shown(claim), detail);
        }
        (None, None) => {
            let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.invalid_as(at, shown(claim), detail);
        }
        _ => {}
    }
    for (field, name) in [("resourceClaimName", by_name), ("resourceClaimTemplateName", by_template)] {
        let name = name.unwrap_or_default();
        if claim.str(field).is_some() {
            errors.invalid_each(&at.key(field), name, name_rules::dns1123_subdomain(name));
        }
    }
}

/// A claim as upstream shows it.
fn shown(claim: &Map) -> String {
    let or_null = |field| claim.str(field).map_or_else(|| "null".to_owned(), quote);
    format!(
        "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
        quote(claim.str("name").unwrap_or_default()),
        or_null("resourceClaimName"),
        or_null("resourceClaimTemplateName"),
    )
}
