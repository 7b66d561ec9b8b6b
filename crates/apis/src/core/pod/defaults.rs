//! Defaults of pods, in addition to those of templates.

use keelson_object::{Map, Object, SmolStr, Value};

use crate::shared::edit::{fill as fill_zero, part, parts};
use crate::shared::pod_template::{self, of_containers};
use crate::shared::resource_list::{self, Amounts};

/// The prefix of huge pages, which cannot be overcommitted.
const HUGE_PAGES: &str = "hugepages-";

/// Sets the defaults of a pod.
///
/// Upstream: pkg/apis/core/v1/zz_generated.defaults.go, SetObjectDefaults_Pod (v1.36.4).
pub(super) fn fill(object: &mut Object) {
    let spec = object.fields.map_mut("spec");
    fill_pod(spec);
    pod_template::default_spec(spec);
    // A negative grace period of a pod becomes 1; templates are kept as they are.
    if spec.int("terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        spec.set("terminationGracePeriodSeconds", 1);
    }
    if let Some(status) = part(&mut object.fields, "status") {
        tell_address_twice(status);
        round_status(status);
    }
    for key in pod_template::DROPPED_ANNOTATIONS {
        object.meta.annotations.remove(key);
    }
}

/// `podIP` is the first of `podIPs`; where they differ, the old field counts.
///
/// Upstream: pkg/apis/core/v1/conversion.go, Convert_v1_PodStatus_To_core_PodStatus and back (v1.36.4).
fn tell_address_twice(status: &mut Map) {
    let first = status.maps("podIPs").next().and_then(|it| it.str("ip")).unwrap_or_default().to_owned();
    match status.str("podIP").filter(|it| !it.is_empty()).map(str::to_owned) {
        Some(address) if address != first => {
            let mut only = Map::new();
            only.set("ip", address);
            status.set("podIPs", vec![Value::Map(only)]);
        }
        None if !first.is_empty() => status.set("podIP", first),
        _ => {}
    }
}

/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Pod (v1.36.4).
fn fill_pod(spec: &mut Map) {
    for list in ["containers", "initContainers"] {
        for resources in parts(spec, list).filter_map(|container| part(container, "resources")) {
            // Requests default to limits.
            resource_list::complete(resources, "limits", "requests");
        }
    }
    limit_huge_pages(spec);
    request_for_pod(spec);
    spec.default_to("enableServiceLinks", true);
    if spec.bool("hostNetwork") == Some(true) {
        for list in ["containers", "initContainers"] {
            parts(spec, list).for_each(publish_ports);
        }
    }
}

/// On the network of the node the port of a container is a port of the node.
fn publish_ports(container: &mut Map) {
    for port in parts(container, "ports") {
        if let Some(number) = port.int("containerPort").filter(|number| *number != 0) {
            fill_zero(port, "hostPort", number);
        }
    }
}

/// The huge page limits of a pod with pod-level resources default to those of its containers together.
///
/// Upstream: pkg/apis/core/v1/defaults.go, defaultHugePagePodLimits (v1.36.4).
fn limit_huge_pages(spec: &mut Map) {
    let has = |field| list(spec, field).is_some_and(|it| !it.is_empty());
    if !has("limits") && !has("requests") {
        return;
    }
    let requested = |name: &str| list(spec, "requests").is_some_and(|it| it.contains(name));
    let mut limits = of_containers(spec, "limits");
    limits.retain(|name, _| name.starts_with(HUGE_PAGES) && !requested(name));
    set_absent(spec, "limits", limits);
}

/// The requests of a pod with pod-level limits default to those of its containers together, or else to its
/// limits.
///
/// Upstream: pkg/apis/core/v1/defaults.go, defaultPodRequests (v1.36.4).
fn request_for_pod(spec: &mut Map) {
    let Some(limits) = list(spec, "limits").filter(|it| !it.is_empty()) else { return };
    let mut of_pod = resource_list::read(Some(limits));
    let mut requests = of_containers(spec, "requests");
    requests.retain(|name, _| matches!(name.as_str(), "cpu" | "memory"));
    of_pod.retain(|name, _| matches!(name.as_str(), "cpu" | "memory") || name.starts_with(HUGE_PAGES));
    of_pod.append(&mut requests);
    set_absent(spec, "requests", of_pod);
}

fn list<'s>(spec: &'s Map, field: &str) -> Option<&'s Map> {
    spec.map("resources")?.map(field)
}

fn set_absent(spec: &mut Map, field: &str, amounts: Amounts) {
    let missing: Vec<(SmolStr, Value)> = amounts
        .into_iter()
        .filter(|(name, _)| list(spec, field).is_none_or(|it| !it.contains(name)))
        .map(|(name, quantity)| (name, Value::from(quantity.to_string())))
        .collect();
    if missing.is_empty() {
        return;
    }
    let list = spec.map_mut("resources").map_mut(field);
    missing.into_iter().for_each(|(name, value)| list.push_new(name, value));
    list.sort_keys();
}

fn round_status(status: &mut Map) {
    for list in ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] {
        for container in parts(status, list) {
            resource_list::round_up(part(container, "allocatedResources"));
            resource_list::round_up_both(part(container, "resources"));
        }
    }
    resource_list::round_up(part(status, "allocatedResources"));
    resource_list::round_up_both(part(status, "resources"));
}
