//! Tests of the quota usage of pods.

use keelson_object::scalar::Time;

use super::{Said, counts, is_terminating, traits, usage};
use crate::amounts::{PodLevel, text};
use crate::resource_quota::scope::{PodTraits, Traits};
use crate::testing::object;

#[track_caller]
fn check(pod: &str, expected: &str) {
    let usage = usage(&object(pod), PodLevel::Counts, Time::from_unix(100));
    assert_eq!(text(&usage), expected, "{pod}");
}

fn container(name: &str, resources: &str) -> String {
    format!(r#"{{"name":"{name}","resources":{resources}}}"#)
}

fn pod(containers: &[String], rest: &str) -> String {
    format!(r#"{{"spec":{{"containers":[{}]{rest}}}}}"#, containers.join(","))
}

#[test]
fn requests_count_by_both_names_and_limits_by_one() {
    check(&pod(&[container("a", "{}")], ""), "count/pods=1,pods=1");
    let both = r#"{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"200m","memory":"128Mi"}}"#;
    check(
        &pod(&[container("a", both), container("b", both)], ""),
        "count/pods=1,cpu=200m,limits.cpu=400m,limits.memory=256Mi,memory=128Mi,pods=1,requests.cpu=200m,\
         requests.memory=128Mi",
    );
    let disk = r#"{"requests":{"ephemeral-storage":"1Gi"},"limits":{"ephemeral-storage":"2Gi"}}"#;
    check(
        &pod(&[container("a", disk)], ""),
        "count/pods=1,ephemeral-storage=1Gi,limits.ephemeral-storage=2Gi,pods=1,requests.ephemeral-storage=1Gi",
    );
}

#[test]
fn huge_pages_and_what_others_brought_count_as_requests() {
    let huge = r#"{"requests":{"hugepages-2Mi":"4Mi"},"limits":{"hugepages-2Mi":"4Mi"}}"#;
    check(
        &pod(&[container("a", huge)], ""),
        "count/pods=1,hugepages-2Mi=4Mi,pods=1,requests.hugepages-2Mi=4Mi",
    );
    let gpu =
        r#"{"requests":{"example.com/gpu":"3","kubernetes.io/x":"1"},"limits":{"example.com/gpu":"3"}}"#;
    check(&pod(&[container("a", gpu)], ""), "count/pods=1,pods=1,requests.example.com/gpu=3");
    let class = r#"{"requests":{"deviceclass.resource.kubernetes.io/gpu":"1"}}"#;
    check(
        &pod(&[container("a", class)], ""),
        "count/pods=1,pods=1,requests.deviceclass.resource.kubernetes.io/gpu=1",
    );
}

#[test]
fn a_pod_needs_the_most_it_ever_needs() {
    let cpu = |amount: &str| format!(r#"{{"requests":{{"cpu":"{amount}"}}}}"#);
    let with = |init: &str| pod(&[container("a", &cpu("1"))], &format!(r#","initContainers":[{init}]"#));
    check(&with(&container("i", &cpu("3"))), "count/pods=1,cpu=3,pods=1,requests.cpu=3");
    let sidecar = r#"{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}"#;
    check(&with(sidecar), "count/pods=1,cpu=3,pods=1,requests.cpu=3");
    let both = format!("{sidecar},{}", container("i", &cpu("3")));
    check(&with(&both), "count/pods=1,cpu=5,pods=1,requests.cpu=5");
}

#[test]
fn overhead_is_added_but_not_to_limits_that_are_none() {
    let limited = r#"{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}"#;
    check(
        &pod(&[container("a", limited)], r#","overhead":{"cpu":"500m","memory":"1Gi"}"#),
        "count/pods=1,cpu=1500m,limits.cpu=2500m,memory=1Gi,pods=1,requests.cpu=1500m,requests.memory=1Gi",
    );
}

#[test]
fn what_a_pod_says_of_itself_counts_more() {
    let own = r#","resources":{"requests":{"cpu":"5","ephemeral-storage":"1"},"limits":{"memory":"1Gi"}}"#;
    let small = r#"{"requests":{"cpu":"1","memory":"1Mi"}}"#;
    check(
        &pod(&[container("a", small)], own),
        "count/pods=1,cpu=5,limits.memory=1Gi,memory=1Mi,pods=1,requests.cpu=5,requests.memory=1Mi",
    );
    let seen = usage(&object(&pod(&[container("a", small)], own)), PodLevel::Ignored, Time::from_unix(0));
    assert_eq!(text(&seen), "count/pods=1,cpu=1,memory=1Mi,pods=1,requests.cpu=1,requests.memory=1Mi");
}

#[test]
fn while_a_pod_is_resized_the_larger_size_counts() {
    let resizing = |actual: &str, reason: &str| {
        format!(
            r#"{{"spec":{{"containers":[{{"name":"a","resources":{{"requests":{{"cpu":"2"}},"limits":{{"cpu":"2"}}}}}}]}},
            "status":{{"conditions":[{{"type":"PodResizePending","reason":"{reason}"}}],
            "containerStatuses":[{{"name":"a","allocatedResources":{{"cpu":"1"}},
            "resources":{{"requests":{{"cpu":"{actual}"}},"limits":{{"cpu":"{actual}"}}}}}}]}}}}"#
        )
    };
    let of = |cpu: &str, limit: &str| {
        format!("count/pods=1,cpu={cpu},limits.cpu={limit},pods=1,requests.cpu={cpu}")
    };
    check(&resizing("1", "Deferred"), &of("2", "2"));
    check(&resizing("3", "Deferred"), &of("3", "3"));
    check(&resizing("1", "Infeasible"), &of("1", "1"));
    check(&resizing("500m", "Infeasible"), &of("1", "500m"));
}

#[test]
fn init_containers_that_end_have_the_size_they_ask_for() {
    let ended = r#"{"spec":{"containers":[{"name":"a"}],"initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}}]},
        "status":{"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"4"}}}]}}"#;
    check(ended, "count/pods=1,cpu=1,pods=1,requests.cpu=1");
    let sidecar = ended.replace(
        r#""name":"i","resources":{"requests":{"cpu":"1"}"#,
        r#""name":"i","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}"#,
    );
    check(&sidecar, "count/pods=1,cpu=4,pods=1,requests.cpu=4");
}

#[test]
fn a_pod_that_has_ended_is_only_counted() {
    let of = |rest: &str| {
        format!(
            r#"{{{rest},"spec":{{"containers":[{{"name":"a","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
        )
    };
    let charged = "count/pods=1,cpu=1,pods=1,requests.cpu=1";
    check(&of(r#""status":{"phase":"Running"}"#), charged);
    check(&of(r#""status":{"phase":"Failed"}"#), "count/pods=1");
    check(&of(r#""status":{"phase":"Succeeded"}"#), "count/pods=1");
    let deleted = |grace: u32| {
        of(&format!(
            r#""metadata":{{"deletionTimestamp":"1970-01-01T00:01:10Z","deletionGracePeriodSeconds":{grace}}}"#
        ))
    };
    check(&deleted(30), charged);
    check(&deleted(29), "count/pods=1");
}

#[test]
fn scopes_look_at_deadlines_classes_and_affinity() {
    let of = |spec: &str, qos: &str| {
        let Traits::Pod(traits) =
            traits(&object(&format!(r#"{{"spec":{spec},"status":{{"qosClass":"{qos}"}}}}"#)))
        else {
            unreachable!("a pod has the traits of pods")
        };
        traits
    };
    let plain = PodTraits::default();
    assert_eq!(of("{}", "Burstable"), plain);
    assert_eq!(of("{}", "BestEffort"), PodTraits { is_best_effort: true, ..plain.clone() });
    let ends = of(r#"{"activeDeadlineSeconds":0}"#, "Burstable");
    assert_eq!(ends, PodTraits { is_terminating: true, ..plain.clone() });
    let class = of(r#"{"priorityClassName":"high"}"#, "Burstable");
    assert_eq!(class, PodTraits { priority_class: "high".into(), ..plain.clone() });
    let elsewhere = |term: &str| {
        of(&format!(r#"{{"affinity":{{"podAntiAffinity":{term}}}}}"#), "Burstable").looks_elsewhere
    };
    let required =
        |term: &str| elsewhere(&format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution":[{term}]}}"#));
    assert!(required(r#"{"namespaces":["x"]}"#));
    assert!(required(r#"{"namespaceSelector":{}}"#));
    assert!(!required(r#"{"topologyKey":"zone"}"#));
    assert!(elsewhere(
        r#"{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"namespaces":["x"]}}]}"#
    ));
    assert!(!is_terminating(&object(r#"{"spec":{}}"#)));
}

#[track_caller]
fn check_said(pod: &str, wanted: &[&str], expected: Result<(), &str>) {
    let wanted = wanted.iter().map(|it| (*it).into()).collect();
    let said = Said::by(&object(pod), PodLevel::Counts).check(&wanted);
    assert_eq!(said, expected.map_err(str::to_owned));
}

#[test]
fn every_container_says_what_is_counted_of_cpu_and_memory() {
    let two = pod(
        &[container("b", "{}"), container("a", r#"{"requests":{"cpu":"1"}}"#)],
        r#","initContainers":[{"name":"i"}]"#,
    );
    check_said(&two, &["pods", "requests.example.com/gpu", "limits.ephemeral-storage"], Ok(()));
    check_said(&two, &["requests.cpu"], Err("must specify requests.cpu for: b,i"));
    check_said(&two, &["limits.memory", "cpu"], Err("must specify cpu for: b,i; limits.memory for: a,b,i"));
    let own = pod(&[container("a", "{}")], r#","resources":{"requests":{"memory":"1Gi"}}"#);
    check_said(&own, &["cpu", "memory"], Ok(()));
}

#[test]
fn names_tell_whether_pods_are_counted() {
    let check = |name: &str, expected: bool| assert_eq!(counts(name), expected, "{name}");
    check("pods", true);
    check("hugepages-1Gi", true);
    check("requests.hugepages-1Gi", true);
    check("requests.example.com/gpu", true);
    check("example.com/gpu", false);
    check("requests.kubernetes.io/x", false);
    check("requests.deviceclass.resource.kubernetes.io/gpu", true);
    check("gold.storageclass.storage.k8s.io/requests.storage", false);
}
