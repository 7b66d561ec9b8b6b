//! Names of resources that are counted: `cpu`, `requests.memory`, `example.com/gpu`.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Path};

/// What belongs to Kubernetes although there is a slash in its name.
const NATIVE: &str = "kubernetes.io/";
const REQUESTS: &str = "requests.";
const HUGE_PAGES: &str = "hugepages-";

/// What quotas count, but for huge pages.
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

/// What there are only whole ones of.
///
/// Upstream: pkg/apis/core/helper/helpers.go, integerResources (v1.36.4).
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Checks the name of anything that can be counted.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateResourceName (v1.36.4).
pub(crate) fn check(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let problems = name_rules::qualified_name(name);
    if problems.is_empty() && !name.contains('/') && name != "storage" && !is_quota(name) {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
    }
    errors.invalid_each(at, name, problems);
}

/// Checks the name of what a container may have.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResourceName (v1.36.4).
pub(crate) fn check_for_container(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check(name, at, errors);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            errors.invalid(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(at, name, "doesn't follow extended resource name standard");
    }
}

/// Checks the name of what a quota limits.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuotaResourceName (v1.36.4).
pub(crate) fn check_for_quota(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check(name, at, errors);
    if !name.contains('/') && !is_quota(name) {
        errors.invalid(at, name, "must be a standard resource for quota");
    }
}

/// Whether quotas know the name.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsStandardQuotaResourceName (v1.36.4).
pub(crate) fn is_quota(name: &str) -> bool {
    QUOTA.contains(&name) || is_huge_page(name.strip_prefix(REQUESTS).unwrap_or(name))
}

/// Whether this is memory in pages of one size.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// The size of the pages, as the name says it.
pub(crate) fn page_size(name: &str) -> Option<&str> {
    name.strip_prefix(HUGE_PAGES)
}

/// Whether this is a resource of Kubernetes itself.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsNativeResource (v1.36.4).
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains(NATIVE)
}

/// Whether this is a resource that somebody else brings.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsExtendedResourceName (v1.36.4).
pub(crate) fn is_extended(name: &str) -> bool {
    if is_native(name) || name.starts_with(REQUESTS) {
        return false;
    }
    // Whether it could be in a quota.
    name_rules::qualified_name(&format!("{REQUESTS}{name}")).is_empty()
}

/// Whether there are only whole ones.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsIntegerResourceName (v1.36.4).
pub(crate) fn is_whole(name: &str) -> bool {
    WHOLE.contains(&name) || is_extended(name)
}

/// Whether more may be promised than there is.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsOvercommitAllowed (v1.36.4).
pub(crate) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

#[cfg(test)]
mod tests {
    use super::{is_extended, is_native, is_quota, is_whole, may_be_overcommitted};

    #[test]
    fn names_tell_what_sort_of_resource_it_is() {
        let check = |name: &str, expected: [bool; 5]| {
            let found = [
                is_native(name),
                is_quota(name),
                is_extended(name),
                is_whole(name),
                may_be_overcommitted(name),
            ];
            assert_eq!(found, expected, "{name}");
        };
        check("cpu", [true, true, false, false, true]);
        check("pods", [true, true, false, true, true]);
        check("storage", [true, false, false, false, true]);
        check("hugepages-2Mi", [true, true, false, false, false]);
        check("requests.hugepages-2Mi", [true, true, false, false, true]);
        check("kubernetes.io/x", [true, false, false, false, true]);
        check("example.com/gpu", [false, false, true, true, false]);
        check("requests.example.com/gpu", [false, false, false, false, false]);
    }
}
