//! Attacks by and against webhooks and other servers that we call, with upstream's CVE numbers.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Callee, Client, Options, Protocol, RunningServer, fixture};
use serde_json::{Value, json};

const CANARY: &str = "c4n4ry-in-the-mine";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";

/// A webhook for one resource, behind a callee.
fn validating(callee: &Callee, path: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hook"},
        "webhooks": [{
            "name": "hook.example.com",
            "clientConfig": {"url": callee.url(path), "caBundle": STANDARD.encode(callee.ca())},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        }],
    })
}

/// A server that uses `callee` for every kind of webhook, with a canary as token, and logs at the highest
/// level.
async fn asking(callee: &Callee, folder: &std::path::Path) -> RunningServer {
    let mut options = Options::default()
        .argument("-v=10")
        .argument("--authorization-mode=Webhook,RBAC")
        .argument("--authentication-token-webhook-version=v1")
        .argument("--audit-webhook-batch-max-wait=50ms")
        .argument("--audit-webhook-initial-backoff=10ms");
    for (flag, path) in [
        ("authentication-token-webhook-config-file", "/authenticate"),
        ("authorization-webhook-config-file", "/authorize"),
        ("audit-webhook-config-file", "/audit"),
    ] {
        let file = folder.join(flag);
        fs::write(&file, callee.kubeconfig(path, CANARY)).expect("written");
        options = options.argument(format!("--{flag}={}", file.display()));
    }
    let policy = folder.join("policy.yaml");
    fs::write(&policy, POLICY).expect("written");
    RunningServer::start(options.argument(format!("--audit-policy-file={}", policy.display()))).await
}

/// Writes until the webhook that was just created is called.
async fn refused_by_webhook(client: &Client, callee: &Callee) -> String {
    for number in 0..200 {
        let answer = client.post(MAPS, &fixture::config_map(&format!("c{number}"))).await;
        if callee.asked().iter().any(|it| it.path == "/admit") {
            assert_eq!(answer.status, 500, "{}", answer.text());
            return answer.text();
        }
    }
    panic!("the webhook is not asked");
}

/// CVE-2020-8561: webhook redirects are not followed. CVE-2020-8565: credentials sent to webhooks are not
/// logged.
#[tokio::test]
async fn webhooks_lead_nowhere_else() {
    let elsewhere = Callee::open(|_| (200, format!("{{\"secret\":\"{CANARY}\"}}"))).await.expect("a server");
    let to = elsewhere.url("/secret");
    for status in [302, 307] {
        let to = to.clone();
        let callee = Callee::open(move |_| (status, to.clone())).await.expect("a webhook");
        let folder = tempfile::tempdir().expect("a folder");
        let server = asking(&callee, folder.path()).await;
        let admin = server.client();
        let token = server.credentials().with_token("whose-is-it");
        server.client_as(&token, Protocol::Http1).get(MAPS).await.refused(401, "Unauthorized");
        let jane = server.credentials().with_identity(server.issue("jane", &["devs"]));
        // Upstream's response when an authorizer fails and no other allows the request.
        let refusal = server.client_as(&jane, Protocol::Http1).get(MAPS).await;
        assert_eq!(refusal.status, 500, "{}", refusal.text());
        admin.post(VALIDATING, &validating(&callee, "/admit", "configmaps")).await.expect(201);
        let told = refused_by_webhook(&admin, &callee).await;
        assert!(!told.contains(CANARY) && !refusal.text().contains(CANARY), "{told} {}", refusal.text());
        let clock = Clock::real();
        let deadline = clock.monotonic() + Duration::from_secs(10);
        for path in ["/authenticate", "/authorize", "/audit", "/admit"] {
            while !callee.asked().iter().any(|it| it.path == path) {
                assert!(clock.monotonic() < deadline, "{path} was not asked");
                clock.sleep(Duration::from_millis(20)).await;
            }
        }
        let asked = callee.asked();
        let shown = format!("Bearer {CANARY}");
        assert!(asked.iter().any(|it| it.path == "/authorize" && it.authorization == shown));
        assert!(asked.iter().all(|it| it.path != "/admit" || it.authorization.is_empty()));
        assert_eq!(elsewhere.asked().len(), 0, "{:?}", elsewhere.asked());
        let log = server.log();
        assert!(!log.contains(CANARY), "{log}");
    }
}

/// CVE-2021-25735: webhooks for a node update see the old object as it is stored, without changes by other
/// webhooks.
#[tokio::test]
async fn webhooks_see_what_was_there_before() {
    let callee = Callee::open(|asked| {
        let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let response = json!({"uid": review["request"]["uid"], "allowed": true});
        let answer =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        (200, answer.to_string())
    })
    .await
    .expect("a webhook");
    let server = RunningServer::start(Options::default()).await;
    let admin = server.client();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {"a": "0"}}});
    admin.post("/api/v1/nodes", &node).await.expect(201);
    admin.post(VALIDATING, &validating(&callee, "/admit", "nodes")).await.expect(201);
    let path = "/api/v1/nodes/one";
    for number in 1..200 {
        let before = admin.get(path).await.expect(200);
        let mut after = before.clone();
        after["metadata"]["labels"]["a"] = number.to_string().into();
        admin.put(path, &after).await.expect(200);
        if let Some(asked) = callee.asked().pop() {
            let review: Value = serde_json::from_str(&asked.body).expect("JSON");
            assert_eq!(review["request"]["oldObject"], before);
            assert_eq!(review["request"]["object"]["metadata"]["labels"], after["metadata"]["labels"]);
            return;
        }
    }
    panic!("the webhook is not asked");
}
