//! Terminating: the condition of a definition that is being deleted, and the finalizer that it waits for.
//!
//! The deletion of a definition writes the first condition, the controller that deletes the objects writes the others.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go, Delete;
//! apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go (v1.36.4).

use std::fmt::Display;

use keelson_object::Condition;

/// The finalizer that a definition has until its objects are deleted.
pub const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The type of the condition.
pub const TERMINATING: &str = "Terminating";

fn condition(status: &'static str, reason: &'static str, message: impl Into<String>) -> Condition {
    Condition { kind: TERMINATING, status, reason, message: message.into() }
}

/// The definition was deleted.
pub fn pending() -> Condition {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    condition("True", "InstanceDeletionPending", message)
}

/// The deletion of the objects begins.
pub fn in_progress() -> Condition {
    condition("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
}

/// The objects could not be listed.
pub fn list_failed(error: impl Display) -> Condition {
    condition("True", "InstanceDeletionFailed", format!("could not list instances: {error}"))
}

/// Not all objects could be deleted. `error` is the aggregate of all errors.
pub fn delete_failed(error: impl Display) -> Condition {
    condition("True", "InstanceDeletionFailed", format!("could not issue all deletes: {error}"))
}

/// Objects may be left, for example because of their finalizers.
pub fn unconfirmed(error: impl Display) -> Condition {
    let message = format!("could not confirm zero CustomResources remaining: {error}");
    condition("True", "InstanceDeletionCheck", message)
}

/// All objects are deleted.
pub fn completed() -> Condition {
    condition("False", "InstanceDeletionCompleted", "removed all instances")
}

/// There were no objects, because the definition was never served.
pub fn never_established() -> Condition {
    condition("False", "NeverEstablished", "resource was never established")
}

/// The objects belong to a built-in resource and stay.
pub fn overlapping_built_in() -> Condition {
    let message = "instances overlap with built-in resources in storage";
    condition("False", "OverlappingBuiltInResource", message)
}

/// Whether the objects of a resource lie in the store where those of a built-in one lie.
///
/// Upstream: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go, OverlappingBuiltInResources (v1.36.4).
pub fn overlaps_built_in(group: &str, plural: &str) -> bool {
    matches!(
        (group, plural),
        ("apiregistration.k8s.io", "apiservices") | ("apiextensions.k8s.io", "customresourcedefinitions")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_the_words_of_upstream() {
        let check = |found: Condition, expected: [&str; 3]| {
            assert_eq!(found.kind, "Terminating");
            assert_eq!([found.status, found.reason, &found.message], expected);
        };
        let pending_text =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        check(pending(), ["True", "InstanceDeletionPending", pending_text]);
        check(
            in_progress(),
            ["True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"],
        );
        check(list_failed("x"), ["True", "InstanceDeletionFailed", "could not list instances: x"]);
        check(
            delete_failed("[a, b]"),
            ["True", "InstanceDeletionFailed", "could not issue all deletes: [a, b]"],
        );
        check(
            unconfirmed("timed out"),
            ["True", "InstanceDeletionCheck", "could not confirm zero CustomResources remaining: timed out"],
        );
        check(completed(), ["False", "InstanceDeletionCompleted", "removed all instances"]);
        check(never_established(), ["False", "NeverEstablished", "resource was never established"]);
        check(
            overlapping_built_in(),
            ["False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"],
        );
    }

    #[test]
    fn two_built_in_resources_lie_where_custom_ones_do() {
        assert!(overlaps_built_in("apiregistration.k8s.io", "apiservices"));
        assert!(overlaps_built_in("apiextensions.k8s.io", "customresourcedefinitions"));
        assert!(!overlaps_built_in("apiextensions.k8s.io", "apiservices"));
        assert!(!overlaps_built_in("example.com", "customresourcedefinitions"));
    }
}
