//! Tests of the defaults and the validation of pods.

use keelson_object::{Map, Value};
use keelson_registry::Strategy as _;

use super::Pod;
use crate::shared::pod_template::Gates;
use crate::shared::testing::{context, decoded, errors_of, text, tree};

fn pod(spec: &str) -> String {
    format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}")
}

/// Checks the value at `path` after defaulting.
fn check_default(spec: &str, path: &str, expected: &str) {
    let object = decoded(&Pod(Gates::default()), "v1 Pod", &pod(spec));
    let found = object.fields.at(path).cloned().unwrap_or_default();
    assert_eq!(found, tree(expected), "{path} of {spec} is {}", text(&found));
}

fn check_class(spec: &str, expected: &str) {
    let mut object = decoded(&Pod(Gates::default()), "v1 Pod", &pod(spec));
    Pod(Gates::default()).prepare_create(&context(), &mut object);
    let class = object.fields.at("status.qosClass").and_then(Value::as_str);
    assert_eq!(class, Some(expected), "{spec}");
}

fn check_errors(spec: &str, expected: &[&str]) {
    assert_eq!(errors_of(&Pod(Gates::default()), "v1 Pod", &pod(spec)), expected, "{spec}");
}

#[test]
fn a_pod_gets_what_templates_do_not() {
    check_default("{}", "spec.enableServiceLinks", "true");
    check_default(r#"{"enableServiceLinks": false}"#, "spec.enableServiceLinks", "false");
    check_default(r#"{"terminationGracePeriodSeconds": -5}"#, "spec.terminationGracePeriodSeconds", "1");
    check_default(r#"{"terminationGracePeriodSeconds": 0}"#, "spec.terminationGracePeriodSeconds", "0");
}

#[test]
fn ports_are_ports_of_the_node_on_its_network() {
    let ports = |host: bool, spec: &str| {
        let text = format!("{{\"hostNetwork\": {host}, \"containers\": [{{\"ports\": [{spec}]}}]}}");
        let object = decoded(&Pod(Gates::default()), "v1 Pod", &pod(&text));
        let spec = object.fields.map("spec").cloned().unwrap_or_default();
        spec.maps("containers")
            .next()
            .map_or(0, |it| it.maps("ports").next().and_then(|port| port.int("hostPort")).unwrap_or_default())
    };
    assert_eq!(ports(true, r#"{"containerPort": 80}"#), 80);
    assert_eq!(ports(true, r#"{"containerPort": 80, "hostPort": 81}"#), 81);
    assert_eq!(ports(false, r#"{"containerPort": 80}"#), 0);
}

#[test]
fn who_limits_requests_as_much() {
    let requests = |resources: &str, expected: &str| {
        for list in ["containers", "initContainers"] {
            let spec = format!("{{\"{list}\": [{{\"name\": \"a\", \"resources\": {resources}}}]}}");
            let object = decoded(&Pod(Gates::default()), "v1 Pod", &pod(&spec));
            let spec = object.fields.map("spec").cloned().unwrap_or_default();
            let found = spec.maps(list).next().and_then(|it| it.at("resources.requests")).cloned();
            assert_eq!(found.unwrap_or_default(), tree(expected), "{list} {resources}");
        }
    };
    requests(r#"{"limits": {"cpu": "1", "memory": "1Gi"}}"#, r#"{"cpu": "1", "memory": "1Gi"}"#);
    requests(
        r#"{"limits": {"cpu": "1"}, "requests": {"cpu": "1m", "x.y/z": "2"}}"#,
        r#"{"cpu": "1m", "x.y/z": "2"}"#,
    );
    requests(r#"{"limits": {}}"#, "null");
}

#[test]
fn a_pod_with_limits_of_its_own_requests_what_its_containers_do() {
    let containers = r#""containers": [{"resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "500m"}}}]"#;
    let init = r#""initContainers": [
        {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": {"cpu": "3"}}}]"#;
    let limits = r#""resources": {"limits": {"cpu": "8", "memory": "1Gi"}}"#;
    let at = "spec.resources.requests";
    check_default(&format!("{{{limits}}}"), at, r#"{"cpu": "8", "memory": "1Gi"}"#);
    check_default(&format!("{{{limits}, {containers}}}"), at, r#"{"cpu": "1500m", "memory": "1Gi"}"#);
    check_default(&format!("{{{limits}, {containers}, {init}}}"), at, r#"{"cpu": "4", "memory": "1Gi"}"#);
    check_default(&format!("{{{containers}}}"), "spec.resources", "null");
}

#[test]
fn a_pod_limits_huge_pages_as_its_containers_do() {
    let containers = r#""containers": [{"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}}]"#;
    let spec = format!("{{{containers}, \"resources\": {{\"requests\": {{\"cpu\": \"1\"}}}}}}");
    check_default(&spec, "spec.resources.limits", r#"{"hugepages-2Mi": "4Mi"}"#);
    check_default(&spec, "spec.resources.requests", r#"{"cpu": "1", "hugepages-2Mi": "4Mi"}"#);
}

#[test]
fn the_class_follows_from_requests_and_limits() {
    let both = r#"{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}"#;
    let one = r#"{"resources": {"limits": {"cpu": "1"}}}"#;
    let fewer = r#"{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1m"}}}"#;
    let other = r#"{"resources": {"limits": {"x.y/z": "1"}}}"#;
    let none = "{}";
    let cases: [(&[&str], &str); 8] = [
        (&[], "BestEffort"),
        (&[none, none], "BestEffort"),
        (&[other], "BestEffort"),
        (&[both], "Guaranteed"),
        (&[both, both], "Guaranteed"),
        (&[both, none], "Burstable"),
        (&[one], "Burstable"),
        (&[fewer], "Burstable"),
    ];
    for (containers, expected) in cases {
        check_class(&format!("{{\"containers\": [{}]}}", containers.join(",")), expected);
    }
    check_class(&format!("{{\"containers\": [{both}], \"initContainers\": [{none}]}}"), "Burstable");
}

#[test]
fn resources_of_the_pod_itself_decide_its_class() {
    let pod_limits = r#""resources": {"limits": {"cpu": "1", "memory": "1Gi"}}"#;
    check_class(&format!("{{{pod_limits}, \"containers\": [{{}}]}}"), "Guaranteed");
    check_class(r#"{"resources": {"requests": {"cpu": "1"}}}"#, "Burstable");
    check_class(r#"{"resources": {}}"#, "BestEffort");
}

#[test]
fn a_new_pod_is_pending_whatever_it_says() {
    let text = r#"{"metadata": {"name": "a"}, "status": {"phase": "Running", "podIP": "10.0.0.1"}}"#;
    let mut object = decoded(&Pod(Gates::default()), "v1 Pod", text);
    Pod(Gates::default()).prepare_create(&context(), &mut object);
    let expected = tree(r#"{"phase": "Pending", "qosClass": "BestEffort"}"#);
    assert_eq!(object.fields.map("status"), expected.as_map());
    assert_eq!(object.meta.generation, 1);
}

#[test]
fn a_gated_pod_says_so() {
    let mut object =
        decoded(&Pod(Gates::default()), "v1 Pod", &pod(r#"{"schedulingGates": [{"name": "x.y/z"}]}"#));
    Pod(Gates::default()).prepare_create(&context(), &mut object);
    let status = object.fields.map("status").cloned().unwrap_or_default();
    let condition = status.maps("conditions").next().expect("a condition");
    let said = ["type", "status", "reason"].map(|field| condition.str(field).unwrap_or_default());
    assert_eq!(said, ["PodScheduled", "False", "SchedulingGated"]);
}

#[test]
fn containers_have_unique_names_and_an_image() {
    check_errors("{}", &["spec.containers: Required value"]);
    check_errors(
        r#"{"containers": [{"name": "A", "image": "x"}]}"#,
        &[
            "spec.containers[0].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case \
           alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
           or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    check_errors(
        r#"{"containers": [{"name": "a"}, {"name": "a", "image": "x"}]}"#,
        &["spec.containers[0].image: Required value", "spec.containers[1].name: Duplicate value: \"a\""],
    );
    check_errors(
        r#"{"containers": [{"name": "a", "image": "x"}], "initContainers": [{"name": "a"}]}"#,
        &[
            "spec.initContainers[0].image: Required value",
            "spec.initContainers[0].name: Duplicate value: \"a\"",
        ],
    );
    check_errors(
        r#"{"containers": [{"image": "x"}, {"image": "x"}]}"#,
        &[
            "spec.containers[0].name: Required value",
            "spec.containers[1].name: Required value",
            "spec.containers[1].name: Duplicate value: \"\"",
        ],
    );
}

#[test]
fn a_pod_restarts_in_one_of_three_ways() {
    let containers = r#""containers": [{"name": "a", "image": "x"}]"#;
    for policy in ["Always", "OnFailure", "Never"] {
        check_errors(&format!("{{{containers}, \"restartPolicy\": \"{policy}\"}}"), &[]);
    }
    check_errors(
        &format!("{{{containers}, \"restartPolicy\": \"Nope\"}}"),
        &["spec.restartPolicy: Unsupported value: \"Nope\": supported values: \"Always\", \"OnFailure\", \
           \"Never\""],
    );
}

#[test]
fn defaulting_twice_changes_nothing() {
    let spec = r#"{"hostNetwork": true, "volumes": [{"name": "v"}], "resources": {"limits": {"cpu": "2"}},
        "containers": [{"name": "a", "image": "x", "ports": [{"containerPort": 1}], "livenessProbe": {"grpc":
        {"port": 1}}, "resources": {"limits": {"cpu": "1u"}}}]}"#;
    let once = decoded(&Pod(Gates::default()), "v1 Pod", &pod(spec));
    let mut twice = once.clone();
    Pod(Gates::default()).default(&mut twice);
    assert_eq!(once.fields, twice.fields);
    assert_ne!(once.fields, Map::new());
}
