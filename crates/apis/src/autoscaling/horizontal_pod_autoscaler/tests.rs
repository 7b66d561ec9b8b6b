//! Tests of the defaults, the `v1` form and the columns of autoscalers.

use keelson_object::{Object, Value};
use keelson_registry::Strategy;
use keelson_schema::Schema;

use super::columns::{reference, targets};
use super::{CONVERSION, HorizontalPodAutoscaler};
use crate::catalog::Settings;
use crate::shared::testing::{context, decoded, text, tree};

/// An autoscaler strategy with its feature gate.
fn hpa() -> HorizontalPodAutoscaler {
    let features = [String::from("HPAConfigurableTolerance")].into();
    HorizontalPodAutoscaler::new(&Settings { features, ..Settings::default() })
}

fn in_version(version: &str, spec: &str, annotations: &str) -> Object {
    let text = format!(
        "{{\"apiVersion\": \"autoscaling/{version}\", \"metadata\": {{\"name\": \"a\", \"annotations\": {annotations}}}, \
         \"spec\": {spec}}}"
    );
    decoded(&hpa(), &format!("autoscaling/{version} HorizontalPodAutoscaler"), &text)
}

fn v2(spec: &str) -> Object {
    in_version("v2", spec, "null")
}

/// Converts from `v1` to the stored form, as decoding does.
fn stored(mut object: Object) -> Object {
    (CONVERSION.to_stored)(&mut object);
    object.api_version = "autoscaling/v2".into();
    hpa().default(&mut object);
    arranged("v2", object)
}

fn shown(mut object: Object) -> Object {
    (CONVERSION.from_stored)(&mut object);
    arranged("v1", object)
}

fn arranged(version: &str, mut object: Object) -> Object {
    let schema = Schema::builtin("autoscaling", version, "HorizontalPodAutoscaler").expect("built in");
    schema.arrange(&mut object);
    object
}

fn annotation(object: &Object, name: &str) -> String {
    let name = format!("autoscaling.alpha.kubernetes.io/{name}");
    object.meta.annotations.get(&name).unwrap_or_default().to_owned()
}

#[track_caller]
fn check(object: &Object, path: &str, expected: &str) {
    let found = object.fields.at(path).cloned().unwrap_or_default();
    assert_eq!(found, tree(expected), "{path} is {}", text(&found));
}

const CPU_80: &str = r#"[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]"#;

#[test]
fn processors_should_be_busy_if_nothing_is_said() {
    check(&v2("{}"), "spec.minReplicas", "1");
    check(&v2("{}"), "spec.metrics", CPU_80);
    let old = in_version("v1", "{}", "null");
    check(&old, "spec.minReplicas", "1");
    check(&old, "spec.metrics", "null");
    check(&stored(old), "spec.metrics", CPU_80);
}

