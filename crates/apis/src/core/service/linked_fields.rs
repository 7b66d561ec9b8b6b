//! Fields of a service that depend on one another.
//!
//! The meaning of a service depends on its type, and many clients send back only some of the fields. Omitted
//! fields that the client did not mean to change are kept; unchanged fields that the new type does not use
//! are removed.

use std::collections::{BTreeSet, HashMap};

use keelson_object::{Map, Object, Value};

use super::facts::{
    has_address, has_health_port, has_node_ports, is_external, is_left_out, is_same, kind, node_ports, text,
    wants_node_ports,
};
use crate::shared::edit::parts;

/// Clients that know only `clusterIP` mean the only address.
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

/// Fills in fields that an update omits from the old service.
///
/// Upstream: pkg/registry/core/service/storage/storage.go, beginUpdate (v1.36.4).
pub(super) fn settle(spec: &mut Map, old: &Map) {
    keep_allocated(spec, old);
    settle_addresses(spec, old);
}

/// Removes fields that the new type does not use.
///
/// Upstream: pkg/registry/core/service/strategy.go, PrepareForUpdate (v1.36.4).
pub(super) fn drop_useless(object: &mut Object, old: &Object) {
    object.fields.keep("status", &old.fields);
    let empty = Map::new();
    let old = old.fields.map("spec").unwrap_or(&empty);
    let spec = object.fields.map_mut("spec");
    drop_unchanged(spec, old);
    if kind(spec) != "LoadBalancer"
        && let Some(status) = object.fields.get_mut("status").and_then(Value::as_map_mut)
    {
        status.set("loadBalancer", Map::new());
    }
}

fn keep(spec: &mut Map, old: &Map, field: &str) {
    if is_left_out(spec, field) && !is_left_out(old, field) {
        spec.keep(field, old);
    }
}

/// Allocated values are kept where the client omits them.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, patchAllocatedValues (v1.36.4).
fn keep_allocated(spec: &mut Map, old: &Map) {
    if has_address(old) && has_address(spec) {
        keep(spec, old, "clusterIP");
        keep(spec, old, "clusterIPs");
    }
    if wants_node_ports(old) && wants_node_ports(spec) {
        let asked: BTreeSet<i64> = node_ports(spec).collect();
        let taken: BTreeSet<i64> = node_ports(old).filter(|it| asked.contains(it)).collect();
        let before = |port: &Map| (text(port, "name").to_owned(), port.int("nodePort").unwrap_or_default());
        let before: HashMap<String, i64> = old.maps("ports").map(before).collect();
        for port in parts(spec, "ports") {
            let was = before.get(text(port, "name")).copied().unwrap_or_default();
            if is_left_out(port, "nodePort") && was != 0 && !taken.contains(&was) {
                port.set("nodePort", was);
            }
        }
    }
    if has_health_port(old) && has_health_port(spec) {
        keep(spec, old, "healthCheckNodePort");
    }
}

/// Keeps `clusterIP` and `clusterIPs` consistent.
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

/// Unchanged fields that belong to the old type are removed.
///
/// Upstream: pkg/registry/core/service/strategy.go, dropTypeDependentFields (v1.36.4).
fn drop_unchanged(spec: &mut Map, old: &Map) {
    if has_address(old) && !has_address(spec) {
        if is_same(spec, old, "clusterIP") && is_same(spec, old, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        drop_if_same(spec, old, "ipFamilies");
        drop_if_same(spec, old, "ipFamilyPolicy");
    }
    if has_node_ports(old) && !has_node_ports(spec) && has_no_new_node_ports(spec, old) {
        for port in parts(spec, "ports") {
            port.remove("nodePort");
        }
    }
    if has_health_port(old) && !has_health_port(spec) {
        drop_if_same(spec, old, "healthCheckNodePort");
    }
    if kind(old) == "LoadBalancer" && kind(spec) != "LoadBalancer" {
        let field = "allocateLoadBalancerNodePorts";
        if spec.bool(field).is_some() && spec.bool(field) == old.bool(field) {
            spec.remove(field);
        }
        drop_if_same(spec, old, "loadBalancerClass");
    }
    if is_external(old) && !is_external(spec) {
        drop_if_same(spec, old, "externalTrafficPolicy");
    }
}

fn has_no_new_node_ports(spec: &Map, old: &Map) -> bool {
    let before: BTreeSet<i64> = node_ports(old).collect();
    node_ports(spec).all(|number| before.contains(&number))
}

fn drop_if_same(spec: &mut Map, old: &Map, field: &str) {
    if is_same(spec, old, field) {
        spec.remove(field);
    }
}
