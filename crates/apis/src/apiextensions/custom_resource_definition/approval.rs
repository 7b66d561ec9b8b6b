//! API approval: definitions in groups of the Kubernetes project need an approval annotation.

use keelson_object::{FieldErrors, Object, Path};
use keelson_structural::approval::{ANNOTATION, Approval, is_protected};

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, validateAPIApproval (v1.36.4).
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let group = object.fields.map("spec").and_then(|it| it.str("group")).unwrap_or_default();
    let annotation = |object: &Object| object.meta.annotations.get(ANNOTATION).unwrap_or_default().to_owned();
    let text = annotation(object);
    let (approval, reason) = Approval::of(&text);
    if !is_protected(group) || old.is_some_and(|old| Approval::of(&annotation(old)).0 == approval) {
        return;
    }
    let annotations = Path::root("metadata.annotations");
    let at = annotations.entry(ANNOTATION);
    match approval {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => errors.required(&at, reason),
        Approval::Invalid => errors.invalid(&at, text.as_str(), reason),
    }
}
