//! Domain-prefixed paths: `acme.io/foo`.

use crate::selector::name_rules;
use crate::{FieldErrors, Path};

/// The characters of a path.
const PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

/// Checks that a text is a DNS subdomain, a slash, and a path.
///
/// Upstream: apimachinery/pkg/util/validation/validation.go, IsDomainPrefixedPath (v1.36.4).
pub fn check(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if text.is_empty() {
        return errors.required(at, "");
    }
    let (domain, path) = match text.split_once('/') {
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => (domain, path),
        _ => return errors.invalid(at, text, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    };
    errors.invalid_each(at, domain, name_rules::dns1123_subdomain(domain));
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(fits) {
        errors.invalid(at, path, format!("Invalid path (regex used for validation is '{PATH}')"));
    }
}
