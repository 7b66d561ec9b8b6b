//! Tests of audit policies.

use super::{Policy, Request, Target};
use crate::{Level, Stage};

fn policy(rules: &str) -> Policy {
    let text = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{rules}");
    Policy::read(text.as_bytes()).expect("a good policy").0
}

fn groups() -> Vec<String> {
    vec!["humans".to_owned(), "developers".to_owned()]
}

/// `what` is `group/resource/subresource/namespace/name`, or a path that begins with a slash.
#[track_caller]
fn check(rules: &str, verb: &str, what: &str, expected: Level) {
    let groups = groups();
    let parts: Vec<&str> = what.split('|').collect();
    let target = match parts[..] {
        [group, resource, subresource, namespace, name] => {
            Target::Resource { namespace, group, resource, subresource, name }
        }
        _ => Target::Path,
    };
    let request = Request { user: Some(("tim", &groups)), verb, target, path: what };
    assert_eq!(policy(rules).judge(&request).level, expected, "{rules}: {verb} {what}");
}

const PODS: &str = "|pods||default|busybox";
const LOG: &str = "|pods|log|default|busybox";
const ROLE: &str = "rbac.authorization.k8s.io|clusterroles|||edit";

#[test]
fn the_first_rule_that_matches_decides() {
    use Level::{Metadata, None, Request, RequestResponse};
    check("rules: [{level: Metadata}]", "get", PODS, Metadata);
    check("rules: [{level: Request, verbs: [create]}, {level: Metadata}]", "get", PODS, Metadata);
    check("rules: [{level: Request, verbs: [create]}]", "get", PODS, None);
    check("rules: [{level: Request, verbs: [get]}, {level: Metadata}]", "get", PODS, Request);
    check("rules: [{level: Metadata, users: [tim]}]", "get", PODS, Metadata);
    check("rules: [{level: Metadata, users: [tom]}]", "get", PODS, None);
    check("rules: [{level: Metadata, userGroups: [a, developers]}]", "get", PODS, Metadata);
    check("rules: [{level: Metadata, userGroups: [a]}]", "get", PODS, None);
    let pods = "rules: [{level: RequestResponse, resources: [{resources: [pods]}]}]";
    check(pods, "get", PODS, RequestResponse);
    check(pods, "get", LOG, None);
    check(pods, "get", ROLE, None);
    check(pods, "get", "/logs/kubelet.log", None);
}

#[test]
fn resources_have_wildcards() {
    let rule = |resources: &str| format!("rules: [{{level: Request, resources: [{resources}]}}]");
    check(&rule("{resources: ['*']}"), "get", LOG, Level::Request);
    check(&rule("{resources: ['*']}"), "get", PODS, Level::Request);
    check(&rule("{resources: ['*/log']}"), "get", LOG, Level::Request);
    check(&rule("{resources: ['*/log']}"), "get", PODS, Level::None);
    check(&rule("{resources: ['pods/*']}"), "get", LOG, Level::Request);
    check(&rule("{resources: ['pods/*']}"), "get", PODS, Level::Request);
    check(&rule("{resources: ['pods/log']}"), "get", LOG, Level::Request);
    check(&rule("{resources: ['pods/log']}"), "get", PODS, Level::None);
    check(&rule("{group: '*', resources: [clusterroles]}"), "get", ROLE, Level::Request);
    check(&rule("{group: rbac.authorization.k8s.io}"), "get", ROLE, Level::Request);
    check(&rule("{group: rbac.authorization.k8s.io}"), "get", PODS, Level::None);
    let named = "{group: '*', resources: [clusterroles], resourceNames: [edit]}";
    check(&rule(named), "get", ROLE, Level::Request);
    check(&rule(named), "get", "rbac.authorization.k8s.io|clusterroles|||view", Level::None);
    check("rules: [{level: Request, namespaces: ['']}]", "get", ROLE, Level::Request);
    check("rules: [{level: Request, namespaces: ['']}]", "get", PODS, Level::None);
    check("rules: [{level: Request, namespaces: [default]}]", "get", PODS, Level::Request);
    check("rules: [{level: Request, namespaces: [default]}]", "get", "/metrics", Level::None);
}

