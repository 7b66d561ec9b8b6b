//! Validation of the resource claims of a container.
//!
//! An entry names a claim, or one request of it (`request`). Naming the whole claim after a part, a part
//! after the whole claim, or anything twice is an error.

use std::collections::{HashMap, HashSet};

use keelson_object::field_error::FieldErrorKind;
use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{FieldError, FieldErrors, Path, Value};

/// Upstream: pkg/apis/core/validation/validation.go, validateResourceClaimNames (v1.36.4).
pub(super) fn check(claims: &[Value], known: &HashSet<&str>, at: &Path<'_>, errors: &mut FieldErrors) {
    // By claim, the requests that were named; the whole claim is the empty one.
    let mut named: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (position, claim) in claims.iter().filter_map(Value::as_map).enumerate() {
        let at = at.index(position);
        let name = claim.str("name").unwrap_or_default();
        if name.is_empty() {
            errors.required(&at, "");
            continue;
        }
        let request = claim.str("request").unwrap_or_default();
        let requests = named.entry(name).or_default();
        if requests.contains("") {
            errors.duplicate(&at, name);
        } else {
            if !request.is_empty() {
                errors.invalid_each(&at.key("request"), request, name_rules::dns1123_label(request));
            }
            if request.is_empty() {
                requests.iter().for_each(|_| errors.duplicate(&at, name));
            } else if requests.contains(request) {
                errors.duplicate(&at, format!("{name}/{request}").as_str());
            }
            requests.insert(request);
        }
        if !known.contains(name) {
            errors.push(not_found(name, known, &at));
        }
    }
}

fn not_found(name: &str, known: &HashSet<&str>, at: &Path<'_>) -> FieldError {
    let mut detail = String::from("must be one of the names in pod.spec.resourceClaims");
    if known.is_empty() {
        detail.push_str(" which is empty");
    } else {
        let mut names: Vec<&str> = known.iter().copied().collect();
        names.sort_unstable();
        detail.push_str(": ");
        detail.push_str(&names.join(", "));
    }
    FieldError { kind: FieldErrorKind::NotFound, field: at.to_string(), shown: quote(name), detail }
}
