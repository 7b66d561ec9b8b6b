//! ClusterTrustBundle: authorities to trust.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, NameRule, Strategy};

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

impl Strategy for ClusterTrustBundle {
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let name = object.meta.name.as_str();
        for message in name_errors(name, signer(object)) {
            errors.invalid(&Path::root("metadata").key("name"), name, message);
        }
    }

    /// What a name must look like depends on the signer; see `validate`.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateClusterTrustBundleName (v1.36.4).
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
    use super::{ClusterTrustBundle, columns};
    use crate::shared::testing::{cells, decoded, errors_of};

    fn bundle(name: &str, signer: &str) -> String {
        format!(
            r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"signerName": "{signer}", "trustBundle": "x"}}}}"#
        )
    }

    #[track_caller]
    fn check(name: &str, signer: &str, expected: &[&str]) {
        for version in ["v1beta1", "v1alpha1"] {
            let kind = format!("certificates.k8s.io/{version} ClusterTrustBundle");
            assert_eq!(errors_of(&ClusterTrustBundle, &kind, &bundle(name, signer)), expected);
        }
    }

    #[test]
    fn names_begin_with_the_signer() {
        check("a.b", "", &[]);
        check("a.b:c:d", "a.b/c", &[]);
        check(
            "a:b",
            "",
            &[
                "metadata.name: Invalid value: \"a:b\": ClusterTrustBundle without signer name must not have \":\" in \
               its name",
            ],
        );
        check(
            "d",
            "a.b/c",
            &[
                "metadata.name: Invalid value: \"d\": ClusterTrustBundle for signerName a.b/c must be named with \
               prefix a.b:c:",
            ],
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
