//! Admission webhooks: the same dialogue with us and with upstream, and the questions that both ask.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Answer, Asked, Callee, Client, Options, RunningServer, fixture};
use keelson_tests::upstream::Upstream;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/hooked/configmaps";
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// Longer than upstream takes to learn of a configuration.
const SETTLES: Duration = Duration::from_millis(1500);

/// A webhook whose answer depends on the path it is asked at.
fn webhook(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let uid = &review["request"]["uid"];
    let answer = |response: Value| {
        let review =
            json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
        (200, review.to_string())
    };
    let patch = |operations: Value| {
        let patch = STANDARD.encode(operations.to_string());
        answer(json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch}))
    };
    let name = review["request"]["name"].as_str().unwrap_or_default();
    match asked.path.as_str() {
        "/label" => patch(json!([{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}])),
        "/count" => {
            let seen = review["request"]["object"]["metadata"]["annotations"]["seen"].as_str().unwrap_or("");
            patch(
                json!([{"op": "add", "path": "/metadata/annotations", "value": {"seen": format!("{seen}x")}}]),
            )
        }
        "/broken-patch" => patch(json!([{"op": "remove", "path": "/nothing/there"}])),
        "/patch-of-nonsense" => patch(json!({"not": "a patch"})),
        "/judge" if name.starts_with("bad") => answer(json!({
            "uid": uid, "allowed": false, "warnings": ["think again"],
            "status": {"code": 418, "reason": "Teapot", "message": "no coffee here"},
        })),
        "/judge" => answer(json!({"uid": uid, "allowed": true, "warnings": ["seen"]})),
        "/silent" => answer(json!({"uid": uid, "allowed": false})),
        "/other-uid" => answer(json!({"uid": "other", "allowed": true})),
        "/error" => {
            (500, r#"{"kind":"Status","status":"Failure","message":"out of order","code":500}"#.to_owned())
        }
        "/nonsense" => (200, "{\"response\":".to_owned()),
        "/empty" => (200, "{}".to_owned()),
        "/away" => (302, String::new()),
        _ => (404, "404 page not found".to_owned()),
    }
}

/// One of the two servers, and the webhook it asks.
struct Side {
    client: Client,
    callee: Callee,
}

impl Side {
    async fn new(client: Client) -> Side {
        let callee = Callee::open(webhook).await.expect("a webhook");
        client.post("/api/v1/namespaces", &fixture::namespace("hooked")).await.expect(201);
        Side { client, callee }
    }

    /// A configuration with one webhook for config maps, at `path`, changed by `more`.
    async fn configure(&self, kind: &str, path: &str, more: &Value) -> Answer {
        let mut hook = json!({
            "name": format!("{}.example.com", path.trim_start_matches('/')),
            "clientConfig": {"url": self.callee.url(path), "caBundle": STANDARD.encode(self.callee.ca())},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooked"}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in more.as_object().expect("fields") {
            hook[key] = value.clone();
        }
        let name = format!("a{}", path.replace('/', "-"));
        let body = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": [hook],
        });
        let plural = format!("{}s", kind.to_lowercase());
        let answer = self.client.post(&format!("{CONFIGURATIONS}/{plural}"), &body).await;
        Clock::real().sleep(SETTLES).await;
        answer
    }

    async fn forget(&self) {
        for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
            self.client.delete(&format!("{CONFIGURATIONS}/{plural}")).await.expect(200);
        }
        Clock::real().sleep(SETTLES).await;
    }

    /// What differs from server to server is not compared.
    fn shown(&self, answer: &Answer) -> String {
        let warnings: Vec<_> = answer.headers.get_all("warning").iter().map(|it| format!("{it:?}")).collect();
        let body = normalized(answer.json());
        let text = format!("{} {} {}", answer.status, without_uuids(&body.to_string()), warnings.join(" "));
        text.replace(self.callee.url("").trim_start_matches("https://"), "WEBHOOK")
    }

    fn questions(&self) -> Vec<String> {
        let asked = self.callee.asked().into_iter();
        asked
            .map(|it| {
                let mut body = serde_json::from_str(&it.body).map(normalized).unwrap_or_default();
                // An update that names no version gets that of the object at once here, and last there.
                if let Some(meta) = body["request"]["object"]["metadata"].as_object_mut() {
                    meta.remove("resourceVersion");
                }
                format!("{} {} {body}", it.method, it.path)
            })
            .collect()
    }
}

/// Every question has a number of its own, and messages repeat it.
fn without_uuids(text: &str) -> String {
    let is_uuid = |it: &str| {
        it.len() == 36
            && it.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let mut words: Vec<&str> = text.split('"').collect();
    for word in &mut words {
        let bare = word.trim_end_matches('\\');
        if is_uuid(bare) {
            *word = "*";
        }
    }
    words.join("\"")
}

fn normalized(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            // Who asks has a certificate of its own on each server.
            map.remove("extra");
            for (key, value) in map.iter_mut() {
                let is_own = ["uid", "resourceVersion", "creationTimestamp", "time"].contains(&key.as_str());
                *value = if is_own && value.is_string() { json!("*") } else { normalized(value.take()) };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| *it = normalized(it.take())),
        _ => (),
    }
    value
}

