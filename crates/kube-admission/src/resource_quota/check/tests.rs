//! Tests of the quota check and its messages.

use keelson_object::GroupResource;
use keelson_object::scalar::Time;

use super::{Charge, Refusal, Subject, charge};
use crate::amounts::{PodLevel, text};
use crate::resource_quota::configuration::Configuration;
use crate::resource_quota::devices::Devices;
use crate::resource_quota::evaluator::{Evaluator, Surroundings};
use crate::resource_quota::quota::Quota;
use crate::testing::{map, object};

fn quota(name: &str, hard: &str, used: &str, spec: &str) -> Quota {
    let text = format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{spec},"status":{{"hard":{hard},"used":{used}}}}}"#
    );
    Quota::read(object(&text))
}

/// A charge for an object of a resource that becomes another one.
fn change(plural: &str, before: Option<&str>, after: &str) -> Charge {
    let evaluator = Evaluator::of(&"".into(), &plural.into()).expect("it is counted");
    let devices = Devices::default();
    let around = Surroundings { pod_level: PodLevel::Counts, now: Time::from_unix(0), devices };
    Charge {
        resource: GroupResource { group: "".into(), resource: plural.into() },
        subject: Subject::Object,
        after: evaluator.measure(&object(after), &around),
        before: before.map(|it| evaluator.measure(&object(it), &around)),
        said: evaluator.said(&object(after), &around),
        devices: around.devices,
        evaluator,
    }
}

