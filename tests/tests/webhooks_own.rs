//! Admission webhooks that misbehave, and what we have beyond upstream: circuits, timings, manifests.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Callee, Options, RunningServer, fixture};
use keelson_tests::webhooks::{CONFIGURATIONS, MAPS, Side, webhook, without_time};
use serde_json::{Value, json};

async fn side(arguments: &[String]) -> (RunningServer, Side) {
    let server =
        RunningServer::start(arguments.iter().cloned().fold(Options::default(), Options::argument)).await;
    let side = Side::new(server.client()).await;
    (server, side)
}

/// The message with which a config map is refused, without how long it took.
async fn refusal(side: &Side, name: &str) -> String {
    without_time(&whole_refusal(side, name).await).to_owned()
}

async fn whole_refusal(side: &Side, name: &str) -> String {
    let refusal = side.client.post(MAPS, &fixture::config_map(name)).await.refused(500, "InternalError");
    refusal["message"].as_str().unwrap_or_default().to_owned()
}

/// Waits until `is_so`, which takes a moment.
async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let clock = Clock::real();
    for _ in 0..100 {
        if is_so().await {
            return;
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
    panic!("{what} does not happen");
}

#[tokio::test]
async fn a_webhook_that_hangs_ends_with_its_time() {
    let (_server, side) = side(&[]).await;
    // A server that accepts connections and does not answer.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let hangs = json!({"clientConfig": {"url": format!("https://127.0.0.1:{port}/x")}, "timeoutSeconds": 1});
    side.validating("/hangs", &hangs).await;
    let message = whole_refusal(&side, "late").await;
    let words = format!(
        "Internal error occurred: failed calling webhook \"hangs.example.com\": failed to call webhook: \
         Post \"https://127.0.0.1:{port}/x?timeout=1s\": context deadline exceeded (after 1."
    );
    assert!(message.starts_with(&words) && message.ends_with("s)"), "{message}");
}

#[tokio::test]
async fn a_webhook_that_talks_too_much_or_nonsense_is_not_listened_to() {
    let (_server, side) = side(&[]).await;
    for (path, expected) in [
        ("/huge", "reply is larger than 4194304 bytes"),
        (
            "/garbage",
            "couldn't get version/kind; json parse error: invalid character '\\x01' looking for beginning of value",
        ),
        ("/nonsense", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ("/away", "302"),
    ] {
        for (kind, step) in
            [("ValidatingWebhookConfiguration", "validating"), ("MutatingWebhookConfiguration", "admit")]
        {
            side.configure(kind, path, &json!({})).await;
            let message = refusal(&side, "refused").await;
            let name =
                format!("failed calling webhook \"{}.example.com\": failed to call webhook:", &path[1..]);
            assert!(message.contains(&name) && message.contains(expected), "{message}");
            side.forget().await;
            side.configure(kind, path, &json!({"failurePolicy": "Ignore"})).await;
            side.client.post(&format!("{MAPS}?dryRun=All"), &fixture::config_map("passed")).await.expect(201);
            let numbers = side.numbers().await;
            let counted = format!(
                "apiserver_admission_webhook_fail_open_count{{name=\"{}.example.com\",type=\"{step}\"}} 1",
                &path[1..]
            );
            assert!(numbers.contains(&counted), "{numbers:#?}");
            side.forget().await;
        }
    }
}

#[tokio::test]
async fn a_webhook_behind_a_service_is_found_at_its_endpoints() {
    let (_server, side) = side(&[]).await;
    let service = json!({"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}});
    side.client.post("/api/v1/namespaces/hooked/services", &service).await.expect(201);
    let slice = |address: &str, ready: bool| {
        json!({
            "metadata": {"name": "hooks-1", "labels": {"kubernetes.io/service-name": "hooks"}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": side.callee.port()}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": ready}}],
        })
    };
    // Loopback addresses are not valid in a slice, so it begins with another one that is not ready.
    let slices = "/apis/discovery.k8s.io/v1/namespaces/hooked/endpointslices";
    side.client.post(slices, &slice("192.0.2.1", false)).await.expect(201);
    let to_service = json!({"clientConfig": {
        "service": {"namespace": "hooked", "name": "hooks", "path": "/judge"},
        "caBundle": STANDARD.encode(side.callee.ca()),
    }});
    side.validating("/judge", &to_service).await;
    let message = refusal(&side, "a").await;
    assert!(message.ends_with("no endpoints available for service \"hooks\""), "{message}");
}

#[tokio::test]
async fn a_webhook_that_fails_again_and_again_is_left_alone_for_a_while() {
    let flags =
        ["--webhook-circuit-breaker-failures=2", "--webhook-circuit-breaker-pause=2s"].map(String::from);
    let (_server, side) = side(&flags).await;
    side.validating("/error", &json!({})).await;
    let usual = "Internal error occurred: failed calling webhook \"error.example.com\": failed to call webhook: out of order";
    assert_eq!(refusal(&side, "a").await, usual);
    assert_eq!(refusal(&side, "b").await, usual);
    let message = whole_refusal(&side, "c").await;
    let open = "Internal error occurred: failed calling webhook \"error.example.com\": circuit breaker is open for another ";
    assert!(message.starts_with(open), "{message}");
    assert!(
        message.ends_with("after 2 failures in a row, the last one: failed to call webhook: out of order"),
        "{message}"
    );
    assert_eq!(side.callee.asked().len(), 2, "it is not asked");
    let state =
        "keelson_admission_webhook_circuit_state{configuration=\"a-error\",name=\"error.example.com\"} 2";
    assert!(side.client.get("/metrics").await.text().contains(state));
    // After the pause one call is let through, and opens the circuit again.
    eventually("the probe", async || refusal(&side, "d").await == usual).await;
    assert_eq!(side.callee.asked().len(), 3);
    assert!(refusal(&side, "e").await.starts_with(open));
}

#[tokio::test]
async fn clients_are_told_how_long_webhooks_took_if_an_operator_wants_that() {
    let (_server, side) = side(&["--webhook-server-timing".to_owned()]).await;
    side.mutating("/label", &json!({})).await;
    side.validating("/see", &json!({})).await;
    let answer = side.client.post(MAPS, &fixture::config_map("timed")).await;
    answer.expect(201);
    let told: Vec<&str> =
        answer.headers.get_all("server-timing").iter().filter_map(|it| it.to_str().ok()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("label.example.com;desc=\"admit\";dur="), "{told:?}");
    assert!(told[1].starts_with("see.example.com;desc=\"validating\";dur="), "{told:?}");

    let (_quiet, side) = self::side(&[]).await;
    side.validating("/see", &json!({})).await;
    let answer = side.client.post(MAPS, &fixture::config_map("untimed")).await;
    assert!(answer.headers.get("server-timing").is_none());
}

#[tokio::test]
async fn twenty_validating_webhooks_are_asked_at_once() {
    let delay = Duration::from_millis(500);
    let server = RunningServer::start(Options::default()).await;
    let callee = Callee::slow(delay, webhook).await.expect("a webhook");
    let side = Side::with(server.client(), callee).await;
    let hooks: Vec<Value> =
        (0..20).map(|it| side.hook("/see", &json!({"name": format!("w{it}.example.com")}))).collect();
    let body = json!({"metadata": {"name": "many"}, "webhooks": hooks});
    side.client.post(&format!("{CONFIGURATIONS}/validatingwebhookconfigurations"), &body).await.expect(201);
    side.cached("validatingwebhookconfigurations/many", |it| it.status == 200).await;
    let clock = Clock::real();
    let started = clock.monotonic();
    side.client.post(MAPS, &fixture::config_map("seen")).await.expect(201);
    let took = clock.monotonic() - started;
    assert_eq!(side.callee.asked().len(), 20);
    assert!(took < delay * 10, "{took:?}");
}

/// A folder with a static webhook configuration, and the flags for it.
fn manifests(folder: &Path) -> (std::path::PathBuf, Vec<String>) {
    let manifests = folder.join("manifests");
    fs::create_dir(&manifests).expect("a folder");
    let file = folder.join("admission.yaml");
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n\
         - name: ValidatingAdmissionWebhook\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    \
         kind: WebhookAdmissionConfiguration\n    staticManifestsDir: {}\n",
        manifests.display()
    );
    fs::write(&file, text).expect("a file");
    let flags = vec![
        format!("--admission-control-config-file={}", file.display()),
        "--feature-gates=ManifestBasedAdmissionControlConfig=true".to_owned(),
    ];
    (manifests, flags)
}

fn configuration(name: &str, hook: &Value) -> String {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": [hook],
    })
    .to_string()
}

