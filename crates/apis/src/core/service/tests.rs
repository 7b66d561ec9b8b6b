//! Tests of defaults and linked fields of services.

use keelson_object::{FieldErrors, Object};
use keelson_registry::Strategy as _;

use super::{Service, columns, linked_fields};
use crate::catalog::Settings;
use crate::shared::testing::{cells, context, decoded, text, tree};

fn strategy() -> Service {
    Service::new(&Settings::default())
}

fn service(spec: &str) -> Object {
    decoded(&strategy(), "v1 Service", &format!("{{\"spec\": {spec}}}"))
}

fn check_default(spec: &str, path: &str, expected: &str) {
    let found = service(spec).fields.at(path).cloned().unwrap_or_default();
    assert_eq!(found, tree(expected), "{path} of {spec} is {}", text(&found));
}

/// Checks the spec after an update from `old` to `new`, without defaults.
fn check_update(old: &str, new: &str, expected: &str) {
    let (old, mut object) = (service(old), service(new));
    linked_fields::settle(object.fields.map_mut("spec"), old.fields.map("spec").expect("a spec"));
    strategy().prepare_update(&context(), &mut object, &old);
    let mut spec = object.fields.map("spec").cloned().unwrap_or_default();
    for field in ["sessionAffinity", "internalTrafficPolicy", "ports", "allocateLoadBalancerNodePorts"] {
        if tree(new).as_map().is_some_and(|it| !it.contains(field)) {
            spec.remove(field);
        }
    }
    assert_eq!(Some(&spec), tree(expected).as_map(), "{new} gives {}", text(&spec.clone().into()));
}

