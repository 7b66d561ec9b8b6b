//! Admission webhooks that others wrote: with kube, from the registry of Rust, and with kopf, from that of Python.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::Authority;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Asked, Callee, Options, RunningServer, fixture, free_port};
use keelson_tests::process::Processes;
use keelson_tests::webhooks::{MAPS, Side};
use kube::ResourceExt as _;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use serde_json::json;

/// A webhook as the library's own example has it: it labels what has no label, and refuses what is called bad.
fn webhook(asked: &Asked) -> (u16, String) {
    let review: AdmissionReview<ConfigMap> = match serde_json::from_str(&asked.body) {
        Ok(review) => review,
        Err(error) => return (400, error.to_string()),
    };
    let request: AdmissionRequest<ConfigMap> = match review.try_into() {
        Ok(request) => request,
        Err(error) => {
            let response = AdmissionResponse::invalid(error).into_review();
            return (200, serde_json::to_string(&response).unwrap_or_default());
        }
    };
    let mut response = AdmissionResponse::from(&request);
    if let Some(object) = &request.object {
        let is_mutating = asked.path == "/mutate" && request.operation == Operation::Create;
        if object.name_any().starts_with("bad") {
            response = response.deny("it is bad");
        } else if is_mutating && !object.labels().contains_key("admitted") {
            let patch = json!([
                {"op": "add", "path": "/metadata/labels", "value": {}},
                {"op": "add", "path": "/metadata/labels/admitted", "value": request.user_info.username},
            ]);
            let patch = serde_json::from_value(patch).expect("it is a patch");
            response = response.with_patch(patch).expect("it can be written");
        }
    }
    response.warnings = Some(vec![format!("{:?} was looked at", request.operation)]);
    (200, serde_json::to_string(&response.into_review()).unwrap_or_default())
}

#[tokio::test]
async fn a_webhook_written_with_kube_changes_and_judges_objects() {
    let server = RunningServer::start(Options::default()).await;
    let callee = Callee::open(webhook).await.expect("a webhook");
    let side = Side::with(server.client(), callee).await;
    side.mutating("/mutate", &json!({})).await;
    side.validating("/validate", &json!({})).await;
    let made = side.client.post(MAPS, &fixture::config_map("good")).await;
    assert_eq!(made.expect(201)["metadata"]["labels"]["admitted"], "keelson-admin");
    assert_eq!(made.header("warning"), "299 - \"Create was looked at\"");
    let refusal = side.client.post(MAPS, &fixture::config_map("bad")).await;
    let message = "admission webhook \"mutate.example.com\" denied the request: it is bad";
    assert_eq!(refusal.json()["message"], message);
    let patch = json!({"data": {"more": "x"}});
    let changed = side.client.patch(&format!("{MAPS}/good"), "application/merge-patch+json", &patch).await;
    changed.expect(200);
    assert_eq!(changed.header("warning"), "299 - \"Update was looked at\"");
    side.client.delete(&format!("{MAPS}/good")).await.expect(200);
}