#[tokio::test]
async fn webhooks_of_files_are_asked_about_everything_and_cannot_be_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifests, flags) = manifests(folder.path());
    let (server, side) = side(&flags).await;
    let mut hook = side.hook("/silent", &json!({"namespaceSelector": {}}));
    hook["rules"] = json!([
        {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]},
        {"operations": ["CREATE"], "apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["v1"], "resources": ["*"]},
    ]);
    fs::write(manifests.join("a.json"), configuration("a.static.k8s.io", &hook)).expect("a file");
    let denied = "admission webhook \"silent.example.com\" denied the request without explanation";
    eventually("the manifest counts", async || {
        let answer = side.client.post(&format!("{MAPS}?dryRun=All"), &fixture::config_map("a")).await;
        answer.status == 400 && answer.json()["message"] == denied
    })
    .await;
    let refused = side.post("ValidatingWebhookConfiguration", "/see", &json!({})).await;
    assert_eq!(refused.json()["message"], denied, "configurations of the API are no exception");
    let listed =
        side.client.get(&format!("{CONFIGURATIONS}/validatingwebhookconfigurations")).await.expect(200);
    assert_eq!(listed["items"], json!([]), "it is not in the API");
    // What is wrong changes nothing and is counted.
    fs::write(manifests.join("b.json"), configuration("b", &hook)).expect("a file");
    let failure = "automatic_reloads_total{status=\"failure\",plugin=\"ValidatingAdmissionWebhook\",apiserver_id_hash=\"\"} 1";
    eventually("the failure is counted", async || side.client.get("/metrics").await.text().contains(failure))
        .await;
    let answer = side.client.post(MAPS, &fixture::config_map("a")).await;
    assert_eq!(answer.status, 400);
    let log = server.log();
    assert!(log.contains("must have a name ending with"), "{log}");
}

#[tokio::test]
async fn names_of_files_are_not_for_the_api() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, flags) = manifests(folder.path());
    let (_server, side) = side(&flags).await;
    let body: Value = serde_json::from_str(&configuration("a.static.k8s.io", &side.hook("/see", &json!({}))))
        .expect("it is JSON");
    let answer = side.client.post(&format!("{CONFIGURATIONS}/validatingwebhookconfigurations"), &body).await;
    let message = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"a.static.k8s.io\" is invalid: metadata.name: \
                   Invalid value: \"a.static.k8s.io\": names ending with \".static.k8s.io\" are reserved for static \
                   manifest-based configurations and cannot be managed via the API";
    assert_eq!(answer.refused(422, "Invalid")["message"], message);
}
