//! Webhooks of tests: their answers, their configurations, and the comparable parts of a dialogue.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Answer, Asked, Callee, Client, fixture};
use serde_json::{Value, json};

/// The namespace in which webhooks are called.
pub const NAMESPACE: &str = "hooked";
/// Its config maps.
pub const MAPS: &str = "/api/v1/namespaces/hooked/configmaps";
/// The path of the webhook configurations.
pub const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// The namespace of the probes that show which configurations are in effect.
const PROBED: &str = "probed";
/// The suffix of the names of the probes' webhooks.
const PROBE: &str = ".probe.example.com";
/// The time limit for a server to see a configuration on a busy machine.
const LEARNS_WITHIN: Duration = Duration::from_secs(30);

/// A webhook whose answer depends on the request path.
pub fn webhook(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let request = &review["request"];
    let uid = &request["uid"];
    let answer = |response: Value| {
        let review =
            json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
        (200, review.to_string())
    };
    let patch = |operations: Value| {
        let patch = STANDARD.encode(operations.to_string());
        answer(json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch}))
    };
    let allow = || answer(json!({"uid": uid, "allowed": true}));
    let name = request["name"].as_str().unwrap_or_default();
    match asked.path.as_str() {
        "/see" | "/look" | "/exact" => allow(),
        "/label" => patch(json!([{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}])),
        "/seven" if request["subResource"] == "scale" => {
            patch(json!([{"op": "add", "path": "/spec/replicas", "value": 7}]))
        }
        "/seven" => allow(),
        "/less" => patch(json!([{"value": -1, "op": "add", "path": "/spec/replicas"}])),
        "/count" => {
            let seen = request["object"]["metadata"]["annotations"]["seen"].as_str().unwrap_or("");
            patch(
                json!([{"op": "add", "path": "/metadata/annotations", "value": {"seen": format!("{seen}x")}}]),
            )
        }
        "/broken-patch" => patch(json!([{"op": "remove", "path": "/nothing/there"}])),
        "/patch-of-nonsense" => patch(json!({"not": "a patch"})),
        "/number-for-text" => patch(json!([{"op": "add", "path": "/data/key", "value": 7}])),
        "/text-for-object" => patch(json!([{"op": "replace", "path": "/metadata", "value": "x"}])),
        "/other-name" => patch(json!([{"op": "replace", "path": "/metadata/name", "value": "other"}])),
        "/other-kind" => patch(json!([{"op": "replace", "path": "/kind", "value": "Secret"}])),
        "/no-object" => patch(json!([{"op": "replace", "path": "", "value": []}])),
        "/invalid" => patch(json!([{"op": "add", "path": "/metadata/labels", "value": {"a b": "c"}}])),
        "/judge" if name.starts_with("bad") => answer(json!({
            "uid": uid, "allowed": false, "warnings": ["think again"],
            "status": {"code": 418, "reason": "Teapot", "message": "no coffee here"},
        })),
        "/judge" => answer(json!({"uid": uid, "allowed": true, "warnings": ["seen"]})),
        // Returns the warnings that the object contains, word for word.
        "/warn" | "/warn-again" => {
            let said = request["object"]["data"]["said"].as_str().unwrap_or("[]");
            let response = format!(r#"{{"uid":{uid},"allowed":true,"warnings":{said}}}"#);
            let version = &review["apiVersion"];
            let review =
                format!(r#"{{"apiVersion":{version},"kind":"AdmissionReview","response":{response}}}"#);
            (200, review)
        }
        "/silent" => answer(json!({"uid": uid, "allowed": false})),
        "/other-uid" => answer(json!({"uid": "other", "allowed": true})),
        "/error" => {
            (500, r#"{"kind":"Status","status":"Failure","message":"out of order","code":500}"#.to_owned())
        }
        "/nonsense" => (200, "{\"response\":".to_owned()),
        "/garbage" => (200, "\u{1}\u{2} not a review".to_owned()),
        "/huge" => (200, " ".repeat(64 << 20)),
        "/empty" => (200, "{}".to_owned()),
        "/away" => (302, String::new()),
        _ => (404, "404 page not found".to_owned()),
    }
}

/// A server and its webhook.
pub struct Side {
    /// The administrator's client.
    pub client: Client,
    /// The webhook.
    pub callee: Callee,
    /// Whether the server sees configurations some time after they are written.
    is_late: bool,
    probes: AtomicUsize,
}

impl Side {
    /// A server that sees configurations after a while.
    pub async fn slow(client: Client) -> Side {
        Side::new(client).await.patient()
    }

    /// The same server, if it sees configurations after a while.
    #[must_use]
    pub fn patient(mut self) -> Side {
        self.is_late = true;
        self
    }

    /// A server that sees configurations at once.
    pub async fn new(client: Client) -> Side {
        let names = ["127.0.0.1", "localhost", "hooks.hooked.svc"];
        let callee = Callee::named(&names, webhook).await.expect("a webhook");
        Side::with(client, callee).await
    }

    /// The same with another webhook.
    pub async fn with(client: Client, callee: Callee) -> Side {
        client.post("/api/v1/namespaces", &fixture::namespace(NAMESPACE)).await.expect(201);
        client.post("/api/v1/namespaces", &fixture::namespace(PROBED)).await.expect(201);
        Side { client, callee, is_late: false, probes: AtomicUsize::new(0) }
    }

    /// Waits until all configurations that were written before are in effect.
    ///
    /// A server sees them through one watch per kind, in the order of the writes. So one more is written for
    /// each kind, which rejects one object only; when that object is rejected, all earlier ones are in
    /// effect. The webhook of that configuration is a service that does not exist: no webhook is called.
    pub async fn settle(&self) {
        if !self.is_late {
            return;
        }
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            self.probe(kind).await;
        }
    }

    async fn probe(&self, kind: &str) {
        let name = format!("probe-{}", self.probes.fetch_add(1, Ordering::Relaxed));
        let hook = json!({
            "name": format!("{name}{PROBE}"),
            "clientConfig": {"service": {"namespace": PROBED, "name": "nobody"}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": PROBED}},
            "objectSelector": {"matchLabels": {"probe": name}},
        });
        let body = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "webhooks": [self.hook("/probe", &hook)],
        });
        let configurations = format!("{CONFIGURATIONS}/{}s", kind.to_lowercase());
        self.client.post(&configurations, &body).await.expect(201);
        let mut object = fixture::config_map(&name);
        object["metadata"]["labels"] = json!({"probe": name});
        let path = format!("/api/v1/namespaces/{PROBED}/configmaps?dryRun=All");
        let clock = Clock::real();
        let deadline = clock.monotonic() + LEARNS_WITHIN;
        while !self.client.post(&path, &object).await.text().contains(PROBE) {
            assert!(clock.monotonic() < deadline, "{kind} {name} is never in effect");
            clock.sleep(Duration::from_millis(10)).await;
        }
        self.client.delete(&format!("{configurations}/{name}")).await.expect(200);
    }

    /// One webhook for config maps, at `path`, changed by `more`.
    pub fn hook(&self, path: &str, more: &Value) -> Value {
        let mut hook = json!({
            "name": format!("{}.example.com", path.trim_start_matches('/')),
            "clientConfig": {"url": self.callee.url(path), "caBundle": STANDARD.encode(self.callee.ca())},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in more.as_object().expect("fields") {
            hook[key] = value.clone();
        }
        hook
    }

    /// A configuration with that webhook, not yet waited for.
    pub async fn post(&self, kind: &str, path: &str, more: &Value) -> Answer {
        let name = format!("a{}", path.replace('/', "-"));
        let body = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "webhooks": [self.hook(path, more)],
        });
        let plural = format!("{}s", kind.to_lowercase());
        self.client.post(&format!("{CONFIGURATIONS}/{plural}"), &body).await
    }

    /// A configuration with that webhook, which counts when this is done.
    pub async fn configure(&self, kind: &str, path: &str, more: &Value) {
        let made = self.post(kind, path, more).await.expect(201);
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        self.cached(&format!("{}s/{name}", kind.to_lowercase()), |it| it.status == 200).await;
        self.settle().await;
    }

    /// Waits until the server's own cache has configurations as expected.
    pub async fn cached(&self, path: &str, is_expected: impl Fn(&Answer) -> bool) {
        let (clock, path) = (Clock::real(), format!("{CONFIGURATIONS}/{path}?resourceVersion=0"));
        for _ in 0..500 {
            if is_expected(&self.client.get(&path).await) {
                return;
            }
            clock.sleep(Duration::from_millis(10)).await;
        }
        panic!("the cache of the server does not follow");
    }

    /// Waits until the server's cache has the object at `path` as it is stored.
    ///
    /// Upstream begins a write with the object in its cache. If that is old, it runs admission again, and
    /// webhooks get one more review.
    pub async fn caught_up(&self, path: &str) {
        let stored = self.client.get(path).await;
        if stored.status != 200 {
            return;
        }
        let revision = stored.json()["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let cached = format!("{path}?resourceVersion={revision}");
        let clock = Clock::real();
        let deadline = clock.monotonic() + LEARNS_WITHIN;
        while self.client.get(&cached).await.status != 200 {
            assert!(clock.monotonic() < deadline, "the cache of the server does not follow {path}");
        }
    }

    /// A configuration of one that may change objects.
    pub async fn mutating(&self, path: &str, more: &Value) {
        self.configure("MutatingWebhookConfiguration", path, more).await;
    }

    /// A validating configuration.
    pub async fn validating(&self, path: &str, more: &Value) {
        self.configure("ValidatingWebhookConfiguration", path, more).await;
    }

    /// Removes all configurations.
    pub async fn forget(&self) {
        for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
            self.client.delete(&format!("{CONFIGURATIONS}/{plural}")).await.expect(200);
            self.cached(plural, |it| it.json()["items"] == json!([])).await;
        }
        self.settle().await;
    }

    /// A response without the parts that differ from server to server.
    pub fn shown(&self, answer: &Answer) -> String {
        let warnings: Vec<_> = answer.headers.get_all("warning").iter().map(|it| format!("{it:?}")).collect();
        let mut body = normalized(answer.json());
        if let Some(message) = body["message"].as_str() {
            body["message"] = without_time(message).into();
        }
        let text = format!("{} {} {}", answer.status, without_uuids(&body.to_string()), warnings.join(" "));
        text.replace(self.callee.url("").trim_start_matches("https://"), "WEBHOOK")
    }

    /// The requests to the webhook, without the parts that differ from server to server.
    pub fn questions(&self) -> Vec<String> {
        let asked = self.callee.asked().into_iter();
        asked
            .map(|it| {
                let body = serde_json::from_str(&it.body).map(comparable).unwrap_or_default();
                format!("{} {} {} {} {body}", it.method, it.path, it.agent, it.authorization)
            })
            .collect()
    }

    /// The numbers of webhooks, without times.
    pub async fn numbers(&self) -> Vec<String> {
        let text = self.client.get("/metrics").await.text();
        let counted = text.lines().filter(|it| {
            it.starts_with("apiserver_admission_webhook_")
                && !["_bucket", "_sum", PROBE].iter().any(|part| it.contains(part))
        });
        let mut counted: Vec<String> = counted.map(sorted_labels).collect();
        counted.sort_unstable();
        counted
    }
}

