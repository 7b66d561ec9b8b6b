//! Names of resources: `cpu`, `hugepages-2Mi`, `example.com/gpu`.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Path};

/// The prefix of huge pages; the size follows.
pub(crate) const HUGE_PAGES: &str = "hugepages-";

/// Upstream: pkg/apis/core/helper/helpers.go, integerResources (v1.36.4).
const COUNTED: [&str; 9] = [
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

/// Beside [`COUNTED`]. Upstream: pkg/apis/core/helper/helpers.go, standardResources (v1.36.4).
const MEASURED: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];

/// Whether it is a huge page resource.
pub(crate) fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether it is a resource of Kubernetes itself.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsNativeResource (v1.36.4).
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether it is an extended resource.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsExtendedResourceName (v1.36.4).
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && name_rules::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether its quantities must be integers.
///
/// Upstream: pkg/apis/core/helper/helpers.go, IsIntegerResourceName (v1.36.4).
pub(crate) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Checks a name; returns whether it is valid.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateResourceName (v1.36.4).
pub(crate) fn check(name: &str, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let problems = name_rules::qualified_name(name);
    if !problems.is_empty() {
        errors.invalid_each(at, name, problems);
        return false;
    }
    let is_known = MEASURED.contains(&name) || COUNTED.contains(&name) || is_huge_pages(name);
    if !name.contains('/') && !is_known && !name.starts_with("requests.hugepages-") {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
        return false;
    }
    true
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResourceName (v1.36.4).
pub(crate) fn check_of_container(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check(name, at, errors);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            errors.invalid(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(at, name, "doesn't follow extended resource name standard");
    }
}
