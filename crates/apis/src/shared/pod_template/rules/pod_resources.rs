//! Validation of pod-level resources.

use keelson_object::scalar::Quantity;
use keelson_object::{FieldErrors, Map, Path};

use super::Around;
use super::resources::{self, Owner, names};
use crate::shared::pod_template::of_containers;
use crate::shared::resource_list::{self, Amounts};

/// Upstream: pkg/apis/core/validation/validation.go, validatePodResources (v1.36.4).
pub(super) fn check(around: &Around<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(resources) = around.spec.map("resources") else { return };
    let at = at.key("resources");
    if around.os() == Some("windows") {
        return errors.forbidden(&at, "may not be set for a windows pod");
    }
    if resources.get("claims").is_some_and(|it| !it.is_null()) {
        errors.forbidden(&at.key("claims"), "claims may not be set for Resources at pod-level");
    }
    resources::check(resources, Owner::Pod, around, &at, errors);
    check_sums(around.spec, resources, &at, errors);
}

/// The pod has enough for its containers.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodResourceConsistency (v1.36.4).
fn check_sums(spec: &Map, resources: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let requests = resource_list::read(resources.map("requests"));
    let limits = resource_list::read(resources.map("limits"));
    let requests_at = at.key("requests");
    for (name, together, of_pod) in beyond(&of_containers(spec, "requests"), &requests) {
        let detail = format!("must be greater than or equal to aggregate container requests of {together}");
        errors.invalid(&requests_at.entry(name), of_pod.to_string().as_str(), detail);
    }
    let limits_at = at.key("limits");
    for (name, together, of_pod) in beyond(&of_containers(spec, "limits"), &limits) {
        if names::is_huge_pages(name) {
            let detail = format!("must be greater than or equal to aggregate container limits of {together}");
            errors.invalid(&limits_at.entry(name), of_pod.to_string().as_str(), detail);
        }
    }
    let list_at = at.key("containers");
    for (position, container) in spec.maps("containers").enumerate() {
        let own = resource_list::read(container.map("resources").and_then(|it| it.map("limits")));
        let at = list_at.index(position);
        for (name, own, of_pod) in beyond(&own, &limits) {
            let detail = format!("must be less than or equal to pod limits of {of_pod}");
            errors.invalid(&at.entry(name).key("limits"), own.to_string().as_str(), detail);
        }
    }
}

/// The resources whose need exceeds the pod-level amount, where there is one.
fn beyond<'a>(
    needed: &'a Amounts,
    of_pod: &'a Amounts,
) -> impl Iterator<Item = (&'a str, &'a Quantity, &'a Quantity)> {
    let both = needed.iter().filter_map(|(name, needed)| Some((name.as_str(), needed, of_pod.get(name)?)));
    both.filter(|(_, needed, of_pod)| needed > of_pod)
}
