//! API approval (`api-approved.kubernetes.io`): definitions in groups of the Kubernetes project name who approved them.
//!
//! Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go (v1.36.4).

use keelson_object::scalar::quote;

use crate::format::uri;

/// The annotation of definitions.
pub const ANNOTATION: &str = "api-approved.kubernetes.io";

const ABOUT: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation of a definition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Neither a URL nor `unapproved…`.
    Invalid,
    /// The URL of the approval.
    Approved,
    /// `unapproved…`
    Bypassed,
    /// It is not there, or empty.
    Missing,
}

/// Whether a group belongs to the Kubernetes project.
///
/// Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, IsProtectedCommunityGroup (v1.36.4).
pub fn is_protected(group: &str) -> bool {
    let is_below = |domain| group.strip_suffix(domain).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    ["k8s.io", "kubernetes.io"].into_iter().any(is_below)
}

impl Approval {
    /// What the annotation says and why, in upstream's words. The annotation is empty if it is not there.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, GetAPIApprovalState (v1.36.4).
    pub fn of(annotation: &str) -> (Approval, String) {
        let needed = format!("protected groups must have approval annotation {}", quote(ANNOTATION));
        if annotation.is_empty() {
            (Approval::Missing, format!("{needed}, {ABOUT}"))
        } else if annotation.starts_with("unapproved") {
            (Approval::Bypassed, format!("not approved: {}", quote(annotation)))
        } else if uri::has_host(annotation) {
            (Approval::Approved, format!("approved in {annotation}"))
        } else {
            let how = "with either a URL or a reason starting with \"unapproved\"";
            (Approval::Invalid, format!("{needed} {how}, {ABOUT}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Approval, is_protected};

    #[test]
    fn groups_of_the_project_are_protected() {
        for group in ["k8s.io", "kubernetes.io", "a.k8s.io", "a.b.kubernetes.io"] {
            assert!(is_protected(group), "{group}");
        }
        for group in ["", "mk8s.io", "k8s.io.example.com", "example.com", "xkubernetes.io"] {
            assert!(!is_protected(group), "{group}");
        }
    }

    #[test]
    fn the_annotation_is_a_url_or_says_unapproved() {
        let check = |annotation: &str, expected: Approval, text: &str| {
            assert_eq!(Approval::of(annotation), (expected, text.to_owned()), "{annotation}");
        };
        let invalid = "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or \
            a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111";
        let missing = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see \
            https://github.com/kubernetes/enhancements/pull/1111";
        check("", Approval::Missing, missing);
        check("bad value", Approval::Invalid, invalid);
        check("https:/foo", Approval::Invalid, invalid);
        check("/only/a/path", Approval::Invalid, invalid);
        check("https://user@/path", Approval::Invalid, invalid);
        check(
            "https://github.com/kubernetes/kubernetes/pull/78458",
            Approval::Approved,
            "approved in https://github.com/kubernetes/kubernetes/pull/78458",
        );
        check("unapproved", Approval::Bypassed, "not approved: \"unapproved\"");
        check("unapproved, experimental", Approval::Bypassed, "not approved: \"unapproved, experimental\"");
    }
}
