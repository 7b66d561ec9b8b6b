//! Rules that depend on features and on the operator; what holds by default is in testdata/validation/pod.

use keelson_object::{FieldErrors, Path};

use crate::shared::pod_template::rules::{PodRules, check_spec};
use crate::shared::testing::tree;

/// Checks the errors of a spec that has `fields` beside the required ones.
fn check(rules: PodRules, fields: &str, expected: &[&str]) {
    let text = format!(
        r#"{{"terminationGracePeriodSeconds": 30, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", {fields}}}"#
    );
    let mut errors = FieldErrors::default();
    let spec = tree(&text);
    check_spec(spec.as_map().expect("a map"), None, &rules, &Path::root("spec"), &mut errors);
    let found: Vec<String> = errors.iter().map(|it| it.to_string()).collect();
    assert_eq!(found, expected, "{fields}");
}

fn container(fields: &str) -> String {
    format!(
        r#"{{"name": "a", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File", {fields}}}"#
    )
}

#[test]
fn privileged_containers_are_up_to_the_operator() {
    let privileged =
        format!(r#""containers": [{}]"#, container(r#""securityContext": {"privileged": true}"#));
    check(PodRules::default(), &privileged, &[]);
    let strict = PodRules { privileged: false, ..PodRules::default() };
    let expected = "spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy";
    check(strict, &privileged, &[expected]);
    let modest = format!(r#""containers": [{}]"#, container(r#""securityContext": {"privileged": false}"#));
    check(strict, &modest, &[]);
}

#[test]
fn signals_are_those_of_the_system() {
    let check_signal = |os: &str, signal: &str, expected: &[&str]| {
        let stop = container(&format!(r#""lifecycle": {{"stopSignal": "{signal}"}}"#));
        check(PodRules::default(), &format!(r#"{os} "containers": [{stop}]"#), expected);
    };
    let at = "spec.containers[0].lifecycle.stopSignal";
    let (linux, windows) = (r#""os": {"name": "linux"},"#, r#""os": {"name": "windows"},"#);
    check_signal(linux, "SIGRTMIN+15", &[]);
    check_signal(windows, "SIGTERM", &[]);
    check_signal(
        "",
        "SIGTERM",
        &[&format!("{at}: Forbidden: may not be set for containers with empty `spec.os.name`")],
    );
    let supported = "supported values: \"SIGKILL\", \"SIGTERM\"";
    check_signal(windows, "SIGHUP", &[&format!("{at}: Unsupported value: \"SIGHUP\": {supported}")]);
    let all: Vec<String> = super::handlers::SIGNALS.iter().map(|it| format!("{it:?}")).collect();
    let unknown = format!("{at}: Unsupported value: \"SIGNOPE\": supported values: {}", all.join(", "));
    check_signal(linux, "SIGNOPE", &[&unknown]);
}

#[test]
fn without_their_feature_containers_do_not_say_when_they_restart() {
    let rules = PodRules { container_restart_rules: false, ..PodRules::default() };
    let regular = container(r#""restartPolicy": "Never""#);
    let init = container(r#""restartPolicy": "Never""#).replace(r#""a""#, r#""b""#);
    check(
        rules,
        &format!(r#""containers": [{regular}], "initContainers": [{init}]"#),
        &[
            "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers",
            "spec.initContainers[0].restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
        ],
    );
}

#[test]
fn without_their_feature_sidecars_have_no_rules() {
    let rules = PodRules { restart_all_containers: false, ..PodRules::default() };
    let rule = r#"[{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]"#;
    let regular = container(&format!(r#""restartPolicy": "Never", "restartPolicyRules": {rule}"#));
    let init = container(&format!(r#""restartPolicy": "Always", "restartPolicyRules": {rule}"#));
    check(
        rules,
        &format!(r#""containers": [{regular}], "initContainers": [{}]"#, init.replace(r#""a""#, r#""b""#)),
        &[
            "spec.containers[0].restartPolicyRules[0].action: Unsupported value: \"RestartAllContainers\": supported \
             values: \"Restart\"",
            "spec.initContainers[0].restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init \
             containers with restart policy Always",
        ],
    );
}

#[test]
fn without_their_feature_files_are_no_sources() {
    let rules = PodRules { env_files: false, ..PodRules::default() };
    check(
        rules,
        &format!(r#""containers": [{}]"#, container(r#""env": [{"name": "A", "valueFrom": {}}]"#)),
        &["spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, \
           `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"],
    );
}

#[test]
fn what_an_old_object_did_it_may_go_on_to_do() {
    let pages = format!(
        r#""containers": [{}]"#,
        container(r#""resources": {"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}"#)
    );
    check(PodRules { indivisible_huge_pages: true, ..PodRules::default() }, &pages, &[]);
    let policy =
        container(r#""resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]"#);
    let init = format!(
        r#""containers": [{}], "initContainers": [{}]"#,
        container(r#""tty": true"#),
        policy.replace(r#""a""#, r#""b""#)
    );
    check(PodRules { restart_resize_of_init: true, ..PodRules::default() }, &init, &[]);
}
