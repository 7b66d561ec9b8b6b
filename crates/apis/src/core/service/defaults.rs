//! Defaults of services that need no allocator.

use keelson_object::{Map, Object, Value};

use super::facts::is_external;
use crate::shared::edit::{fill as fill_zero, part, parts};

/// The default timeout of session affinity.
const AFFINITY_SECONDS: i64 = 10_800;

/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Service (v1.36.4).
pub(super) fn fill(object: &mut Object) {
    let spec = object.fields.map_mut("spec");
    fill_affinity(spec);
    fill_zero(spec, "type", "ClusterIP");
    for port in parts(spec, "ports") {
        fill_zero(port, "protocol", "TCP");
        if port.get("targetPort").is_none_or(Value::is_empty) {
            let number = port.int("port").unwrap_or_default();
            port.set("targetPort", number);
        }
    }
    if is_external(spec) {
        fill_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    let kind = spec.str("type").unwrap_or_default();
    let (balanced, inside) =
        (kind == "LoadBalancer", matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer"));
    if inside {
        spec.default_to("internalTrafficPolicy", "Cluster");
    }
    if balanced {
        spec.default_to("allocateLoadBalancerNodePorts", true);
        fill_ingress(&mut object.fields);
    }
}

fn fill_affinity(spec: &mut Map) {
    fill_zero(spec, "sessionAffinity", "None");
    match spec.str("sessionAffinity").unwrap_or_default() {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" if spec.at("sessionAffinityConfig.clientIP.timeoutSeconds").is_none_or(Value::is_null) => {
            let mut config = Map::new();
            config.map_mut("clientIP").set("timeoutSeconds", AFFINITY_SECONDS);
            spec.set("sessionAffinityConfig", config);
        }
        _ => {}
    }
}

/// The default of `ipMode` of a load balancer's ingress is `VIP`.
fn fill_ingress(fields: &mut Map) {
    let balancer = part(fields, "status").and_then(|it| part(it, "loadBalancer"));
    for ingress in balancer.into_iter().flat_map(|it| parts(it, "ingress")) {
        if ingress.str("ip").is_some_and(|ip| !ip.is_empty()) {
            ingress.default_to("ipMode", "VIP");
        }
    }
}
