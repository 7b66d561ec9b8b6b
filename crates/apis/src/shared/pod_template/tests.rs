//! Tests of the defaults of templates, part by part.

use keelson_object::Map;

use super::default_spec;
use crate::shared::testing::{text, tree};

/// The spec `given` becomes `expected`, apart from what every spec gets.
fn check(given: &str, expected: &str) {
    let mut value = tree(given);
    let spec = value.as_map_mut().expect("a spec");
    default_spec(spec);
    for (field, value) in [
        ("dnsPolicy", tree("\"ClusterFirst\"")),
        ("restartPolicy", tree("\"Always\"")),
        ("schedulerName", tree("\"default-scheduler\"")),
        ("securityContext", Map::new().into()),
        ("terminationGracePeriodSeconds", 30.into()),
    ] {
        assert_eq!(spec.remove(field), Some(value), "{field} of {given}");
    }
    assert_eq!(value, tree(expected), "{given} becomes {}", text(&value));
}

/// The container `given` gains `gained`, apart from what every container gets.
fn check_container(given: &str, expected: &str) {
    let mut value = tree(given);
    let container = value.as_map_mut().expect("a container");
    super::container::default(container);
    for field in ["imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"] {
        assert!(container.remove(field).is_some(), "{field} of {given}");
    }
    assert_eq!(value, tree(expected), "{given} becomes {}", text(&value));
}

fn check_volume(given: &str, expected: &str) {
    let mut value = tree(given);
    super::volume::default(value.as_map_mut().expect("a volume"));
    assert_eq!(value, tree(expected), "{given} becomes {}", text(&value));
}

#[test]
fn a_template_gets_nothing_that_only_pods_get() {
    check("{}", "{}");
    let given = r#"{"hostNetwork": true, "containers": [{"name": "a", "image": "a:1",
        "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}]}"#;
    let expected = r#"{"hostNetwork": true, "containers": [{"name": "a", "image": "a:1",
        "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {"limits": {"cpu": "1"}},
        "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File"}]}"#;
    check(given, expected);
}

#[test]
fn the_account_is_shown_under_both_names() {
    let both = r#"{"serviceAccount": "x", "serviceAccountName": "x"}"#;
    check(r#"{"serviceAccountName": "x"}"#, both);
    check(r#"{"serviceAccount": "x"}"#, both);
    check(r#"{"serviceAccount": "y", "serviceAccountName": "x"}"#, both);
}

#[test]
fn every_list_of_containers_is_filled_in() {
    for list in super::CONTAINER_LISTS {
        let container = r#"{"image": "a:latest", "imagePullPolicy": "Always", "terminationMessagePath":
            "/dev/termination-log", "terminationMessagePolicy": "File"}"#;
        check(
            &format!("{{\"{list}\": [{{\"image\": \"a:latest\"}}]}}"),
            &format!("{{\"{list}\": [{container}]}}"),
        );
    }
}

#[test]
fn probes_have_times_and_thresholds() {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        check_container(
            &format!("{{\"{probe}\": {{\"httpGet\": {{\"port\": 80}}, \"periodSeconds\": 5}}}}"),
            &format!(
                "{{\"{probe}\": {{\"httpGet\": {{\"port\": 80, \"path\": \"/\", \"scheme\": \"HTTP\"}},
                \"periodSeconds\": 5, \"timeoutSeconds\": 1, \"successThreshold\": 1, \"failureThreshold\": 3}}}}"
            ),
        );
    }
    check_container(
        r#"{"livenessProbe": {"grpc": {"port": 1}, "timeoutSeconds": 2, "failureThreshold": 0}}"#,
        r#"{"livenessProbe": {"grpc": {"port": 1, "service": ""}, "timeoutSeconds": 2, "periodSeconds": 10,
            "successThreshold": 1, "failureThreshold": 3}}"#,
    );
}

#[test]
fn handlers_and_variables_are_filled_in() {
    check_container(
        r#"{"lifecycle": {"postStart": {"httpGet": {"port": 1, "path": "/a"}}, "preStop": {"exec": {}}}}"#,
        r#"{"lifecycle": {"postStart": {"httpGet": {"port": 1, "path": "/a", "scheme": "HTTP"}},
            "preStop": {"exec": {}}}}"#,
    );
    check_container(
        r#"{"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}},
            {"name": "C", "valueFrom": {"fileKeyRef": {"key": "k"}}}]}"#,
        r#"{"env": [{"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}},
            {"name": "C", "valueFrom": {"fileKeyRef": {"key": "k", "optional": false}}}]}"#,
    );
}

#[test]
fn amounts_are_rounded_up_to_thousandths() {
    check_container(
        r#"{"resources": {"limits": {"cpu": "100u", "memory": "64Mi"}, "requests": {"cpu": "1500u"}}}"#,
        r#"{"resources": {"limits": {"cpu": "1m", "memory": "64Mi"}, "requests": {"cpu": "2m"}}}"#,
    );
    check(r#"{"overhead": {"cpu": "100u"}}"#, r#"{"overhead": {"cpu": "1m"}}"#);
}

#[test]
fn a_volume_without_source_is_an_empty_folder() {
    check_volume(r#"{"name": "a"}"#, r#"{"name": "a", "emptyDir": {}}"#);
    check_volume(r#"{"name": "a", "nfs": {"path": "/"}}"#, r#"{"name": "a", "nfs": {"path": "/"}}"#);
}

#[test]
fn files_of_volumes_have_a_mode() {
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        check_volume(
            &format!("{{\"{source}\": {{}}}}"),
            &format!("{{\"{source}\": {{\"defaultMode\": 420}}}}"),
        );
        let zero = format!("{{\"{source}\": {{\"defaultMode\": 0}}}}");
        check_volume(&zero, &zero);
    }
    check_volume(
        r#"{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "c"}},
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "x"}}]}}]}}"#,
        r#"{"projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}, {"configMap": {"name": "c"}},
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}]}}]}}"#,
    );
}

#[test]
fn sources_have_defaults_of_their_own() {
    let cases = [
        (r#"{"hostPath": {"path": "/a"}}"#, r#"{"hostPath": {"path": "/a", "type": ""}}"#),
        (r#"{"iscsi": {}}"#, r#"{"iscsi": {"iscsiInterface": "default"}}"#),
        (
            r#"{"rbd": {"pool": ""}}"#,
            r#"{"rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}"#,
        ),
        (r#"{"scaleIO": {}}"#, r#"{"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}"#),
        (
            r#"{"azureDisk": {"diskName": "d"}}"#,
            r#"{"azureDisk": {"diskName": "d", "cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared",
                "readOnly": false}}"#,
        ),
        (
            r#"{"image": {"reference": "a:1"}}"#,
            r#"{"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}"#,
        ),
        (
            r#"{"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}"#,
            r#"{"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}}"#,
        ),
    ];
    for (given, expected) in cases {
        check_volume(given, expected);
    }
}
