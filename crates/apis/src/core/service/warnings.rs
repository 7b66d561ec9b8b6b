//! Warnings about services.

use keelson_object::{Map, Object, Path};

use super::facts::{kind, text, texts};
use super::rules::{TOPOLOGY_HINTS, ingresses};
use crate::shared::addresses::{address_warning, range_warnings};

/// Upstream: pkg/api/service/warnings.go, GetWarningsForService (v1.36.4), in its order.
pub(super) fn of(object: &Object) -> Vec<String> {
    let (nothing, mut warnings) = (Map::new(), Vec::new());
    let spec = object.fields.map("spec").unwrap_or(&nothing);
    let mut warn = |text: &str| warnings.push(String::from(text));
    if object.meta.annotations.get(TOPOLOGY_HINTS).is_some() {
        warn(&format!(
            "annotation {TOPOLOGY_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let is_headless = kind(spec) == "ClusterIP" && text(spec, "clusterIP") == "None";
    if !matches!(text(spec, "clusterIP"), "" | "None") {
        odd_addresses(spec, "clusterIPs", &mut warn);
    }
    let external = !spec.list("externalIPs").is_empty();
    if is_headless {
        if !text(spec, "loadBalancerIP").is_empty() {
            warn("spec.loadBalancerIP is ignored for headless services");
        }
        if external {
            warn("spec.externalIPs is ignored for headless services");
        }
        if text(spec, "sessionAffinity") != "None" {
            warn("spec.SessionAffinity is ignored for headless services");
        }
    }
    odd_addresses(spec, "externalIPs", &mut warn);
    if external && !is_headless && kind(spec) != "ExternalName" {
        warn("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    let at = Path::root("spec");
    address_warning(&at.key("loadBalancerIP"), text(spec, "loadBalancerIP")).iter().for_each(|it| warn(it));
    let ranges_at = at.key("loadBalancerSourceRanges");
    for (i, range) in texts(spec, "loadBalancerSourceRanges").enumerate() {
        range_warnings(&ranges_at.index(i), range).iter().for_each(|it| warn(it));
    }
    if kind(spec) == "ExternalName" && external {
        warn("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    }
    if kind(spec) != "ExternalName" && !text(spec, "externalName").is_empty() {
        warn("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    }
    if spec.str("trafficDistribution") == Some("PreferClose") {
        warn("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
    warnings
}

/// Upstream: pkg/registry/core/service/strategy.go, serviceStatusStrategy.WarningsOnUpdate (v1.36.4).
pub(super) fn of_status(object: &Object) -> Vec<String> {
    let at = Path::root("status.loadBalancer.ingress");
    let odd = |(i, ingress): (usize, &Map)| address_warning(&at.index(i), text(ingress, "ip"));
    ingresses(object).enumerate().filter_map(odd).collect()
}

fn odd_addresses(spec: &Map, field: &str, warn: &mut impl FnMut(&str)) {
    let at = Path::root("spec");
    let at = at.key(field);
    for (i, address) in texts(spec, field).enumerate() {
        address_warning(&at.index(i), address).iter().for_each(|it| warn(it));
    }
}
