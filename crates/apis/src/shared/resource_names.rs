//! Resource names of quotas and limit ranges, in addition to those of pods.

use keelson_object::{FieldErrors, Path};

pub(crate) use crate::shared::pod_template::rules::resources::names::{
    check, check_of_container, is_huge_pages, is_native,
};

/// The standard resources of quotas, without huge pages.
///
/// Upstream: pkg/apis/core/helper/helpers.go, standardQuotaResources (v1.36.4).
const QUOTA: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Checks the name of a resource that a quota limits.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuotaResourceName (v1.36.4).
pub(crate) fn check_of_quota(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check(name, at, errors);
    if !name.contains('/') && !is_quota(name) {
        errors.invalid(at, name, "must be a standard resource for quota");
    }
}

/// Whether it is a standard resource of quotas.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsStandardQuotaResourceName (v1.36.4).
pub(crate) fn is_quota(name: &str) -> bool {
    QUOTA.contains(&name) || is_huge_pages(name.strip_prefix("requests.").unwrap_or(name))
}

/// Whether the resource may be overcommitted.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsOvercommitAllowed (v1.36.4).
pub(crate) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

#[cfg(test)]
mod tests {
    use super::{is_quota, may_be_overcommitted};

    #[test]
    fn names_tell_what_sort_of_resource_it_is() {
        let check = |name: &str, expected: [bool; 2]| {
            assert_eq!([is_quota(name), may_be_overcommitted(name)], expected, "{name}");
        };
        check("cpu", [true, true]);
        check("storage", [false, true]);
        check("hugepages-2Mi", [true, false]);
        check("requests.hugepages-2Mi", [true, true]);
        check("kubernetes.io/x", [false, true]);
        check("example.com/gpu", [false, false]);
    }
}
