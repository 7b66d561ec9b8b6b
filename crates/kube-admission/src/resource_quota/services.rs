//! Quota usage of services.

use keelson_object::{Map, Object};

use crate::amounts::{Amounts, pieces};

/// Upstream: pkg/quota/v1/evaluator/core/services.go, serviceResources (v1.36.4).
pub(super) const NAMES: [&str; 4] =
    ["count/services", "services", "services.nodeports", "services.loadbalancers"];

/// The usage of a service. Node ports count if they are requested, whether or not they are allocated yet.
///
/// Upstream: pkg/quota/v1/evaluator/core/services.go, serviceEvaluator.Usage (v1.36.4).
pub(super) fn usage(service: &Object) -> Amounts {
    let none = Map::new();
    let spec = service.fields.map("spec").unwrap_or(&none);
    let all = spec.list("ports").len();
    let chosen = || spec.maps("ports").filter(|it| it.int("nodePort").is_some_and(|port| port != 0)).count();
    let (node_ports, balancers) = match spec.str("type") {
        Some("NodePort") => (all, 0),
        Some("LoadBalancer") if spec.bool("allocateLoadBalancerNodePorts") == Some(false) => (chosen(), 1),
        Some("LoadBalancer") => (all, 1),
        _ => (0, 0),
    };
    NAMES.into_iter().zip([1, 1, node_ports, balancers]).map(|(name, it)| (name.into(), pieces(it))).collect()
}

#[cfg(test)]
mod tests {
    use super::usage;
    use crate::amounts::text;
    use crate::testing::object;

    #[track_caller]
    fn check(spec: &str, node_ports: u32, balancers: u32) {
        let expected = format!(
            "count/services=1,services=1,services.loadbalancers={balancers},services.nodeports={node_ports}"
        );
        assert_eq!(text(&usage(&object(&format!(r#"{{"spec":{spec}}}"#)))), expected);
    }

    #[test]
    fn node_ports_count_where_they_are_wanted() {
        let ports = r#""ports":[{"port":80},{"port":81,"nodePort":30001}]"#;
        check("{}", 0, 0);
        check(&format!(r#"{{"type":"ClusterIP",{ports}}}"#), 0, 0);
        check(&format!(r#"{{"type":"NodePort",{ports}}}"#), 2, 0);
        check(&format!(r#"{{"type":"LoadBalancer",{ports}}}"#), 2, 1);
        check(&format!(r#"{{"type":"LoadBalancer","allocateLoadBalancerNodePorts":true,{ports}}}"#), 2, 1);
        check(&format!(r#"{{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,{ports}}}"#), 1, 1);
    }
}