/// Waits until the audit log at `file` has an event of `request`. Events are written in the order in which requests end,
/// so those of all earlier requests of the same client are there as well.
pub async fn audited(file: &Path, request: &str) {
    let clock = Clock::real();
    let deadline = clock.monotonic() + LEARNS_WITHIN;
    while !fs::read_to_string(file).unwrap_or_default().contains(request) {
        assert!(clock.monotonic() < deadline, "{request} is not in {}", file.display());
        clock.sleep(Duration::from_millis(10)).await;
    }
}

/// The labels of a line by name: each server has its own order.
pub fn sorted_labels(line: &str) -> String {
    let Some((name, rest)) = line.split_once('{') else { return line.to_owned() };
    let Some((labels, value)) = rest.split_once('}') else { return line.to_owned() };
    let mut labels: Vec<&str> = labels.split(',').collect();
    labels.sort_unstable();
    format!("{name}{{{}}}{value}", labels.join(","))
}

/// Our errors about webhooks include the duration: `… (after 0.012s)`.
pub fn without_time(text: &str) -> &str {
    let taken = text.strip_suffix("s)").and_then(|it| it.rsplit_once(" (after "));
    let is_time = |it: &str| it.parse::<f64>().is_ok();
    taken.filter(|(_, seconds)| is_time(seconds)).map_or(text, |(words, _)| words)
}

