//! Validation of the device health in container statuses.

use std::collections::{HashMap, HashSet};

use keelson_object::{FieldErrors, Map, Path};

use crate::shared::lookup::Lookup;

const FIELD: &str = "allocatedResourcesStatus";

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerStatusAllocatedResourcesStatus and
/// validateContainerStatusNoAllocatedResourcesStatus (v1.36.4).
pub(super) fn check(status: &Map, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (list, containers) in super::LISTS {
        if containers == "ephemeralContainers" {
            check_none(status, list, &at.key(list), errors);
        } else if status.maps(list).any(|it| !it.list(FIELD).is_empty()) {
            check_list(status.maps(list), spec.maps(containers), &at.key(list), errors);
        }
    }
}

/// Containers that were added later have no devices.
fn check_none(status: &Map, list: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, container) in status.maps(list).enumerate() {
        if !container.list(FIELD).is_empty() {
            errors.forbidden(&at.index(position).key(FIELD), "must not be specified in container status");
        }
    }
}

fn check_list<'m>(
    statuses: impl Iterator<Item = &'m Map>,
    containers: impl Iterator<Item = &'m Map>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut by_name: HashMap<&str, Resources<'m>> = HashMap::new();
    for container in containers {
        by_name.entry(container.str("name").unwrap_or_default()).or_insert_with(|| Resources::of(container));
    }
    for (position, status) in statuses.enumerate() {
        let container_at = at.index(position);
        let at = container_at.key(FIELD);
        let has = by_name.get(status.str("name").unwrap_or_default());
        for (position, resource) in status.maps(FIELD).enumerate() {
            let at = at.index(position);
            let name = resource.str("name").unwrap_or_default();
            if let Some(problem) = has.and_then(|has| has.problem(name)) {
                errors.invalid(&at.key("name"), name, problem);
            }
            check_health(resource, &at.key("resources"), errors);
        }
    }
}

/// The requested resources of a container.
struct Resources<'c> {
    requests: Lookup<'c>,
    claims: HashSet<String>,
}

impl<'c> Resources<'c> {
    fn of(container: &'c Map) -> Resources<'c> {
        let resources = container.map("resources");
        let claims = resources.into_iter().flat_map(|it| it.maps("claims")).map(|claim| {
            let name = claim.str("name").unwrap_or_default();
            match claim.str("request").unwrap_or_default() {
                "" => format!("claim:{name}"),
                request => format!("claim:{name}/{request}"),
            }
        });
        let requests = Lookup::of(resources.and_then(|it| it.map("requests")));
        Resources { requests, claims: claims.collect() }
    }

    fn problem(&self, name: &str) -> Option<&'static str> {
        if name.starts_with("claim:") {
            return (!self.claims.contains(name)).then_some(
                "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or \
                 'claim:<claimName>' if request is empty",
            );
        }
        (!self.requests.contains(name)).then_some("must match one of the container's resource requests")
    }
}

fn check_health(resource: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const HEALTH: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
    const MAX_MESSAGE: usize = 1024;
    let mut seen = HashSet::new();
    for (position, device) in resource.maps("resources").enumerate() {
        let at = at.index(position);
        let health = device.str("health").unwrap_or_default();
        if !HEALTH.contains(&health) {
            errors.not_supported(&at.key("health"), health, &HEALTH);
        }
        match device.str("message").map(str::len) {
            Some(0) => errors.required(&at.key("message"), "must be non-empty if specified"),
            Some(length) if length > MAX_MESSAGE => errors.too_long(&at.key("message"), MAX_MESSAGE),
            _ => {}
        }
        let id = device.str("resourceID").unwrap_or_default();
        if !seen.insert(id) {
            errors.duplicate(&at.key("resourceID"), id);
        }
    }
}