#[test]
fn v2_says_nothing_in_annotations() {
    let object =
        in_version("v2", "{}", r#"{"autoscaling.alpha.kubernetes.io/metrics": "[]", "other": "stays"}"#);
    assert_eq!(text(&object.meta.annotations.to_value()), r#"{"other":"stays"}"#);
}

#[test]
fn rules_are_filled_in_where_there_is_behavior() {
    check(&v2("{}"), "spec.behavior", "null");
    let percent = r#"{"type": "Percent", "value": 100, "periodSeconds": 15}"#;
    let up = format!(
        r#"{{"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
            "policies": [{{"type": "Pods", "value": 4, "periodSeconds": 15}}, {percent}]}}"#
    );
    check(&v2(r#"{"behavior": {}}"#), "spec.behavior.scaleUp", &up);
    let down = format!(r#"{{"selectPolicy": "Max", "policies": [{percent}]}}"#);
    check(&v2(r#"{"behavior": {}}"#), "spec.behavior.scaleDown", &down);
    let given = r#"{"behavior": {"scaleDown": {"selectPolicy": "Disabled", "tolerance": "50m"}}}"#;
    let down = format!(r#"{{"selectPolicy": "Disabled", "tolerance": "50m", "policies": [{percent}]}}"#);
    check(&v2(given), "spec.behavior.scaleDown", &down);
}

#[test]
fn a_tolerance_needs_its_feature() {
    let given = r#"{"behavior": {"scaleUp": {"tolerance": "50m"}}}"#;
    let without = HorizontalPodAutoscaler::new(&Settings::default());
    let (mut object, old) = (v2(given), v2(given));
    without.prepare_create(&context(), &mut object);
    check(&object, "spec.behavior.scaleUp.tolerance", "null");
    let mut object = v2(given);
    without.prepare_update(&context(), &mut object, &old);
    check(&object, "spec.behavior.scaleUp.tolerance", "\"50m\"");
    hpa().prepare_create(&context(), &mut object);
    check(&object, "spec.behavior.scaleUp.tolerance", "\"50m\"");
}

#[test]
fn processors_have_a_field_in_v1() {
    let object =
        stored(in_version("v1", r#"{"maxReplicas": 3, "targetCPUUtilizationPercentage": 50}"#, "null"));
    check(&object, "spec.metrics", &CPU_80.replace("80", "50"));
    check(&object, "spec.targetCPUUtilizationPercentage", "null");
    let back = shown(object);
    check(
        &back,
        "spec",
        r#"{"scaleTargetRef": {"kind": "", "name": ""}, "minReplicas": 1, "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 50}"#,
    );
    check(&back, "status", r#"{"currentReplicas": 0, "desiredReplicas": 0}"#);
    assert!(back.meta.annotations.is_empty());
}

/// Each metric in `v2` and in the annotation of `v1`.
const METRICS: [(&str, &str); 8] = [
    (
        r#"{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s","apiVersion":"v1"},"target":{"type":"Value","value":"2k"},"metric":{"name":"hits"}}}"#,
        r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","targetValue":"2k"}}"#,
    ),
    (
        r#"{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"target":{"type":"AverageValue","averageValue":"5"},"metric":{"name":"hits","selector":{"matchLabels":{"a":"b"}}}}}"#,
        r#"{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"hits","targetValue":"0","selector":{"matchLabels":{"a":"b"}},"averageValue":"5"}}"#,
    ),
    (
        r#"{"type":"Pods","pods":{"metric":{"name":"hits","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"100m"}}}"#,
        r#"{"type":"Pods","pods":{"metricName":"hits","targetAverageValue":"100m","selector":{"matchLabels":{"a":"b"}}}}"#,
    ),
    (
        r#"{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":70}}}"#,
        r#"{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":70}}"#,
    ),
    (
        r#"{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"1Gi"}}}"#,
        r#"{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"1Gi"}}"#,
    ),
    (
        r#"{"type":"ContainerResource","containerResource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70},"container":"c"}}"#,
        r#"{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":70,"container":"c"}}"#,
    ),
    (
        r#"{"type":"External","external":{"metric":{"name":"q"},"target":{"type":"Value","value":"30"}}}"#,
        r#"{"type":"External","external":{"metricName":"q","targetValue":"30"}}"#,
    ),
    (
        r#"{"type":"External","external":{"metric":{"name":"q","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"30"}}}"#,
        r#"{"type":"External","external":{"metricName":"q","metricSelector":{"matchLabels":{"a":"b"}},"targetAverageValue":"30"}}"#,
    ),
];

#[test]
fn other_metrics_are_in_an_annotation_in_v1() {
    for (new, old) in METRICS {
        let object = arranged("v2", v2(&format!("{{\"metrics\": [{new}]}}")));
        let back = shown(object.clone());
        assert_eq!(annotation(&back, "metrics"), format!("[{old}]"));
        assert_eq!(text(stored(back).fields.at("spec.metrics").unwrap()), format!("[{new}]"));
    }
}

#[test]
fn processors_come_last_when_both_are_there() {
    let annotations = r#"{"autoscaling.alpha.kubernetes.io/metrics":
        "[{\"type\":\"Pods\",\"pods\":{\"metricName\":\"hits\",\"targetAverageValue\":\"1000m\"}}]", "other": "stays"}"#;
    let object = stored(in_version("v1", r#"{"targetCPUUtilizationPercentage": 80}"#, annotations));
    let first = r#"{"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "1"}}}"#;
    check(&object, "spec.metrics", &CPU_80.replacen('[', &format!("[{first}, "), 1));
    assert_eq!(text(&object.meta.annotations.to_value()), r#"{"other":"stays"}"#);
}

#[test]
fn what_cannot_be_read_is_as_if_it_were_not_there() {
    for wrong in [
        "{",
        "{}",
        "[7]",
        r#"[{\"type\":7}]"#,
        r#"[{\"type\":\"Pods\",\"pods\":{\"targetAverageValue\":\"x\"}}]"#,
    ] {
        let annotations = format!("{{\"autoscaling.alpha.kubernetes.io/metrics\": {}}}", quoted(wrong));
        let object = stored(in_version("v1", "{}", &annotations));
        check(&object, "spec.metrics", CPU_80);
        assert!(object.meta.annotations.is_empty(), "{wrong}");
    }
}

fn quoted(text: &str) -> String {
    if text.contains('\\') { format!("\"{text}\"") } else { format!("{:?}", text) }
}

#[test]
fn behavior_is_written_as_upstream_has_it_inside() {
    let object = v2(r#"{"behavior": {"scaleDown": {"selectPolicy": "Min", "stabilizationWindowSeconds": 300,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "tolerance": "0.05"}}}"#);
    let object = arranged("v2", object);
    let back = shown(object.clone());
    assert_eq!(
        annotation(&back, "behavior"),
        r#"{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":300,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":60}],"Tolerance":"50m"}}"#
    );
    assert_eq!(stored(back), object);
    let annotations =
        r#"{"autoscaling.alpha.kubernetes.io/behavior": "{\"scaleDown\":{\"selectPolicy\":\"Disabled\"}}"}"#;
    let by_hand = stored(in_version("v1", "{}", annotations));
    check(&by_hand, "spec.behavior.scaleDown.selectPolicy", "\"Disabled\"");
    let nothing = r#"{"autoscaling.alpha.kubernetes.io/behavior": "{\"ScaleUp\":null,\"ScaleDown\":null}"}"#;
    check(&stored(in_version("v1", "{}", nothing)), "spec.behavior", "null");
}

#[test]
fn the_status_is_in_annotations_in_v1_and_comes_back() {
    let mut object = v2("{}");
    let status = r#"{"observedGeneration":2,"lastScaleTime":"2024-01-01T00:00:00Z","currentReplicas":3,"desiredReplicas":4,"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"100m","averageUtilization":42}}},{"type":"Pods","pods":{"metric":{"name":"hits"},"current":{"averageValue":"7"}}}],"conditions":[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"r","message":"m"}]}"#;
    object.fields.set("status", tree(status));
    let object = arranged("v2", object);
    let back = shown(object.clone());
    check(
        &back,
        "status",
        r#"{"observedGeneration": 2, "lastScaleTime": "2024-01-01T00:00:00Z", "currentReplicas": 3,
        "desiredReplicas": 4, "currentCPUUtilizationPercentage": 42}"#,
    );
    assert_eq!(
        annotation(&back, "current-metrics"),
        r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":42,"currentAverageValue":"100m"}},{"type":"Pods","pods":{"metricName":"hits","currentAverageValue":"7"}}]"#
    );
    assert_eq!(
        annotation(&back, "conditions"),
        r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"r","message":"m"}]"#
    );
    let again = stored(back);
    assert_eq!(text(again.fields.get("status").unwrap()), status);
    assert_eq!(again, object);
}

#[track_caller]
fn check_targets(metrics: &str, statuses: &str, expected: &str) {
    let mut object = v2(&format!("{{\"metrics\": {metrics}}}"));
    object.fields.map_mut("status").set("currentMetrics", tree(statuses));
    assert_eq!(targets(&object), expected.into());
}

#[test]
fn targets_are_shown_beside_what_is_measured() {
    check_targets(CPU_80, "[]", "cpu: <unknown>/80%");
    let busy =
        r#"[{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 42}}}]"#;
    check_targets(CPU_80, busy, "cpu: 42%/80%");
    let (object, pods, external) = (METRICS[0].0, METRICS[2].0, METRICS[7].0);
    check_targets(&format!("[{object}]"), "[]", "<unknown>/2k");
    check_targets(&format!("[{pods}]"), r#"[{"type": "Pods", "pods": {"current": {}}}]"#, "<nil>/100m");
    check_targets(
        &format!("[{external}]"),
        r#"[{"type": "External", "external": {"current": {}}}]"#,
        "<unknown>/30 (avg)",
    );
    let all: Vec<&str> = METRICS.iter().map(|(new, _)| *new).collect();
    check_targets(&format!("[{}]", all.join(",")), "[]", "<unknown>/2k, <unknown>/5 (avg) + 6 more...");
    assert_eq!(targets(&Object::default()), "<none>".into());
    let named = v2(r#"{"scaleTargetRef": {"kind": "Deployment", "name": "web"}}"#);
    assert_eq!(reference(&named), "Deployment/web".into());
    assert_eq!(named.fields.at("spec.scaleTargetRef.apiVersion"), None::<&Value>);
}