#[test]
fn traffic_within_a_zone_or_node_came_with_a_feature() {
    let check = |off: &[&str], distribution: &str, expected: usize| {
        let off = off.iter().map(|it| (*it).to_owned()).collect();
        let strategy = Service::new(&Settings { off, ..Settings::default() });
        let object =
            service(&format!(r#"{{"ports": [{{"port": 80}}], "trafficDistribution": "{distribution}"}}"#));
        let mut errors = FieldErrors::default();
        strategy.check(&object, None, &mut errors);
        let text = format!("{errors:?}");
        assert_eq!(text.matches("spec.trafficDistribution").count(), expected, "{distribution}: {text}");
    };
    let gate = &["PreferSameTrafficDistribution"];
    check(&[], "PreferSameNode", 0);
    check(gate, "PreferSameNode", 1);
    check(gate, "PreferSameZone", 1);
    check(gate, "PreferClose", 0);
}

#[test]
fn a_service_has_a_type_and_no_affinity() {
    check_default("{}", "spec.type", "\"ClusterIP\"");
    check_default("{}", "spec.sessionAffinity", "\"None\"");
    check_default(r#"{"sessionAffinityConfig": {"clientIP": {}}}"#, "spec.sessionAffinityConfig", "null");
    let clients = r#"{"sessionAffinity": "ClientIP"}"#;
    check_default(clients, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", "10800");
    let minute =
        r#"{"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}"#;
    check_default(minute, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", "60");
}

#[test]
fn ports_are_tcp_and_lead_to_the_same_port() {
    check_default(
        r#"{"ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]}"#,
        "spec.ports",
        r#"[{"port": 80, "protocol": "TCP", "targetPort": 80},
            {"port": 53, "protocol": "UDP", "targetPort": "dns"}]"#,
    );
}

#[test]
fn traffic_goes_anywhere_where_there_is_traffic() {
    for (spec, inside, outside) in [
        (r#"{"type": "ClusterIP"}"#, "\"Cluster\"", "null"),
        (r#"{"type": "ClusterIP", "externalIPs": ["1.2.3.4"]}"#, "\"Cluster\"", "\"Cluster\""),
        (r#"{"type": "NodePort"}"#, "\"Cluster\"", "\"Cluster\""),
        (r#"{"type": "LoadBalancer"}"#, "\"Cluster\"", "\"Cluster\""),
        (r#"{"type": "ExternalName"}"#, "null", "null"),
    ] {
        check_default(spec, "spec.internalTrafficPolicy", inside);
        check_default(spec, "spec.externalTrafficPolicy", outside);
    }
    check_default(r#"{"type": "LoadBalancer"}"#, "spec.allocateLoadBalancerNodePorts", "true");
    check_default(r#"{"type": "NodePort"}"#, "spec.allocateLoadBalancerNodePorts", "null");
}

#[test]
fn addresses_of_load_balancers_are_virtual() {
    let object = decoded(
        &strategy(),
        "v1 Service",
        r#"{"spec": {"type": "LoadBalancer"},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a"}]}}}"#,
    );
    let expected = tree(r#"[{"ip": "1.2.3.4", "ipMode": "VIP"}, {"hostname": "a"}]"#);
    assert_eq!(object.fields.at("status.loadBalancer.ingress"), Some(&expected));
}

#[test]
fn the_only_address_is_the_first_of_the_list() {
    let mut object = service(r#"{"clusterIP": "None"}"#);
    linked_fields::settle_new(object.fields.map_mut("spec"));
    assert_eq!(object.fields.at("spec.clusterIPs"), Some(&tree(r#"["None"]"#)));
}

#[test]
fn what_was_allocated_stays_unless_it_is_changed() {
    let old = r#"{"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}"#;
    let kept = r#"{"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}"#;
    check_update(old, "{}", kept);
    check_update(old, old, kept);
    check_update(
        old,
        r#"{"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.1"]}"#,
        r#"{"type": "ClusterIP", "clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}"#,
    );
}

#[test]
fn ports_of_nodes_stay_with_the_names_of_ports() {
    check_update(
        r#"{"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30001},
            {"name": "b", "port": 81, "nodePort": 30002}]}"#,
        r#"{"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 82, "nodePort": 30001}]}"#,
        r#"{"type": "NodePort", "externalTrafficPolicy": "Cluster", "ports": [
            {"name": "a", "port": 80, "targetPort": 80, "protocol": "TCP"},
            {"name": "b", "port": 82, "targetPort": 82, "protocol": "TCP", "nodePort": 30001}]}"#,
    );
    check_update(
        r#"{"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30001}]}"#,
        r#"{"type": "LoadBalancer", "ports": [{"name": "a", "port": 80}]}"#,
        r#"{"type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "ports": [
            {"name": "a", "port": 80, "targetPort": 80, "protocol": "TCP", "nodePort": 30001}]}"#,
    );
}

#[test]
fn what_the_new_type_has_no_use_for_goes() {
    check_update(
        r#"{"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}"#,
        r#"{"type": "ExternalName", "externalName": "a", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}"#,
        r#"{"type": "ExternalName", "externalName": "a"}"#,
    );
    check_update(
        r#"{"type": "LoadBalancer", "loadBalancerClass": "x.y/z", "externalTrafficPolicy": "Local",
            "healthCheckNodePort": 30000, "ports": [{"port": 80, "nodePort": 30001}]}"#,
        r#"{"type": "ClusterIP", "loadBalancerClass": "x.y/z", "externalTrafficPolicy": "Local",
            "allocateLoadBalancerNodePorts": true, "healthCheckNodePort": 30000,
            "ports": [{"port": 80, "nodePort": 30001}]}"#,
        r#"{"type": "ClusterIP", "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]}"#,
    );
}

#[test]
fn only_load_balancers_have_their_status() {
    let text =
        r#"{"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}"#;
    let old = decoded(&strategy(), "v1 Service", text);
    let (mut same, mut other) = (service(r#"{"type": "LoadBalancer"}"#), service("{}"));
    strategy().prepare_update(&context(), &mut same, &old);
    strategy().prepare_update(&context(), &mut other, &old);
    assert_eq!(same.fields.get("status"), old.fields.get("status"));
    assert_eq!(other.fields.get("status"), Some(&tree(r#"{"loadBalancer": {}}"#)));
}

#[test]
fn a_row_tells_every_address() {
    let row = |text: &str| cells(&columns(), &decoded(&strategy(), "v1 Service", text))[1..5].to_vec();
    assert_eq!(row("{}"), ["ClusterIP", "<none>", "<none>", "<none>"]);
    assert_eq!(
        row(r#"{"spec": {"type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "externalIPs": ["9.9.9.9"],
            "ports": [{"port": 80, "nodePort": 30001}, {"port": 443}]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "a-long-name.example"}, {"ip": "1.2.3.4"}]}}}"#),
        ["LoadBalancer", "10.0.0.1", "1.2.3.4,a-long-name.example,9.9.9.9", "80:30001/TCP,443/TCP"]
    );
    assert_eq!(row(r#"{"spec": {"type": "LoadBalancer"}}"#)[2], "<pending>");
    assert_eq!(row(r#"{"spec": {"type": "ExternalName", "externalName": "a.b"}}"#)[2], "a.b");
}
