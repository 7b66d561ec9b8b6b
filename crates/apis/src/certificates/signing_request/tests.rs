//! Tests of the requesting user, the decisions and the columns.

use keelson_authn::User;
use keelson_object::Object;
use keelson_registry::{Context, Strategy};
use keelson_stdx::clock::Clock;

use super::{APPROVAL, SigningRequest, columns};
use crate::shared::testing::{cells, decoded, text, tree};

const KIND: &str = "certificates.k8s.io/v1 CertificateSigningRequest";
const SPEC: &str = r#"{"request": "eA==", "signerName": "a.b/c", "usages": ["any"], "username": "root", "uid": "0",
    "groups": ["system:masters"], "extra": {"a": ["b"]}}"#;

fn request(status: &str) -> Object {
    decoded(
        &SigningRequest,
        KIND,
        &format!(r#"{{"metadata": {{"name": "a"}}, "spec": {SPEC}, "status": {status}}}"#),
    )
}

fn jane() -> Context {
    let mut user = User::new("jane", &["dev"]);
    user.extra.insert("k".to_owned(), vec!["v".to_owned()]);
    Context::new(user, Clock::manual().0)
}

#[track_caller]
fn check(object: &Object, path: &str, expected: &str) {
    let found = object.fields.at(path).cloned().unwrap_or_default();
    assert_eq!(found, tree(expected), "{path} is {}", text(&found));
}

#[test]
fn the_server_says_who_asks() {
    let mut object = request(r#"{"certificate": "eA=="}"#);
    SigningRequest.prepare_create(&jane(), &mut object);
    check(
        &object,
        "spec",
        r#"{"request": "eA==", "signerName": "a.b/c", "usages": ["any"], "username": "jane", "groups": ["dev"],
            "extra": {"k": ["v"]}}"#,
    );
    check(&object, "status", "null");
}

#[test]
fn a_request_does_not_change() {
    let old = request("{}");
    let mut object =
        decoded(&SigningRequest, KIND, r#"{"metadata": {"name": "a"}, "spec": {"request": "eQ=="}}"#);
    SigningRequest.prepare_update(&jane(), &mut object, &old);
    assert_eq!(object.fields, old.fields);
}

#[test]
fn an_approver_writes_conditions_and_no_certificate() {
    let old = request(r#"{"certificate": "eA=="}"#);
    let mut object =
        request(r#"{"certificate": "eQ==", "conditions": [{"type": "Approved", "status": "True"}]}"#);
    let context = jane();
    SigningRequest.prepare_part_update(&context, APPROVAL, &mut object, &old);
    let now = context.now();
    let expected = format!(
        r#"{{"certificate": "eA==", "conditions": [{{"type": "Approved", "status": "True",
            "lastUpdateTime": "{now}", "lastTransitionTime": "{now}"}}]}}"#
    );
    check(&object, "status", &expected);
    let mut none = request("{}");
    SigningRequest.prepare_part_update(&context, APPROVAL, &mut none, &object);
    check(&none, "status", r#"{"certificate": "eA=="}"#);
}

#[test]
fn a_signer_leaves_approvals_alone() {
    let times = r#""lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2020-01-01T00:00:00Z""#;
    let approved = format!(r#"{{"type": "Approved", "status": "True", "reason": "old", {times}}}"#);
    let failed = format!(r#"{{"type": "Failed", "status": "True", {times}}}"#);
    let old = request(&format!(r#"{{"conditions": [{approved}, {failed}]}}"#));
    let mut object = request(
        r#"{"certificate": "eA==", "conditions": [{"type": "Approved", "status": "True", "reason": "new"},
            {"type": "Failed", "status": "True", "lastUpdateTime": "2021-01-01T00:00:00Z"}]}"#,
    );
    SigningRequest.prepare_status_update(&jane(), &mut object, &old);
    let failed = r#"{"type": "Failed", "status": "True", "lastUpdateTime": "2021-01-01T00:00:00Z",
        "lastTransitionTime": "2020-01-01T00:00:00Z"}"#;
    check(&object, "status", &format!(r#"{{"certificate": "eA==", "conditions": [{approved}, {failed}]}}"#));
}

#[test]
fn requester_and_state_are_shown() {
    let state = |status: &str| cells(&columns(), &request(status))[5].clone();
    assert_eq!(cells(&columns(), &request("{}")), ["a", "-", "a.b/c", "root", "<none>", "Pending"]);
    assert_eq!(state(r#"{"conditions": [{"type": "Approved"}], "certificate": "eA=="}"#), "Approved,Issued");
    assert_eq!(state(r#"{"conditions": [{"type": "Approved"}, {"type": "Denied"}]}"#), "Denied");
    assert_eq!(state(r#"{"conditions": [{"type": "Approved"}, {"type": "Failed"}]}"#), "Approved,Failed");
    let mut object = request("{}");
    object.fields.map_mut("spec").set("expirationSeconds", 3600);
    assert_eq!(cells(&columns(), &object)[4], "60m");
}