#[test]
fn paths_have_wildcards_at_the_end() {
    let rule = |url: &str| format!("rules: [{{level: Metadata, nonResourceURLs: ['{url}']}}]");
    check(&rule("*"), "get", "/metrics", Level::Metadata);
    check(&rule("/metrics"), "get", "/metrics", Level::Metadata);
    check(&rule("/metrics"), "get", "/metrics/x", Level::None);
    check(&rule("/logs*"), "get", "/logs/kubelet.log", Level::Metadata);
    check(&rule("/logs*"), "get", PODS, Level::None);
}

#[test]
fn nobody_has_no_name_and_no_groups() {
    let request = Request { user: None, verb: "get", target: Target::Path, path: "/" };
    assert_eq!(policy("rules: [{level: Metadata, users: ['']}]").judge(&request).level, Level::None);
    assert_eq!(policy("rules: [{level: Metadata, userGroups: [a]}]").judge(&request).level, Level::None);
    assert_eq!(policy("rules: [{level: Metadata}]").judge(&request).level, Level::Metadata);
}

#[test]
fn rules_add_to_what_the_policy_leaves_out() {
    let request = Request { user: None, verb: "get", target: Target::Path, path: "/" };
    let judged = policy(
        "omitStages: [RequestReceived]\nomitManagedFields: true\n\
         rules: [{level: Metadata, omitStages: [Panic], omitManagedFields: false}]",
    )
    .judge(&request);
    let omitted = Stage::ALL.map(|stage| judged.omit_stages.contains(stage));
    assert_eq!(omitted, [true, false, false, true]);
    assert!(!judged.omit_managed_fields);
    let judged = policy("omitManagedFields: true\nrules: [{level: Metadata}]").judge(&request);
    assert!(judged.omit_managed_fields);
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = Policy::read(text.as_bytes()).expect_err("a bad policy");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
    refused(&format!("{head}rules: []"), "loaded illegal policy with 0 rules");
    refused(head, "loaded illegal policy with 0 rules");
    refused(
        &format!("{head}omitStages: [x]\nrules: [{{}}, {{level: All}}]"),
        "[omitStages[0]: Invalid value: \"x\": allowed stages are \
         RequestReceived,ResponseStarted,ResponseComplete,Panic, rules[0].level: Required value, \
         rules[1].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", \"Request\", \
         \"RequestResponse\"]",
    );
    refused(
        &format!("{head}rules: [{{level: None, nonResourceURLs: [a, '/*/b', '*'], namespaces: [x]}}]"),
        "[rules[0].nonResourceURLs[0]: Invalid value: \"a\": non-resource URL rules must begin with a '/' \
         character, rules[0].nonResourceURLs[1]: Invalid value: \"/*/b\": non-resource URL wildcards '*' must be \
         the final character of the rule, rules[0].nonResourceURLs: Invalid value: [\"a\",\"/*/b\",\"*\"]: rules \
         cannot apply to both regular resources and non-resource URLs]",
    );
    refused(
        &format!("{head}rules: [{{level: None, resources: [{{resourceNames: [x]}}]}}]"),
        "rules[0].resources.resourceNames: Invalid value: [\"x\"]: using resourceNames requires at least one \
         resource",
    );
    refused(
        &format!("{head}rules: [{{level: 1, users: me}}]"),
        "failed decoding: rules[0].level: a string is wanted and not a number, rules[0].users: a list is wanted \
         and not a string",
    );
}

#[test]
fn other_kinds_are_no_policies() {
    refused(
        "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]",
        "failed decoding: no kind \"Policy\" is registered for version \"audit.k8s.io/v1beta1\" in scheme",
    );
    let error = Policy::read(b"rules: [{level: None}]").expect_err("a bad policy").to_string();
    assert!(error.starts_with("failed decoding: Object 'Kind' is missing in "), "{error}");
}

#[test]
fn unknown_fields_are_complained_of() {
    let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nmore: 1\nrules: [{level: None, user: [x]}]";
    let (_, complaints) = Policy::read(text.as_bytes()).expect("a policy");
    assert_eq!(complaints, ["unknown field \"more\"", "unknown field \"rules[0].user\""]);
}
