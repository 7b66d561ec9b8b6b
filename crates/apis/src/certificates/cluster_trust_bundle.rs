//! ClusterTrustBundle: authorities to trust.

use std::collections::HashMap;

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, NameRule, Strategy};
use keelson_x509::pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::shared::signer_name;

pub(crate) struct ClusterTrustBundle;

pub(crate) fn columns() -> [Column; 2] {
    [Column::name(), Column::computed("SignerName", shown_signer)]
}

fn signer(object: &Object) -> &str {
    object.fields.map("spec").and_then(|spec| spec.str("signerName")).unwrap_or_default()
}

fn shown_signer(object: &Object) -> Cell {
    match signer(object) {
        "" => Cell::from("<none>"),
        signer => Cell::from(signer),
    }
}

fn bundle(object: &Object) -> &str {
    object.fields.map("spec").and_then(|spec| spec.str("trustBundle")).unwrap_or_default()
}

impl Strategy for ClusterTrustBundle {
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check_names(object, errors);
        check_bundle(bundle(object), errors);
    }

    /// A bundle that stays is not read again.
    ///
    /// Upstream: pkg/apis/certificates/validation/validation.go, ValidateClusterTrustBundleUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check_names(object, errors);
        if bundle(object) != bundle(old) {
            check_bundle(bundle(object), errors);
        }
        if signer(object) != signer(old) {
            errors.invalid(&Path::root("spec.signerName"), signer(object), "field is immutable");
        }
    }

    /// The rule for names depends on the signer; see `validate`.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}

const MAX_BUNDLE: usize = 1024 * 1024;

fn check_names(object: &Object, errors: &mut FieldErrors) {
    let name = object.meta.name.as_str();
    errors.invalid_each(&Path::root("metadata").key("name"), name, name_errors(name, signer(object)));
    if !signer(object).is_empty() {
        signer_name::check(signer(object), &Path::root("spec.signerName"), errors);
    }
}

/// Upstream: pkg/apis/certificates/validation/validation.go, validateTrustBundle (v1.36.4).
fn check_bundle(text: &str, errors: &mut FieldErrors) {
    let at = Path::root("spec.trustBundle");
    if text.len() > MAX_BUNDLE {
        return errors.too_long(&at, MAX_BUNDLE);
    }
    let mut wrong = |detail: String| errors.invalid(&at, "<value omitted>", detail);
    let mut places: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    let mut is_fine = true;
    for (index, block) in pem::blocks(text).enumerate() {
        match block_problem(&block) {
            Some(problem) => {
                is_fine = false;
                wrong(format!("entry {index} {problem}"));
            }
            None => places.entry(block.bytes).or_default().push(index),
        }
    }
    if !is_fine {
        return;
    }
    if places.is_empty() {
        wrong("at least one trust anchor must be provided".to_owned());
    }
    let mut twice: Vec<Vec<usize>> = places.into_values().filter(|it| it.len() > 1).collect();
    twice.sort();
    for indices in twice {
        let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
        wrong(format!("duplicate trust anchor (indices [{}])", indices.join(" ")));
    }
}

fn block_problem(block: &pem::Block<'_>) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.label));
    }
    if block.has_headers {
        return Some("has PEM block headers".to_owned());
    }
    match X509Certificate::from_der(&block.bytes) {
        Ok((&[], certificate)) if certificate.is_ca() => None,
        Ok((&[], _)) => Some("does not have the CA bit set".to_owned()),
        _ => Some("does not parse as X.509".to_owned()),
    }
}

/// Upstream: pkg/apis/core/validation/names.go, ValidateClusterTrustBundleName (v1.36.4).
fn name_errors(name: &str, signer: &str) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return name_rules::dns1123_subdomain(name);
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => name_rules::dns1123_subdomain(rest),
        None => {
            vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClusterTrustBundle, columns, name_errors};
    use crate::shared::testing::{cells, decoded};

    fn bundle(name: &str, signer: &str) -> String {
        format!(
            r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"signerName": "{signer}", "trustBundle": "x"}}}}"#
        )
    }

    #[test]
    fn names_begin_with_the_signer() {
        assert_eq!(name_errors("a.b", ""), [""; 0]);
        assert_eq!(name_errors("a.b:c:d", "a.b/c"), [""; 0]);
        assert_eq!(
            name_errors("a:b", ""),
            ["ClusterTrustBundle without signer name must not have \":\" in its name"]
        );
        assert_eq!(
            name_errors("d", "a.b/c"),
            ["ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"]
        );
    }

    #[test]
    fn the_signer_is_shown() {
        let kind = "certificates.k8s.io/v1beta1 ClusterTrustBundle";
        let shown = |signer| cells(&columns(), &decoded(&ClusterTrustBundle, kind, &bundle("a", signer)));
        assert_eq!(shown(""), ["a", "<none>"]);
        assert_eq!(shown("a.b/c"), ["a", "a.b/c"]);
    }
}
