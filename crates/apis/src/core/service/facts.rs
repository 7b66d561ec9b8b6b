//! Properties of a service that follow from its spec.

use std::net::IpAddr;

use keelson_object::{Map, Value};

use crate::shared::addresses::sloppy;

/// An address family, as services name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `IPv4`
    V4,
    /// `IPv6`
    V6,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }

    /// The name in services.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }

    /// Finds a family by its name.
    pub fn parse(name: &str) -> Option<Family> {
        [Family::V4, Family::V6].into_iter().find(|it| it.as_str() == name)
    }

    /// The other family.
    pub fn other(self) -> Family {
        if self == Family::V4 { Family::V6 } else { Family::V4 }
    }
}

pub(super) fn kind(spec: &Map) -> &str {
    spec.str("type").unwrap_or_default()
}

/// Whether a service of this type has a cluster IP, or could have one.
pub(super) fn has_address(spec: &Map) -> bool {
    kind(spec) != "ExternalName"
}

pub(super) fn has_node_ports(spec: &Map) -> bool {
    matches!(kind(spec), "NodePort" | "LoadBalancer")
}

/// Whether ports without a node port get one.
pub(super) fn wants_node_ports(spec: &Map) -> bool {
    match kind(spec) {
        "NodePort" => true,
        "LoadBalancer" => spec.bool("allocateLoadBalancerNodePorts").unwrap_or(true),
        _ => false,
    }
}

/// Upstream: pkg/api/v1/service/util.go, NeedsHealthCheck (v1.36.4).
pub(super) fn has_health_port(spec: &Map) -> bool {
    kind(spec) == "LoadBalancer" && spec.str("externalTrafficPolicy") == Some("Local")
}

/// Whether it can be reached from outside the cluster.
///
/// Upstream: pkg/api/v1/service/util.go, ExternallyAccessible (v1.36.4).
pub(super) fn is_external(spec: &Map) -> bool {
    match kind(spec) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.list("externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether the service is headless: it has no cluster IP.
pub(super) fn is_headless(spec: &Map) -> bool {
    matches!(spec.list("clusterIPs"), [Value::String(only)] if only == "None")
}

/// Whether it is headless without a selector, so that the server does not know its endpoints.
pub(super) fn has_unknown_pods(spec: &Map) -> bool {
    spec.str("clusterIP") == Some("None") && spec.map("selector").is_none_or(Map::is_empty)
}

/// The texts of a list.
pub(super) fn texts<'m>(spec: &'m Map, field: &str) -> impl Iterator<Item = &'m str> {
    spec.list(field).iter().map(|it| it.as_str().unwrap_or_default())
}

/// A text that is not there is empty.
pub(super) fn text<'m>(map: &'m Map, field: &str) -> &'m str {
    map.str(field).unwrap_or_default()
}

/// The addresses of a service, without `None` and invalid ones.
pub(crate) fn addresses(spec: &Map) -> impl Iterator<Item = IpAddr> {
    texts(spec, "clusterIPs").filter(|_| has_address(spec)).filter_map(sloppy)
}

/// The node ports of a service, one for each port that has one.
pub(super) fn node_ports(spec: &Map) -> impl Iterator<Item = i64> {
    spec.maps("ports").filter_map(|port| port.int("nodePort")).filter(|number| *number != 0)
}

/// Whether a field is the same in two specs; absent, null and empty are equal.
pub(super) fn is_same(spec: &Map, old: &Map, field: &str) -> bool {
    let said = |map: &'_ Map| map.get(field).filter(|it| !it.is_empty()).cloned();
    said(spec) == said(old)
}

pub(super) fn is_left_out(spec: &Map, field: &str) -> bool {
    spec.get(field).is_none_or(Value::is_empty)
}
