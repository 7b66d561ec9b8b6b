//! KubernetesAPIApprovalPolicyConformant: definitions in groups of the Kubernetes project are approved or say that they
//! are not.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/apiapproval/apiapproval_controller.go (v1.36.4).

use keelson_object::scalar::Time;
use keelson_object::{Condition, Map, Object};
use keelson_structural::approval::{ANNOTATION, Approval, is_protected};

use super::{API_APPROVAL, spec};

/// Sets the condition. Says whether anything changed. The group of a definition never changes, so that the condition is
/// never removed.
pub(super) fn update(definition: &Object, status: &mut Map, now: Time) -> bool {
    if !is_protected(spec(definition).str("group").unwrap_or_default()) {
        return false;
    }
    let annotation = definition.meta.annotations.get(ANNOTATION).unwrap_or_default();
    let (approval, message) = Approval::of(annotation);
    let (truth, reason) = match approval {
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    let condition = Condition { kind: API_APPROVAL, status: truth, reason, message };
    !condition.is_in(Some(status)) && condition.set(status, now)
}
