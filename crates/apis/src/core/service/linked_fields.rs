//! Fields of a service that follow from one another.
//!
//! A service is one of several things, by its type, and many clients send back only some of the fields. What they left
//! out and did not mean to change stays; what the new type has no use for and nobody changed goes.

use std::collections::BTreeSet;

use keelson_object::{Map, Object, Value};

use super::defaults::is_external;
use crate::shared::edit::parts;

/// Clients that know only of one address mean the only one.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, normalizeClusterIPs without an old service (v1.36.4).
pub(super) fn settle_new(spec: &mut Map) {
    let address = spec.str("clusterIP").filter(|it| !it.is_empty()).map(Value::from);
    if let Some(address) = address
        && spec.list("clusterIPs").is_empty()
    {
        spec.set("clusterIPs", vec![address]);
    }
}

/// Brings an update into line with what was there.
///
/// Upstream: pkg/registry/core/service/storage/storage.go, beginUpdate, and strategy.go, PrepareForUpdate (v1.36.4).
pub(super) fn settle(object: &mut Object, old: &Object) {
    object.fields.keep("status", &old.fields);
    let empty = Map::new();
    let old = old.fields.map("spec").unwrap_or(&empty);
    let spec = object.fields.map_mut("spec");
    keep_allocated(spec, old);
    settle_addresses(spec, old);
    drop_useless(spec, old);
    if kind(spec) != "LoadBalancer"
        && let Some(status) = object.fields.get_mut("status").and_then(Value::as_map_mut)
    {
        status.set("loadBalancer", Map::new());
    }
}

fn kind(spec: &Map) -> &str {
    spec.str("type").unwrap_or_default()
}

fn has_address(spec: &Map) -> bool {
    kind(spec) != "ExternalName"
}

fn has_node_ports(spec: &Map) -> bool {
    matches!(kind(spec), "NodePort" | "LoadBalancer")
}

fn has_health_port(spec: &Map) -> bool {
    kind(spec) == "LoadBalancer" && spec.str("externalTrafficPolicy") == Some("Local")
}

fn is_same(spec: &Map, old: &Map, field: &str) -> bool {
    let said = |map: &'_ Map| map.get(field).filter(|it| !it.is_empty()).cloned();
    said(spec) == said(old)
}

fn is_left_out(spec: &Map, field: &str) -> bool {
    spec.get(field).is_none_or(Value::is_empty)
}

fn keep(spec: &mut Map, old: &Map, field: &str) {
    if is_left_out(spec, field) && !is_left_out(old, field) {
        spec.keep(field, old);
    }
}

fn node_ports(spec: &Map) -> BTreeSet<i64> {
    spec.maps("ports").filter_map(|port| port.int("nodePort")).filter(|number| *number != 0).collect()
}

/// What was allocated stays where the client does not mention it.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, patchAllocatedValues (v1.36.4).
fn keep_allocated(spec: &mut Map, old: &Map) {
    if has_address(old) && has_address(spec) {
        keep(spec, old, "clusterIP");
        keep(spec, old, "clusterIPs");
    }
    if has_node_ports(old) && has_node_ports(spec) {
        let name = |port: &Map| port.str("name").unwrap_or_default().to_owned();
        let taken: BTreeSet<i64> = &node_ports(old) & &node_ports(spec);
        for port in parts(spec, "ports") {
            let was = old.maps("ports").filter(|it| name(it) == name(port)).last();
            let was = was.and_then(|it| it.int("nodePort")).unwrap_or_default();
            if is_left_out(port, "nodePort") && was != 0 && !taken.contains(&was) {
                port.set("nodePort", was);
            }
        }
    }
    if has_health_port(old) && has_health_port(spec) {
        keep(spec, old, "healthCheckNodePort");
    }
}

/// The one address and the list of addresses say the same.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, normalizeClusterIPs (v1.36.4).
fn settle_addresses(spec: &mut Map, old: &Map) {
    let same_address = is_same(spec, old, "clusterIP");
    if is_left_out(spec, "clusterIPs") && same_address {
        keep(spec, old, "clusterIPs");
    }
    if same_address || !is_same(spec, old, "clusterIPs") {
        return;
    }
    match spec.get("clusterIP").filter(|it| !it.is_empty()).cloned() {
        Some(address) => spec.set("clusterIPs", vec![address]),
        None => {
            spec.remove("clusterIPs");
        }
    }
}

/// What belongs to the old type and was not changed goes with it.
///
/// Upstream: pkg/registry/core/service/strategy.go, dropTypeDependentFields (v1.36.4).
fn drop_useless(spec: &mut Map, old: &Map) {
    if has_address(old) && !has_address(spec) {
        if is_same(spec, old, "clusterIP") && is_same(spec, old, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        drop_if_same(spec, old, "ipFamilies");
        drop_if_same(spec, old, "ipFamilyPolicy");
    }
    if has_node_ports(old) && !has_node_ports(spec) && node_ports(spec).is_subset(&node_ports(old)) {
        for port in parts(spec, "ports") {
            port.remove("nodePort");
        }
    }
    if has_health_port(old) && !has_health_port(spec) {
        drop_if_same(spec, old, "healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(spec) != "LoadBalancer" {
        if spec.get("allocateLoadBalancerNodePorts") == old.get("allocateLoadBalancerNodePorts") {
            spec.remove("allocateLoadBalancerNodePorts");
        }
        drop_if_same(spec, old, "loadBalancerClass");
    }
    if is_external(old) && !is_external(spec) {
        drop_if_same(spec, old, "externalTrafficPolicy");
    }
}

fn drop_if_same(spec: &mut Map, old: &Map, field: &str) {
    if is_same(spec, old, field) {
        spec.remove(field);
    }
}
