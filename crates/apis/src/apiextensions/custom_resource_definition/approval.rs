//! Groups of the project itself: who defines a kind in one says who approved it.

use keelson_object::{FieldErrors, Object, Path};

use crate::shared::url;

const ANNOTATION: &str = "api-approved.kubernetes.io";
const ABOUT: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

#[derive(PartialEq, Eq)]
enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, validateAPIApproval (v1.36.4).
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let group = object.fields.map("spec").and_then(|it| it.str("group")).unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let state = approval(object);
    if !is_protected || old.is_some_and(|old| approval(old) == state) {
        return;
    }
    let annotations = Path::root("metadata.annotations");
    let at = annotations.entry(ANNOTATION);
    match state {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => {
            errors.required(
                &at,
                format!("protected groups must have approval annotation {ANNOTATION:?}, {ABOUT}"),
            );
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation {ANNOTATION:?} with either a URL or a reason starting \
                 with \"unapproved\", {ABOUT}"
            );
            errors.invalid(&at, object.meta.annotations.get(ANNOTATION).unwrap_or_default(), detail);
        }
    }
}

/// Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, GetAPIApprovalState (v1.36.4).
fn approval(object: &Object) -> Approval {
    match object.meta.annotations.get(ANNOTATION).unwrap_or_default() {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        text => match url::parse(text) {
            Ok(url) if !url.host.is_empty() && !url.scheme.is_empty() => Approval::Approved,
            _ => Approval::Invalid,
        },
    }
}
