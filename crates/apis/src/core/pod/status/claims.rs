//! Validation of resource claims in the status of a pod.

use std::collections::{HashMap, HashSet};

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::lookup::Lookup;
use crate::shared::pod_template::rules::resources::names;

fn text<'m>(map: &'m Map, field: &str) -> &'m str {
    map.str(field).unwrap_or_default()
}

/// Checks the resource claims in a status.
pub(super) fn check(status: &Map, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_statuses(status, spec, &at.key("resourceClaimStatuses"), errors);
    if let Some(extended) = status.map("extendedResourceClaimStatus") {
        check_extended(extended, spec, &at.key("extendedResourceClaimStatus"), errors);
    }
    let at = at.key("nodeAllocatableResourceClaimStatuses");
    if !status.list("nodeAllocatableResourceClaimStatuses").is_empty() {
        check_allocatable(status, spec, &at, errors);
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodResourceClaimStatuses (v1.36.4).
fn check_statuses(status: &Map, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let known: HashSet<&str> = spec.maps("resourceClaims").map(|it| text(it, "name")).collect();
    let mut seen = HashSet::new();
    for (position, claim) in status.maps("resourceClaimStatuses").enumerate() {
        let at = at.index(position);
        let name = text(claim, "name");
        if !known.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(&at.key("name"), name, detail);
        }
        if !seen.insert(name) {
            errors.duplicate(&at.key("name"), name);
        }
        if let Some(name) = claim.str("resourceClaimName") {
            errors.invalid_each(&at.key("resourceClaimName"), name, name_rules::dns1123_subdomain(name));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodExtendedResourceClaimStatus (v1.36.4).
/// Reporting the request name below the status is upstream's choice.
fn check_extended(status: &Map, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let containers = spec.maps("initContainers").chain(spec.maps("containers"));
    let requests: HashMap<&str, Lookup<'_>> = containers
        .map(|it| (text(it, "name"), Lookup::of(it.map("resources").and_then(|it| it.map("requests")))))
        .collect();
    let list_at = at.key("requestMappings");
    if status.list("requestMappings").is_empty() {
        errors.required(&list_at, "at least one request mapping is required");
    }
    let mut seen = HashSet::new();
    for (position, mapping) in status.maps("requestMappings").enumerate() {
        let mapping_at = list_at.index(position);
        let fields = ["containerName", "resourceName", "requestName"];
        let said = fields.map(|field| text(mapping, field));
        let [container, resource, request] = said;
        match requests.get(container) {
            None => {
                let detail =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.invalid(&mapping_at.key("containerName"), container, detail);
            }
            Some(requests) if !requests.contains(resource) => {
                let detail = "must match the extended resource name of an entry in \
                    spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.invalid(&mapping_at.key("resourceName"), resource, detail);
            }
            Some(_) => {}
        }
        errors.invalid_each(&at.key("requestName"), request, name_rules::dns1123_label(request));
        if !seen.insert(said) {
            for (field, value) in fields.into_iter().zip(said) {
                errors.duplicate(&mapping_at.key(field), value);
            }
        }
    }
    match text(status, "resourceClaimName") {
        "" => errors.required(&at.key("resourceClaimName"), ""),
        name => {
            errors.invalid_each(&at.key("resourceClaimName"), name, name_rules::dns1123_subdomain(name));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeAllocatableResourceClaimStatus (v1.36.4).
fn check_allocatable(status: &Map, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let claims = spec.maps("resourceClaims").chain(status.maps("resourceClaimStatuses"));
    let known: HashSet<&str> = claims.filter_map(|it| it.str("resourceClaimName")).collect();
    for (position, claim) in status.maps("nodeAllocatableResourceClaimStatuses").enumerate() {
        let at = at.index(position);
        let name = text(claim, "resourceClaimName");
        if name.is_empty() {
            errors.required(&at.key("resourceClaimName"), "must not be empty");
        }
        if !known.contains(name) {
            errors.invalid(&at.key("resourceClaimName"), name, "no mapping found in pod reference");
        }
        for field in ["containers", "resources"] {
            if claim.get(field).is_none_or(Value::is_empty) {
                errors.required(&at.key(field), "must not be empty");
            }
        }
        let at = at.key("resources");
        for (name, amount) in claim.map("resources").into_iter().flat_map(Map::iter) {
            if !names::is_native(name) {
                errors.invalid(&at.entry(name), name.as_str(), "must be a node allocatable resource name");
            }
            if let Ok(amount) = Quantity::from_value(amount)
                && amount.sign().is_lt()
            {
                errors.invalid(&at.entry(name), amount.to_string().as_str(), "must be non-negative");
            }
        }
    }
}
