//! Tests of the defaults and the validation of deployments.

use keelson_object::{Object, Value};
use keelson_registry::Strategy;

use super::Deployment;
use crate::catalog::Settings;
use crate::shared::testing::{context, decoded, errors_of, text, tree};

const KIND: &str = "apps/v1 Deployment";

fn deployment(spec: &str) -> String {
    format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}")
}

/// A spec that is right, and `more`.
fn right_and(more: &str) -> String {
    let more = if more.is_empty() { String::new() } else { format!(", {more}") };
    format!(
        "{{\"selector\": {{\"matchLabels\": {{\"a\": \"b\"}}}}, \"template\": {{\"metadata\": {{\"labels\": \
        {{\"a\": \"b\"}}}}, \"spec\": {{\"containers\": [{{\"name\": \"c\", \"image\": \"i\"}}]}}}}{more}}}"
    )
}

fn check(spec: &str, expected: &[&str]) {
    assert_eq!(
        errors_of(&Deployment::new(&Settings::default()), KIND, &deployment(spec)),
        expected,
        "{spec}"
    );
}

#[test]
fn a_deployment_and_its_template_are_filled_in() {
    let object = decoded(&Deployment::new(&Settings::default()), KIND, &deployment(&right_and("")));
    let at = |path: &str, expected: &str| {
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} is {}", text(&found));
    };
    at("spec.replicas", "1");
    at(
        "spec.strategy",
        r#"{"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}"#,
    );
    at("spec.template.spec.restartPolicy", "\"Always\"");
    at("spec.template.spec.enableServiceLinks", "null");
    let container = object.fields.at("spec.template.spec.containers").and_then(Value::as_list);
    let policy = container.and_then(|list| list[0].as_map()?.str("imagePullPolicy"));
    assert_eq!(policy, Some("Always"));
}

#[test]
fn selector_and_template_must_be_there_and_fit() {
    check(&right_and(""), &[]);
    check(
        "{}",
        &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            "spec.template.spec.containers: Required value",
        ],
    );
    check(
        r#"{"selector": {}, "template": {"spec": {"containers": [{"name": "c"}]}}}"#,
        &[
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
            "spec.template.spec.containers[0].image: Required value",
        ],
    );
    check(
        &right_and("").replacen("\"b\"", "\"c\"", 1),
        &["spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template \
           `labels`"],
    );
}

#[test]
fn a_deployment_always_restarts_its_pods() {
    let never = right_and("").replace("\"containers\"", "\"restartPolicy\": \"Never\", \"containers\"");
    let expected =
        "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"";
    check(&never, &[expected]);
    let wrong = right_and("").replace("\"containers\"", "\"restartPolicy\": \"Nope\", \"containers\"");
    check(
        &wrong,
        &[
            "spec.template.spec.restartPolicy: Unsupported value: \"Nope\": supported values: \"Always\", \
             \"OnFailure\", \"Never\"",
            "spec.template.spec.restartPolicy: Unsupported value: \"Nope\": supported values: \"Always\"",
        ],
    );
    let deadline = right_and("").replace("\"containers\"", "\"activeDeadlineSeconds\": 5, \"containers\"");
    check(
        &deadline,
        &["spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not \
           Supported"],
    );
}

#[test]
fn a_strategy_is_one_of_two() {
    let strategy = |text: &str| right_and(&format!("\"strategy\": {text}"));
    check(&strategy(r#"{"type": "Recreate"}"#), &[]);
    check(
        &strategy(r#"{"type": "Recreate", "rollingUpdate": {}}"#),
        &["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    );
    check(
        &strategy(r#"{"type": "Nope"}"#),
        &["spec.strategy: Unsupported value: {\"Type\":\"Nope\",\"RollingUpdate\":null}: supported values: \
           \"Recreate\", \"RollingUpdate\""],
    );
    check(
        &strategy(r#"{"type": "Nope", "rollingUpdate": {"maxSurge": "5%"}}"#),
        &["spec.strategy: Unsupported value: {\"Type\":\"Nope\",\"RollingUpdate\":{\"MaxUnavailable\":0,\
           \"MaxSurge\":\"5%\"}}: supported values: \"Recreate\", \"RollingUpdate\""],
    );
}

#[test]
fn a_rolling_update_gets_somewhere() {
    let rolling = |text: &str| right_and(&format!("\"strategy\": {{\"rollingUpdate\": {text}}}"));
    let at = "spec.strategy.rollingUpdate";
    check(&rolling(r#"{"maxSurge": 0, "maxUnavailable": 1}"#), &[]);
    check(&rolling(r#"{"maxSurge": "100%", "maxUnavailable": 0}"#), &[]);
    check(
        &rolling(r#"{"maxSurge": 0, "maxUnavailable": 0}"#),
        &[&format!("{at}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0")],
    );
    check(
        &rolling(r#"{"maxSurge": "0%", "maxUnavailable": "0%"}"#),
        &[&format!("{at}.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0")],
    );
    check(
        &rolling(r#"{"maxUnavailable": "101%"}"#),
        &[&format!("{at}.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%")],
    );
    check(
        &rolling(r#"{"maxSurge": -1}"#),
        &[&format!("{at}.maxSurge: Invalid value: -1: must be greater than or equal to 0")],
    );
}

#[test]
fn the_revision_to_go_back_to_is_a_number_or_not_there() {
    let check = |given: &str, expected: &str| {
        let text = format!(
            "{{\"metadata\": {{\"annotations\": {{\"deprecated.deployment.rollback.to\": \"{given}\"}}}}, \"spec\": {}}}",
            right_and("")
        );
        let object = decoded(&Deployment::new(&Settings::default()), KIND, &text);
        assert_eq!(
            object.meta.annotations.get("deprecated.deployment.rollback.to").unwrap_or_default(),
            expected
        );
    };
    check("", "");
    check("+007", "7");
    check("x", "x");
}

#[test]
fn a_status_update_keeps_labels() {
    let (mut object, mut old) = (Object::default(), Object::default());
    object.meta.labels.set("new", "1");
    object.meta.annotations.set("new", "1");
    object.fields.map_mut("status").set("replicas", 1);
    old.meta.labels.set("old", "1");
    Deployment::new(&Settings::default()).prepare_status_update(&context(), &mut object, &old);
    assert_eq!(object.meta.labels, old.meta.labels);
    assert_eq!(object.meta.annotations.get("new"), Some("1"));
}
