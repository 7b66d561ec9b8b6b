//! Admission webhooks that others wrote: with kube, from the registry of Rust, and with kopf, from that of Python.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::Authority;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Asked, Callee, Client, Etcd, Options, RunningServer, fixture, free_port};
use keelson_tests::process::Processes;
use keelson_tests::webhooks::{CONFIGURATIONS, MAPS, Side};
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
    assert_eq!(made.expect(201)["metadata"]["labels"]["admitted"], "kubernetes-admin");
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

/// Needs kopf; runs in the long tier. The operator configures its webhooks itself.
#[tokio::test]
async fn a_webhook_written_with_kopf_changes_and_judges_objects() {
    let test = "a_webhook_written_with_kopf_changes_and_judges_objects";
    let Some(kopf) = Tool::Kopf.path_for(test) else { return };
    let Some(etcd) = Etcd::for_test(test).await else { return };
    let options = Options::default().argument(format!("--etcd-servers={}", etcd.endpoint()));
    let server = RunningServer::start(options).await;
    let client = server.client();
    client.post("/api/v1/namespaces", &fixture::namespace("hooked")).await.expect(201);
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new("kopf").expect("an authority");
    let serving = authority.server(&["127.0.0.1", "hooks.hooked.svc"]).expect("a certificate");
    for (name, text) in
        [("ca.crt", authority.certificate()), ("tls.crt", &serving.certificate), ("tls.key", &serving.key)]
    {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let port = free_port().expect("a port");
    let operator = concat!(env!("CARGO_MANIFEST_DIR"), "/kopf/operator.py");
    let arguments = [
        format!("FOLDER={}", folder.path().display()),
        format!("PORT={port}"),
        format!("KUBECONFIG={}", server.kubeconfig().display()),
        kopf.display().to_string(),
        "run".to_owned(),
        "--standalone".to_owned(),
        "--namespace=hooked".to_owned(),
        operator.to_owned(),
    ];
    let log = folder.path().join("kopf.log");
    let mut processes = Processes::default();
    processes.spawn(Path::new("/usr/bin/env"), &arguments, &log).expect("it starts");
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(60);
    let made = loop {
        let answer = client.post(MAPS, &fixture::config_map("good")).await;
        if answer.status == 201 && answer.json()["metadata"]["labels"]["admitted"] == "kopf" {
            break answer;
        }
        client.delete(&format!("{MAPS}/good")).await;
        let log = fs::read_to_string(&log).unwrap_or_default();
        assert!(clock.monotonic() < deadline, "kopf is not asked:\n{}\n{log}", answer.text());
        clock.sleep(Duration::from_millis(300)).await;
    };
    assert_eq!(made.header("warning"), "299 - \"labelled by kopf\"");
    let refusal = client.post(MAPS, &fixture::config_map("bad")).await;
    assert_eq!(refusal.status, 418, "{}", refusal.text());
    let message = "admission webhook \"judge.auto.kopf.dev\" denied the request: it is bad";
    assert_eq!(refusal.json()["message"], message);

    // The same programs behind a service, found at its address.
    behind_a_service(&client, &etcd, port, authority.certificate()).await;
    let refusal = client.post(MAPS, &fixture::config_map("bad")).await;
    assert_eq!(refusal.json()["message"], message);
    let made = client.post(MAPS, &fixture::config_map("better")).await;
    assert_eq!(made.expect(201)["metadata"]["labels"]["admitted"], "kopf");
}

/// Directs the operator's webhooks to a service whose endpoint is on this machine. The API does not accept
/// such an endpoint.
async fn behind_a_service(client: &Client, etcd: &Etcd, port: u16, ca: &str) {
    let service = json!({"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}});
    client.post("/api/v1/namespaces/hooked/services", &service).await.expect(201);
    let slice = json!({
        "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": "hooks-1", "namespace": "hooked", "uid": "1", "labels": {"kubernetes.io/service-name": "hooks"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
    });
    etcd.put("/registry/endpointslices/hooked/hooks-1", &slice.to_string()).await;
    for (plural, path) in
        [("mutatingwebhookconfigurations", "/label"), ("validatingwebhookconfigurations", "/judge")]
    {
        let to_service = json!({
            "service": {"namespace": "hooked", "name": "hooks", "path": path}, "caBundle": STANDARD.encode(ca),
        });
        let patch = json!([{"op": "replace", "path": "/webhooks/0/clientConfig", "value": to_service}]);
        let path = format!("{CONFIGURATIONS}/{plural}/auto.kopf.dev");
        let changed = client.patch(&path, "application/json-patch+json", &patch).await.expect(200);
        assert_eq!(changed["webhooks"][0]["clientConfig"]["service"]["port"], 443);
    }
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(20);
    let path = "/apis/discovery.k8s.io/v1/namespaces/hooked/endpointslices/hooks-1?resourceVersion=0";
    while client.get(path).await.status != 200 {
        assert!(clock.monotonic() < deadline, "the endpoint is not seen");
        clock.sleep(Duration::from_millis(50)).await;
    }
}