/// What is done with a server; the answers in order.
async fn dialogue(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let mut note = |answer: &Answer| answers.push(side.shown(answer));
    let map = fixture::config_map;

    side.configure("MutatingWebhookConfiguration", "/label", &json!({})).await.expect(201);
    side.configure("ValidatingWebhookConfiguration", "/judge", &json!({})).await.expect(201);
    note(&client.post(MAPS, &map("good")).await);
    note(&client.post(MAPS, &map("bad")).await);
    note(&client.post(&format!("{MAPS}?dryRun=All&fieldManager=m"), &map("dry")).await);
    note(&client.put(&format!("{MAPS}/good"), &map("good")).await);
    let patch = json!({"data": {"more": "x"}});
    note(&client.patch(&format!("{MAPS}/good?fieldManager=p"), "application/merge-patch+json", &patch).await);
    note(&client.delete(&format!("{MAPS}/good")).await);
    note(&client.post("/api/v1/namespaces/default/configmaps", &map("elsewhere")).await);
    side.forget().await;

    side.configure("MutatingWebhookConfiguration", "/count", &json!({"reinvocationPolicy": "IfNeeded"}))
        .await
        .expect(201);
    side.configure("MutatingWebhookConfiguration", "/label", &json!({})).await.expect(201);
    note(&client.post(MAPS, &map("twice")).await);
    side.forget().await;

    for path in ["/broken-patch", "/patch-of-nonsense"] {
        side.configure("MutatingWebhookConfiguration", path, &json!({})).await.expect(201);
        note(&client.post(MAPS, &map("patched")).await);
        side.forget().await;
    }
    for path in ["/silent", "/other-uid", "/error", "/empty", "/missing"] {
        side.configure("ValidatingWebhookConfiguration", path, &json!({})).await.expect(201);
        note(&client.post(MAPS, &map("judged")).await);
        side.forget().await;
    }
    let open = json!({"failurePolicy": "Ignore", "sideEffects": "NoneOnDryRun"});
    side.configure("ValidatingWebhookConfiguration", "/error", &open).await.expect(201);
    note(&client.post(MAPS, &map("let-through")).await);
    side.forget().await;
    let nowhere = json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}});
    side.configure("ValidatingWebhookConfiguration", "/nowhere", &nowhere).await.expect(201);
    note(&client.post(MAPS, &map("unheard")).await);
    side.forget().await;
    let unknown =
        json!({"clientConfig": {"service": {"namespace": "hooked", "name": "nobody", "path": "/x"}}});
    side.configure("ValidatingWebhookConfiguration", "/service", &unknown).await.expect(201);
    note(&client.post(MAPS, &map("unserved")).await);
    side.forget().await;
    answers
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn webhooks_are_asked_and_obeyed_as_by_upstream() {
    let test = "webhooks_are_asked_and_obeyed_as_by_upstream";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let server = RunningServer::start(Options::default()).await;
    let (theirs, ours) = (Side::new(upstream.client().clone()).await, Side::new(server.client()).await);
    let (expected, found) = tokio::join!(Box::pin(dialogue(&theirs)), Box::pin(dialogue(&ours)));
    let answers = expected.iter().zip(&found);
    let (theirs, ours) = (theirs.questions(), ours.questions());
    let both = answers.chain(theirs.iter().zip(&ours)).filter(|(expected, found)| expected != found);
    let differences: Vec<String> =
        both.map(|(theirs, ours)| format!("upstream {theirs}\nours     {ours}")).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    assert_eq!((found.len(), ours.len()), (expected.len(), theirs.len()));
}

#[tokio::test]
async fn a_webhook_that_hangs_ends_with_its_time() {
    let server = RunningServer::start(Options::default()).await;
    // Somebody who takes connections and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let side = Side::new(server.client()).await;
    let hangs = json!({"clientConfig": {"url": format!("https://127.0.0.1:{port}/x")}, "timeoutSeconds": 1});
    side.configure("ValidatingWebhookConfiguration", "/hangs", &hangs).await.expect(201);
    let refusal = side.client.post(MAPS, &fixture::config_map("late")).await.refused(500, "InternalError");
    assert_eq!(
        refusal["message"],
        format!(
            "Internal error occurred: failed calling webhook \"hangs.example.com\": failed to call webhook: \
             Post \"https://127.0.0.1:{port}/x?timeout=1s\": context deadline exceeded"
        )
    );
}

#[tokio::test]
async fn a_webhook_behind_a_service_is_found_at_its_endpoints() {
    let server = RunningServer::start(Options::default()).await;
    let side = Side::new(server.client()).await;
    let port: u16 = side.callee.url("").rsplit(':').next().and_then(|it| it.parse().ok()).expect("a port");
    let service = json!({"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}});
    side.client.post("/api/v1/namespaces/hooked/services", &service).await.expect(201);
    let slice = json!({
        "metadata": {"name": "hooks-1", "labels": {"kubernetes.io/service-name": "hooks"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": port}],
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": false}}],
    });
    let slices = "/apis/discovery.k8s.io/v1/namespaces/hooked/endpointslices";
    side.client.post(slices, &slice).await.expect(201);
    let to_service = json!({"clientConfig": {
        "service": {"namespace": "hooked", "name": "hooks", "path": "/judge"},
        "caBundle": STANDARD.encode(side.callee.ca()),
    }});
    side.configure("ValidatingWebhookConfiguration", "/judge", &to_service).await.expect(201);
    // Nobody is ready, and then nobody called hooks.hooked.svc listens: both are told, and name the service.
    let refusal = side.client.post(MAPS, &fixture::config_map("a")).await.refused(500, "InternalError");
    let message = refusal["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("no endpoints available for service \"hooks\""), "{message}");
}
