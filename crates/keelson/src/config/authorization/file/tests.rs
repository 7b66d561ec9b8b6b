//! Valid and invalid files of authorizers.

use keelson_authz::{OnFailure, ReviewVersion};

use super::read;
use crate::config::AuthorizationMode;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n";

#[track_caller]
fn check(authorizers: &str, required: &[AuthorizationMode], expected: Result<&str, &str>) {
    let found = read(format!("{HEAD}authorizers:\n{authorizers}").as_bytes(), required);
    let shown = found.map(|it| it.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(" "));
    assert_eq!(shown.as_deref().map_err(String::as_str), expected);
}

#[test]
fn authorizers_stand_in_order() {
    check("- {type: RBAC, name: rbac}\n- {type: Node, name: node}\n", &[], Ok("rbac node"));
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let text = format!(
            "{{\"apiVersion\":\"apiserver.config.k8s.io/{version}\",\"kind\":\"AuthorizationConfiguration\",\
             \"authorizers\":[{{\"type\":\"AlwaysAllow\",\"name\":\"alwaysallow\"}}]}}"
        );
        assert_eq!(read(text.as_bytes(), &[]).expect("it is good").len(), 1);
    }
}

#[test]
fn what_is_no_configuration_is_refused() {
    let refused = |text: &str| read(text.as_bytes(), &[]).expect_err("it is wrong");
    let none = "authorizers: Required value: at least one authorization mode must be defined";
    assert_eq!(refused(""), none);
    assert_eq!(refused(HEAD), none);
    let start = "failed to load AuthorizationConfiguration from file: ";
    assert_eq!(
        refused(&HEAD.replace("v1\n", "v9\n")),
        format!(
            "{start}no kind \"AuthorizationConfiguration\" is registered for version \"apiserver.config.k8s.io/v9\" in \
             scheme \"pkg/runtime/scheme.go:111\""
        )
    );
    assert_eq!(
        refused(&format!("{HEAD}authorizers:\n- {{type: RBAC, name: rbac, foo: 1}}\n")),
        format!("{start}strict decoding error: unknown field \"authorizers[0].foo\"")
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    check(
        "- {name: a}\n- {type: Foo, name: b}\n- {type: RBAC}\n- {type: RBAC, name: rbac}\n- {type: Node, name: A}\n",
        &[],
        Err("[authorizers[0].type: Required value, \
             authorizers[1].type: Unsupported value: \"Foo\": supported values: \"ABAC\", \"AlwaysAllow\", \
             \"AlwaysDeny\", \"Node\", \"RBAC\", \"Webhook\", \
             authorizers[2].name: Required value, \
             authorizers[3].type: Duplicate value: \"RBAC\", \
             authorizers[4].name: Invalid value: \"A\": authorizer name is invalid: a lowercase RFC 1123 subdomain must \
             consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
             character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')]"),
    );
    check(
        "- {type: RBAC, name: roles}\n",
        &[AuthorizationMode::Rbac, AuthorizationMode::Node, AuthorizationMode::Abac],
        Err("[expected name rbac for authorizer RBAC instead of roles, missing required types: [ABAC Node]]"),
    );
    check(
        "- {type: Webhook, name: a}\n",
        &[],
        Err("authorizers[0].webhook: Required value: required when type=Webhook"),
    );
    check(
        "- {type: RBAC, name: rbac, webhook: {}}\n",
        &[],
        Err("authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook"),
    );
}

#[test]
fn webhooks_are_checked() {
    check(
        "- {type: Webhook, name: a, webhook: {}}\n",
        &[],
        Err(
            "[authorizers[0].timeout: Required value, authorizers[0].subjectAccessReviewVersion: Required value, \
             authorizers[0].failurePolicy: Required value, authorizers[0].connectionInfo.type: Required value]",
        ),
    );
    check(
        "- {type: Webhook, name: a, webhook: {timeout: 31s, authorizedTTL: -1s, unauthorizedTTL: -1s, \
         subjectAccessReviewVersion: v2, matchConditionSubjectAccessReviewVersion: v1beta1, failurePolicy: Allow, \
         connectionInfo: {type: KubeConfigFile, kubeConfigFile: here}}}\n",
        &[],
        Err("[authorizers[0].timeout: Invalid value: \"31s\": must be > 0s and <= 30s, \
             authorizers[0].authorizedTTL: Invalid value: \"-1s\": must be > 0s, \
             authorizers[0].unauthorizedTTL: Invalid value: \"-1s\": must be > 0s, \
             authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\": supported values: \"v1\", \"v1beta1\", \
             authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: \"v1beta1\": supported values: \
             \"v1\", authorizers[0].failurePolicy: Unsupported value: \"Allow\": supported values: \"NoOpinion\", \"Deny\", \
             authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"here\": must be an absolute path]"),
    );
}

#[test]
fn connections_lead_somewhere() {
    let refused = |connection: &str, expected: &str| {
        let webhook = "timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny";
        let entry =
            format!("- {{type: Webhook, name: a, webhook: {{{webhook}, connectionInfo: {connection}}}}}\n");
        check(&entry, &[], Err(&format!("authorizers[0].connectionInfo.{expected}")));
    };
    refused(
        "{type: Odd}",
        "type: Unsupported value: {\"Type\":\"Odd\",\"KubeConfigFile\":null}: supported values: \"InClusterConfig\", \
         \"KubeConfigFile\"",
    );
    refused(
        "{type: KubeConfigFile, kubeConfigFile: /none}",
        "kubeConfigFile: Invalid value: \"/none\": error loading file: stat /none: no such file or directory",
    );
    refused(
        "{type: KubeConfigFile, kubeConfigFile: /}",
        "kubeConfigFile: Invalid value: \"/\": must be a regular file",
    );
    refused(
        "{type: InClusterConfig, kubeConfigFile: /a}",
        "kubeConfigFile: Invalid value: \"/a\": can only be set when type=KubeConfigFile",
    );
}

#[test]
fn a_webhook_gets_what_the_file_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, "").expect("a file");
    let text = format!(
        "{HEAD}authorizers:\n- type: Webhook\n  name: policy\n  webhook:\n    timeout: 3s\n    authorizedTTL: 1m\n    \
         cacheUnauthorizedRequests: false\n    subjectAccessReviewVersion: v1\n    failurePolicy: Deny\n    \
         connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {}}}\n",
        kubeconfig.display()
    );
    let found = read(text.as_bytes(), &[]).expect("it is good").remove(0).webhook.expect("a webhook");
    assert_eq!(found.timeout.to_string(), "3s");
    assert_eq!(found.authorized_ttl.to_string(), "1m0s");
    assert_eq!(found.unauthorized_ttl.to_string(), "0s");
    assert_eq!((found.version, found.on_failure), (ReviewVersion::V1, OnFailure::Deny));
    assert_eq!(found.kubeconfig, kubeconfig);
    let conditional = text.replace("failurePolicy", "matchConditionSubjectAccessReviewVersion: v1\n    matchConditions: [{expression: \"true\"}]\n    failurePolicy");
    assert_eq!(
        read(conditional.as_bytes(), &[]).expect_err("no expressions yet"),
        "authorizers[0].matchConditions[0].expression: Invalid value: \"true\": \
         match conditions cannot be evaluated by this server yet"
    );
}