/// Replaces UUIDs: every review and every object has its own, and messages repeat it.
fn without_uuids(text: &str) -> String {
    let is_uuid = |it: &[u8]| {
        it.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let bytes = rest.as_bytes();
        let cut = if bytes.len() >= 36 && is_uuid(&bytes[..36]) { 36 } else { first.len_utf8() };
        shown.push_str(if cut == 36 { "*" } else { &rest[..cut] });
        rest = &rest[cut..];
    }
    shown
}

/// A review without the differences that docs/parity.md explains.
fn comparable(review: Value) -> Value {
    let mut review = normalized(review);
    let request = &mut review["request"];
    let part = request["subResource"].as_str().unwrap_or_default().to_owned();
    let mut forget = |keys: &[&str]| {
        if let Some(meta) = request["object"]["metadata"].as_object_mut() {
            keys.iter().for_each(|key| drop(meta.remove(*key)));
        }
    };
    match part.as_str() {
        "token" => forget(&["name", "uid", "creationTimestamp"]),
        "scale" => {
            forget(&["uid", "resourceVersion", "creationTimestamp", "managedFields"]);
            if let Some(scale) = request["object"].as_object_mut() {
                scale.remove("status");
            }
        }
        _ => {}
    }
    review
}

/// A tree without the parts that differ from server to server.
pub fn normalized(mut value: Value) -> Value {
    const OWN: [&str; 10] = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "time",
        "token",
        "expirationTimestamp",
        "lastTransitionTime",
        "eventTime",
        "caBundle",
    ];
    match &mut value {
        Value::Object(map) => {
            // The user has a different certificate on each server.
            map.remove("extra");
            for (key, value) in map.iter_mut() {
                let is_own = OWN.contains(&key.as_str());
                *value = if is_own && value.is_string() { json!("*") } else { normalized(value.take()) };
                // They are in the order of their times, and a second may end between two writes.
                if let ("managedFields", Some(entries)) = (key.as_str(), value.as_array_mut()) {
                    entries.sort_by_key(ToString::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| *it = normalized(it.take())),
        _ => (),
    }
    value
}

/// Everything in which two dialogues differ.
pub fn differences(theirs: &[String], ours: &[String]) -> Vec<String> {
    let both = theirs.iter().zip(ours).filter(|(theirs, ours)| theirs != ours);
    let mut found: Vec<String> =
        both.map(|(theirs, ours)| format!("upstream {theirs}\nours     {ours}")).collect();
    if theirs.len() != ours.len() {
        found.push(format!("upstream says {} things, we {}", theirs.len(), ours.len()));
        let (longer, shorter) = if theirs.len() > ours.len() { (theirs, ours) } else { (ours, theirs) };
        found.extend(longer[shorter.len()..].iter().cloned());
    }
    found
}
