//! Tests of the defaults and the columns of jobs.

use keelson_object::{Cell, Object};
use keelson_registry::Strategy;
use keelson_registry::options::{DeleteOptions, Propagation};

use super::columns::{completions, duration, status};
use super::{Job, successful};
use crate::catalog::Settings;
use crate::shared::testing::{context, decoded, text, tree};

fn job(spec: &str) -> Object {
    decoded(
        &Job::new(&Settings::default()),
        "batch/v1 Job",
        &format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}"),
    )
}

/// The object after its creation.
fn created(mut object: Object) -> Object {
    object.meta.uid = "u".into();
    Job::new(&Settings::default()).prepare_create(&context(), &mut object);
    object
}

#[track_caller]
fn check(spec: &str, path: &str, expected: &str) {
    let object = job(spec);
    let found = object.fields.at(path).cloned().unwrap_or_default();
    assert_eq!(found, tree(expected), "{path} is {}", text(&found));
}

#[test]
fn a_job_is_done_once_unless_it_says_otherwise() {
    check("{}", "spec.completions", "1");
    check("{}", "spec.parallelism", "1");
    check(r#"{"parallelism": 3}"#, "spec.completions", "null");
    check(r#"{"completions": 3}"#, "spec.parallelism", "1");
    check(r#"{"completions": 3}"#, "spec.completions", "3");
    check("{}", "spec.completionMode", "\"NonIndexed\"");
    check("{}", "spec.suspend", "false");
    check("{}", "spec.manualSelector", "false");
}

#[test]
fn retries_and_replacements_follow_the_policies() {
    check("{}", "spec.backoffLimit", "6");
    check(r#"{"backoffLimitPerIndex": 1}"#, "spec.backoffLimit", "2147483647");
    check("{}", "spec.podReplacementPolicy", "\"TerminatingOrFailed\"");
    let policy = r#"{"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions":
        [{"type": "A"}, {"type": "B", "status": "False"}]}]}}"#;
    check(policy, "spec.podReplacementPolicy", "\"Failed\"");
    let expected = r#"[{"action": "Ignore", "onPodConditions":
        [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}]}]"#;
    check(policy, "spec.podFailurePolicy.rules", expected);
}

#[test]
fn pods_are_selected_by_the_uid_of_their_job() {
    let object = created(job("{}"));
    let labels = r#"{"job-name": "a", "batch.kubernetes.io/job-name": "a", "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u"}"#;
    assert_eq!(object.fields.at("spec.template.metadata.labels"), Some(&tree(labels)));
    let selector = r#"{"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}"#;
    assert_eq!(object.fields.at("spec.selector"), Some(&tree(selector)));
    assert_eq!(object.meta.labels.len(), 4);

    let manual = created(job(r#"{"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}}"#));
    assert_eq!(manual.fields.at("spec.selector"), Some(&tree(r#"{"matchLabels": {"a": "b"}}"#)));
    assert!(manual.meta.labels.is_empty());
}

#[test]
fn a_job_without_labels_has_those_of_its_pods() {
    let spec = r#"{"template": {"metadata": {"labels": {"app": "x", "job-name": "mine"}}}}"#;
    let object = created(job(spec));
    assert_eq!((object.meta.labels.len(), object.meta.labels.get("job-name")), (5, Some("mine")));
    let mut owned = job(spec);
    Job::new(&Settings::default()).fill_owned(&mut owned);
    assert_eq!(owned.meta.labels.len(), 2, "what the client said of the pods, and nothing that is generated");
    let mut labelled = job(spec);
    labelled.meta.labels.set("own", "1");
    assert_eq!(created(labelled).meta.labels.len(), 1);

    let mut unlabelled = job("{}");
    Job::new(&Settings::default()).prepare_status_update(&context(), &mut unlabelled, &object);
    assert_eq!(unlabelled.meta.labels, object.meta.labels);
}

#[track_caller]
fn check_cells(spec: &str, status_text: &str, expected: [&str; 3]) {
    let mut object = job(spec);
    object.fields.set("status", tree(status_text));
    let cells = [status(&object), completions(&object), duration(&object)];
    assert_eq!(cells, expected.map(Cell::from));
}

#[test]
fn status_completions_and_duration_are_shown() {
    check_cells("{}", "{}", ["Running", "0/1", ""]);
    check_cells(
        r#"{"completions": 5}"#,
        r#"{"succeeded": 5, "startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:03:10Z",
            "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}"#,
        ["Complete", "5/5", "3m10s"],
    );
    let failing = r#"{"conditions": [{"type": "Failed", "status": "False"}, {"type": "FailureTarget", "status": "True"}]}"#;
    check_cells(r#"{"parallelism": 3}"#, failing, ["FailureTarget", "0/1 of 3", ""]);
}

#[test]
fn too_many_indexes_are_warned_of() {
    let warned = |spec: &str| Job::new(&Settings::default()).warnings(&job(spec), None).len();
    assert_eq!(warned(r#"{"completionMode": "Indexed", "completions": 100001, "parallelism": 10001}"#), 1);
    assert_eq!(warned(r#"{"completionMode": "Indexed", "completions": 100001, "parallelism": 10000}"#), 0);
    assert_eq!(warned(r#"{"completions": 100001, "parallelism": 10001}"#), 0);
}

#[test]
fn jobs_are_selected_by_their_successes() {
    let field = successful();
    assert_eq!((field.label.as_str(), field.default.as_str()), ("status.successful", "0"));
}

#[test]
fn pods_outlive_their_job_and_who_does_not_say_otherwise_is_told() {
    assert_eq!(Job::new(&Settings::default()).propagation(), Propagation::Orphan);
    let warned = |propagation| {
        Job::new(&Settings::default())
            .delete_warning(&DeleteOptions { propagation, ..Default::default() })
            .is_some()
    };
    assert!(warned(None));
    assert!(!warned(Some(Propagation::Orphan)));
}