fn pod(cpu: &str, spec: &str) -> String {
    let resources = format!(r#"{{"requests":{{"cpu":"{cpu}"}}}}"#);
    format!(r#"{{"spec":{{"containers":[{{"name":"a","resources":{resources}}}]{spec}}}}}"#)
}

fn create(after: &str) -> Charge {
    change("pods", None, after)
}

fn told(refusal: Refusal) -> String {
    match refusal {
        Refusal::Forbidden(text) => text,
        Refusal::Bare(text) => format!("bare: {text}"),
        Refusal::Failed(error) => format!("failed: {error}"),
    }
}

/// Checks the usage of the first quota afterwards, or the error.
#[track_caller]
fn check(quotas: &[Quota], what: &Charge, expected: Result<&str, &str>) {
    check_limited(quotas, what, "{}", expected);
}

#[track_caller]
fn check_limited(quotas: &[Quota], what: &Charge, configuration: &str, expected: Result<&str, &str>) {
    let configuration = Configuration::read(&map(configuration)).expect("it is a configuration");
    let mut running = quotas.to_vec();
    let seen = charge(&mut running, what, &configuration.limited);
    let is_changed = *seen.as_ref().unwrap_or(&false);
    assert_eq!(running.iter().any(|it| it.is_charged), is_changed);
    let used = running.first().map(|it| text(&it.used)).unwrap_or_default();
    assert_eq!(seen.map(|_| used.as_str()).map_err(told), expected.map_err(str::to_owned));
}

#[test]
fn what_fits_is_charged_and_what_does_not_is_named() {
    let full =
        [quota("q", r#"{"pods":"10","requests.cpu":"4"}"#, r#"{"pods":"9","requests.cpu":"3"}"#, "{}")];
    check(&full, &create(&pod("1", "")), Ok("pods=10,requests.cpu=4"));
    check(
        &full,
        &create(&pod("1001m", "")),
        Err(
            "exceeded quota: q, requested: requests.cpu=1001m, used: requests.cpu=3, limited: requests.cpu=4",
        ),
    );
    let both = [quota("q", r#"{"pods":"1","cpu":"1"}"#, r#"{"pods":"1","cpu":"0"}"#, "{}")];
    check(
        &both,
        &create(&pod("2", "")),
        Err("exceeded quota: q, requested: cpu=2,pods=1, used: cpu=0,pods=1, limited: cpu=1,pods=1"),
    );
}

#[test]
fn all_quotas_must_have_room() {
    let room = quota("a", r#"{"pods":"5"}"#, r#"{"pods":"1"}"#, "{}");
    let none = quota("b", r#"{"pods":"1"}"#, r#"{"pods":"1"}"#, "{}");
    check(
        &[room, none],
        &create(&pod("1", "")),
        Err("exceeded quota: b, requested: pods=1, used: pods=1, limited: pods=1"),
    );
}

#[test]
fn a_quota_that_nobody_has_counted_is_unknown() {
    let fresh = quota("q", "{}", "{}", "{}");
    check(&[fresh], &create(&pod("1", "")), Ok(""));
    let half = quota("q", r#"{"pods":"1","cpu":"1","secrets":"1"}"#, r#"{"pods":"0"}"#, "{}");
    check(&[half], &create(&pod("1", "")), Err("status unknown for quota: q, resources: cpu,pods"));
}

#[test]
fn containers_say_what_is_counted() {
    let counts = quota("q", r#"{"limits.cpu":"1"}"#, "{}", "{}");
    check(&[counts], &create(&pod("1", "")), Err("failed quota: q: must specify limits.cpu for: a"));
}

#[test]
fn only_what_is_in_scope_counts() {
    let ends = quota("q", r#"{"pods":"1"}"#, r#"{"pods":"1"}"#, r#"{"scopes":["Terminating"]}"#);
    check(std::slice::from_ref(&ends), &create(&pod("1", "")), Ok("pods=1"));
    check(
        &[ends],
        &create(&pod("1", r#","activeDeadlineSeconds":5"#)),
        Err("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
    );
}

#[test]
fn a_change_is_charged_for_the_difference() {
    let service = |kind: &str| format!(r#"{{"spec":{{"type":"{kind}","ports":[{{"port":80}}]}}}}"#);
    let hard = r#"{"services":"1","services.nodeports":"1","services.loadbalancers":"0"}"#;
    let used = r#"{"services":"1","services.nodeports":"0","services.loadbalancers":"0"}"#;
    let quotas = [quota("q", hard, used, "{}")];
    let to = |before: &str, after: &str| change("services", Some(&service(before)), &service(after));
    check(
        &quotas,
        &to("ClusterIP", "ClusterIP"),
        Ok("services=1,services.loadbalancers=0,services.nodeports=0"),
    );
    check(
        &quotas,
        &to("ClusterIP", "NodePort"),
        Ok("services=1,services.loadbalancers=0,services.nodeports=1"),
    );
    check(
        &quotas,
        &to("LoadBalancer", "ClusterIP"),
        Ok("services=1,services.loadbalancers=0,services.nodeports=0"),
    );
    check(
        &quotas,
        &to("ClusterIP", "LoadBalancer"),
        Err(
            "exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0",
        ),
    );
}

#[test]
fn what_comes_into_scope_is_charged_whole() {
    let ends = |used: &str| {
        let used = format!(r#"{{"pods":"{used}"}}"#);
        [quota("q", r#"{"pods":"2"}"#, &used, r#"{"scopes":["Terminating"]}"#)]
    };
    let ending = pod("1", r#","activeDeadlineSeconds":5"#);
    check(&ends("1"), &change("pods", Some(&pod("1", "")), &ending), Ok("pods=2"));
    check(
        &ends("2"),
        &change("pods", Some(&pod("1", "")), &ending),
        Err("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"),
    );
    check(&ends("2"), &change("pods", Some(&ending), &ending), Ok("pods=2"));
    check(&ends("2"), &change("pods", Some(&ending), &pod("1", "")), Ok("pods=2"));
}

#[test]
fn a_report_is_charged_but_never_refused() {
    let claim = |given: &str| {
        format!(
            r#"{{"spec":{{"resources":{{"requests":{{"storage":"1Gi"}}}}}},"status":{{"allocatedResources":{{"storage":"{given}"}}}}}}"#
        )
    };
    let mut report = change("persistentvolumeclaims", Some(&claim("1Gi")), &claim("3Gi"));
    let quotas = [quota("q", r#"{"requests.storage":"2Gi"}"#, r#"{"requests.storage":"1Gi"}"#, "{}")];
    check(
        &quotas,
        &report,
        Err(
            "exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=1Gi, limited: requests.storage=2Gi",
        ),
    );
    report.subject = Subject::Status;
    check(&quotas, &report, Ok("requests.storage=3Gi"));
}

#[test]
fn nobody_asks_for_less_than_nothing() {
    check(&[], &create(&pod("-1", "")), Err("quota usage is negative for resource(s): cpu,requests.cpu"));
}

#[test]
fn what_is_limited_needs_a_quota_that_covers_it() {
    let limited = |rest: &str| {
        format!(
            r#"{{"apiVersion":"apiserver.config.k8s.io/v1","kind":"ResourceQuotaConfiguration","limitedResources":[{{"resource":"pods",{rest}}}]}}"#
        )
    };
    let by_name = limited(r#""matchContains":["requests.cpu","limits."]"#);
    check_limited(&[], &create(&pod("1", "")), &by_name, Err("insufficient quota to consume: requests.cpu"));
    let covers = quota("q", r#"{"requests.cpu":"9"}"#, r#"{"requests.cpu":"0"}"#, "{}");
    check_limited(&[covers], &create(&pod("1", "")), &by_name, Ok("requests.cpu=1"));
    check_limited(&[], &change("secrets", None, "{}"), &by_name, Ok(""));

    let by_scope = limited(
        r#""matchScopes":[{"scopeName":"PriorityClass","operator":"In","values":["high","higher"]}]"#,
    );
    let high = create(&pod("1", r#","priorityClassName":"high""#));
    check_limited(&[], &create(&pod("1", "")), &by_scope, Ok(""));
    check_limited(
        &[],
        &high,
        &by_scope,
        Err("bare: insufficient quota to match these scopes: [{PriorityClass In [high higher]}]"),
    );
    let spec =
        r#"{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}}"#;
    let covers = quota("q", r#"{"pods":"9"}"#, r#"{"pods":"0"}"#, spec);
    check_limited(&[covers], &high, &by_scope, Ok("pods=1"));
}
