//! Names of signers: `example.com/signer`.

use keelson_object::selector::name_rules::{
    DNS_LABEL_MAX, DNS_SUBDOMAIN_MAX, dns1123_label, dns1123_subdomain,
};
use keelson_object::{FieldErrors, Path};

/// A domain, a slash, and a path that has room for a namespace and a name.
const SIGNER_MAX: usize = DNS_SUBDOMAIN_MAX + 1 + DNS_SUBDOMAIN_MAX + DNS_LABEL_MAX + 1;

/// Checks the name of a signer.
///
/// Upstream: pkg/apis/core/validation/names.go, ValidateSignerName (v1.36.4).
pub(crate) fn check(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let (domain, path) = match name.split_once('/') {
        Some((domain, path)) if !path.contains('/') => (domain, path),
        _ => {
            let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            return errors.invalid(at, name, detail);
        }
    };
    if domain.len() > DNS_SUBDOMAIN_MAX {
        errors.too_long(at, DNS_SUBDOMAIN_MAX);
    }
    check_labels(domain, dns1123_label, at, errors);
    if !domain.contains('.') {
        errors.invalid(at, domain, "should be a domain with at least two segments separated by dots");
    }
    check_labels(path, dns1123_subdomain, at, errors);
    if name.len() > SIGNER_MAX {
        errors.too_long(at, SIGNER_MAX);
    }
}

/// Reports only the first invalid label: the messages about others would be the same.
fn check_labels(text: &str, rule: fn(&str) -> Vec<String>, at: &Path<'_>, errors: &mut FieldErrors) {
    for label in text.split('.') {
        let problems = rule(label);
        if !problems.is_empty() {
            let detail = |it| format!("validating label {label:?}: {it}");
            return errors.invalid_each(at, text, problems.into_iter().map(detail));
        }
    }
}

/// Whether the signer belongs to the Kubernetes project.
///
/// Upstream: pkg/apis/core/validation/names.go, IsKubernetesSignerName (v1.36.4).
pub(crate) fn is_kubernetes(name: &str) -> bool {
    let domain = name.split_once('/').map_or(name, |(domain, _)| domain);
    domain == "kubernetes.io" || domain.ends_with(".kubernetes.io")
}
