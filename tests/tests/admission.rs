//! Admission of all operations: two webhooks that match everything get the same requests from us and from
//! upstream. Also tests of mutations that damage fields which webhooks must not change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_stdx::task::{self, Tasks};
use keelson_testkit::{Asked, Callee, Client, Options, RunningServer, fixture};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use keelson_tests::webhooks::{MAPS, Side, differences, normalized, sorted_labels};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener};

const PODS: &str = "/api/v1/namespaces/hooked/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/hooked/deployments";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Two owners that are one.
fn twins() -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1234"});
    json!([owner, owner])
}

/// The patch of `/change` for objects of these names.
fn change(name: &str) -> Option<Value> {
    let managers =
        |value: Value| Some(json!([{"op": "add", "path": "/metadata/managedFields", "value": value}]));
    let entry = |operation: &str, version: &str, kind: &str, fields: Value| json!([{"manager": "m", "operation": operation, "apiVersion": version, "fieldsType": kind, "fieldsV1": fields}]);
    match name {
        "no-operation" => managers(entry("Nope", "v1", "FieldsV1", json!({}))),
        "no-version" => managers(entry("Update", "", "FieldsV1", json!({}))),
        "no-type" => managers(entry("Update", "v1", "", json!({}))),
        "other-type" => managers(entry("Update", "v1", "FieldsV2", json!({}))),
        "other-managers" => managers(entry("Update", "v1", "FieldsV1", json!({"f:data": {"f:key": {}}}))),
        "no-managers" => managers(json!([])),
        "twins" => Some(json!([{"op": "add", "path": "/metadata/ownerReferences", "value": twins()}])),
        "labelled" => Some(json!([{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}])),
        _ => None,
    }
}

fn webhook(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let request = &review["request"];
    let name = request["name"].as_str().unwrap_or_default();
    let mut response = json!({"uid": request["uid"], "allowed": true});
    if asked.path == "/judge" && name.starts_with("forbidden") {
        response["allowed"] = json!(false);
        response["status"] = json!({"code": 403, "reason": "Forbidden", "message": "not this one"});
    }
    if asked.path == "/change"
        && let Some(patch) = change(name)
    {
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(STANDARD.encode(patch.to_string()));
    }
    (
        200,
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
            .to_string(),
    )
}

/// One of the two servers, with webhooks that match everything.
async fn side(client: &Client) -> Side {
    let callee = Callee::open(webhook).await.expect("a webhook");
    let side = Side::with(client.clone(), callee).await.patient();
    let everything = json!({
        "name": "everything.example.com",
        "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}],
        "namespaceSelector": {},
    });
    side.post("MutatingWebhookConfiguration", "/change", &everything).await.expect(201);
    side.post("ValidatingWebhookConfiguration", "/judge", &everything).await.expect(201);
    side.settle().await;
    side
}

/// The reviews since `from` that are about actions of the test. A write that loses a race is reviewed again,
/// and upstream loses against itself when its cache is late: only the last review of each webhook counts.
fn questions(side: &Side, from: usize) -> Vec<String> {
    let mut last = BTreeMap::new();
    for asked in &side.callee.asked()[from..] {
        let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let user = review["request"]["userInfo"]["username"].as_str().unwrap_or_default();
        if !user.starts_with("system:") {
            last.insert(asked.path.clone(), comparable(review["request"].clone()));
        }
    }
    last.into_iter().map(|(path, request)| format!("{path} {request}")).collect()
}

/// A review without known differences.
fn comparable(request: Value) -> Value {
    let mut request = normalized(request);
    let mut forgotten = vec!["/userInfo"];
    if request["subResource"] == "scale" {
        // Ours is built from the object, upstream's is what was sent.
        forgotten.extend([
            "/object/metadata/resourceVersion",
            "/object/metadata/uid",
            "/object/metadata/creationTimestamp",
            "/object/status/selector",
        ]);
    }
    if request["operation"] == "DELETE" && request["resource"]["resource"] == "namespaces" {
        // Upstream deletes the namespace that it has read, with preconditions.
        forgotten.push("/options/preconditions");
    }
    for path in forgotten {
        let (parent, key) = path.rsplit_once('/').expect("a path");
        if let Some(map) = request.pointer_mut(parent).and_then(Value::as_object_mut) {
            map.remove(key);
        }
    }
    request
}

/// Replaces generated names, which differ on each server.
fn nameless(text: &str) -> String {
    let mut parts = text.split("\"made-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('"') {
        Some((name, rest)) if name.len() == 5 => format!("{text}\"made-*\"{rest}"),
        _ => format!("{text}\"made-{part}"),
    })
}

/// The parts of a response that are compared.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Everything,
    /// Only the reviews: upstream goes on, and fails elsewhere.
    Questions,
}

type Step = (Of, &'static str, String, &'static str, Value);

/// A request: method, path, media type, body.
fn step(method: &'static str, path: impl Into<String>, body: Value) -> Step {
    (Of::Everything, method, path.into(), "application/json", body)
}

fn patch(path: impl Into<String>, media_type: &'static str, body: Value) -> Step {
    (Of::Everything, "PATCH", path.into(), media_type, body)
}

fn question(method: &'static str, path: impl Into<String>) -> Step {
    (Of::Questions, method, path.into(), "application/json", Value::Null)
}

/// Writes of objects themselves.
fn objects() -> Vec<Step> {
    let map = fixture::config_map;
    let mut unlike = map("a");
    unlike["data"] = json!({"other": "value"});
    let mut finalized = fixture::namespace("made");
    finalized["spec"] = json!({"finalizers": ["kubernetes"]});
    vec![
        step("POST", format!("{MAPS}?fieldManager=m&fieldValidation=Warn"), map("a")),
        step("POST", format!("{MAPS}?dryRun=All"), map("dry")),
        step(
            "POST",
            MAPS,
            json!({"metadata": {"generateName": "made-"}, "kind": "ConfigMap", "apiVersion": "v1"}),
        ),
        step("PUT", format!("{MAPS}/a?dryRun=All&fieldManager=other"), unlike),
        patch(format!("{MAPS}/a"), MERGE, json!({"data": {"b": "c"}})),
        patch(format!("{MAPS}/applied?fieldManager=m&force=true"), APPLY, map("applied")),
        patch(format!("{MAPS}/applied?fieldManager=n&force=true"), APPLY, map("applied")),
        step("POST", MAPS, map("forbidden")),
        step("DELETE", format!("{MAPS}/a?dryRun=All&gracePeriodSeconds=5"), Value::Null),
        step(
            "DELETE",
            format!("{MAPS}/a?dryRun=All"),
            json!({"propagationPolicy": "Foreground", "preconditions": {}}),
        ),
        step(
            "DELETE",
            format!("{MAPS}/a"),
            json!({"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}),
        ),
        step("DELETE", format!("{MAPS}/a"), Value::Null),
        step(
            "DELETE",
            format!("{MAPS}?fieldSelector=metadata.name=applied&propagationPolicy=Background"),
            Value::Null,
        ),
        step("DELETE", format!("{MAPS}?fieldSelector=metadata.name=applied"), Value::Null),
        step("POST", "/api/v1/namespaces", fixture::namespace("made")),
        step("PUT", "/api/v1/namespaces/made/finalize", finalized),
        step("DELETE", "/api/v1/namespaces/made", Value::Null),
        step(
            "POST",
            "/api/v1/nodes",
            json!({"metadata": {"name": "node"}, "kind": "Node", "apiVersion": "v1"}),
        ),
    ]
}

/// Subresources.
fn parts() -> Vec<Step> {
    let container = json!([{"name": "c", "image": "i"}]);
    let deployment = json!({
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": container}}},
    });
    let scale = |replicas: i32| {
        json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d", "namespace": "hooked"}, "spec": {"replicas": replicas},
        })
    };
    let binding =
        json!({"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": {"name": "node"}});
    let eviction = json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "p"}});
    let review = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let mut local = review.clone();
    local["spec"]["user"] = json!("somebody");
    local["spec"]["resourceAttributes"]["namespace"] = json!("hooked");
    vec![
        step("POST", PODS, fixture::small_pod("p")),
        patch(format!("{PODS}/p/status"), MERGE, json!({"status": {"message": "hello"}})),
        patch(
            format!("{PODS}/p/ephemeralcontainers"),
            "application/strategic-merge-patch+json",
            json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}}),
        ),
        step("POST", format!("{PODS}/p/binding?fieldManager=m"), binding),
        step("POST", format!("{PODS}/p/eviction?dryRun=All"), eviction.clone()),
        step("POST", format!("{PODS}/p/eviction"), eviction),
        step("POST", DEPLOYMENTS, deployment),
        step("PUT", format!("{DEPLOYMENTS}/d/scale?fieldManager=s"), scale(3)),
        patch(format!("{DEPLOYMENTS}/d/scale"), MERGE, json!({"spec": {"replicas": 2}})),
        patch(format!("{DEPLOYMENTS}/d/scale?fieldManager=t&force=true"), APPLY, scale(5)),
        step("GET", format!("{DEPLOYMENTS}/d"), Value::Null),
        step("POST", "/api/v1/namespaces/hooked/serviceaccounts", json!({"metadata": {"name": "s"}})),
        step(
            "POST",
            "/api/v1/namespaces/hooked/serviceaccounts/s/token",
            json!({"spec": {"audiences": ["x"]}}),
        ),
        step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
        step("POST", "/apis/authorization.k8s.io/v1/namespaces/hooked/localsubjectaccessreviews", local),
        step("POST", "/apis/authentication.k8s.io/v1/tokenreviews", json!({"spec": {"token": "nonsense"}})),
    ]
}

/// Streams: admission is asked before the existence of the object is checked.
fn streams() -> Vec<Step> {
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "type": "ClusterIP", "clusterIP": "None"}});
    vec![
        step("POST", PODS, fixture::small_pod("x")),
        step("POST", "/api/v1/namespaces/hooked/services", service),
        question(
            "POST",
            format!("{PODS}/x/exec?command=ls&command=-l&stdout=1&stdin=false&tty=&container=web"),
        ),
        question("GET", format!("{PODS}/x/exec")),
        question("POST", format!("{PODS}/x/attach?stderr=true&container=web")),
        question("POST", format!("{PODS}/x/portforward?ports=80,81&ports=82")),
        question("GET", format!("{PODS}/x/proxy/a/b/?path=c&x=y")),
        question("PUT", format!("{PODS}/x/proxy")),
        question("DELETE", "/api/v1/namespaces/hooked/services/s/proxy/z"),
        question("GET", "/api/v1/nodes/node/proxy/stats"),
        step("POST", format!("{PODS}/nobody/exec?command=ls"), Value::Null),
        step("GET", format!("{PODS}/nobody/proxy/x"), Value::Null),
        step("POST", format!("{PODS}/forbidden/exec?command=ls"), Value::Null),
        step("POST", format!("{PODS}/x/exec?command=ls&dryRun=All"), Value::Null),
        step("POST", format!("{PODS}/x/portforward?ports=many"), Value::Null),
        step("GET", format!("{PODS}/nobody/log"), Value::Null),
    ]
}

/// Mutations of fields that webhooks must not change, and duplicate owners.
fn spoilt() -> Vec<Step> {
    let map = fixture::config_map;
    let mut steps = Vec::new();
    for name in [
        "no-operation",
        "no-version",
        "no-type",
        "other-type",
        "other-managers",
        "no-managers",
        "twins",
        "labelled",
    ] {
        steps.push(step("POST", format!("{MAPS}?fieldManager=m"), map(name)));
        let mut more = map(name);
        more["data"]["more"] = json!("x");
        steps.push(step("PUT", format!("{MAPS}/{name}?fieldManager=n"), more));
        steps.push(patch(format!("{MAPS}/{name}?fieldManager=o"), MERGE, json!({"data": {"p": "q"}})));
        steps.push(patch(format!("{MAPS}/{name}?fieldManager=p&force=true"), APPLY, map(name)));
    }
    let mut owned = map("owned");
    owned["metadata"]["ownerReferences"] = twins();
    let twice = json!({"metadata": {"ownerReferences": twins()}});
    steps.extend([
        step("POST", format!("{MAPS}?fieldManager=m"), owned.clone()),
        step("PUT", format!("{MAPS}/owned?fieldManager=m"), owned.clone()),
        patch(format!("{MAPS}/owned?fieldManager=n"), MERGE, twice),
        patch(format!("{MAPS}/owned?fieldManager=o&force=true"), APPLY, owned),
    ]);
    steps
}

/// The compared responses, and the reviews that the webhooks got, in order.
async fn dialogue(side: &Side, steps: &[Step]) -> Vec<String> {
    let mut answers = Vec::new();
    for (of, method, path, media_type, body) in steps {
        let call = side.client.call(method, path);
        let call = match body {
            Value::Null => call,
            body => call.header("content-type", media_type).body(body.to_string()),
        };
        let from = side.callee.asked().len();
        let answer = call.send().await;
        if *of == Of::Everything {
            answers.push(format!("{method} {path}: {}", side.shown(&answer)));
        }
        answers.extend(questions(side, from).into_iter().map(|it| format!("{method} {path} asks {it}")));
    }
    answers.iter().map(|it| nameless(it)).collect()
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn everything_is_judged_as_upstream_judges_it() {
    let test = "everything_is_judged_as_upstream_judges_it";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let options = Options::default().argument("--empty-namespaces=false");
    let server =
        RunningServer::start(EVERYTHING.iter().fold(options, |options, it| options.argument(*it))).await;
    let (theirs, ours) = (side(upstream.client()).await, side(&server.client()).await);
    let steps: Vec<Step> = [objects(), parts(), streams(), spoilt()].concat();
    let (expected, found) =
        tokio::join!(Box::pin(dialogue(&theirs, &steps)), Box::pin(dialogue(&ours, &steps)));
    let differences = differences(&expected, &found);
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    let questions = found.iter().filter(|it| it.contains(" asks ")).count();
    assert!(questions > 100, "{questions} questions");
    let (theirs, ours) = (series(upstream.client()).await, series(&server.client()).await);
    let unknown: Vec<_> = ours.difference(&theirs).collect();
    assert!(unknown.is_empty(), "series that upstream does not have: {unknown:#?}");
    assert!(ours.len() > 30, "{} series", ours.len());
}

/// The series of admission, without numbers.
async fn series(client: &Client) -> BTreeSet<String> {
    let text = client.get("/metrics").await.text();
    let lines = text.lines().filter(|it| {
        let is_ours = ["apiserver_admission_step", "apiserver_admission_controller", "pod_security_"];
        is_ours.iter().any(|name| it.starts_with(name)) && !it.contains("_bucket{")
    });
    lines.filter_map(|it| it.rsplit_once(' ')).map(|(series, _)| sorted_labels(series)).collect()
}

/// No write is admitted before the objects that plugins read are loaded.
#[tokio::test]
async fn the_first_write_after_a_start_is_judged() {
    let mut server = RunningServer::start(Options::default()).await;
    let limits =
        json!({"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}});
    server.client().post("/api/v1/namespaces/default/limitranges", &limits).await.expect(201);
    let mut pod = fixture::small_pod("greedy");
    pod["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "2"}});
    for _ in 0..3 {
        server.restart_unready().await;
        let client = server.client();
        let answer = loop {
            let call = client.call("POST", "/api/v1/namespaces/default/pods").json(&pod);
            match call.try_send().await {
                Ok(answer) => break answer,
                Err(_) => Clock::real().sleep(Duration::from_millis(5)).await,
            }
        };
        let refusal = answer.refused(403, "Forbidden");
        let message = refusal["message"].as_str().unwrap_or_default();
        assert!(message.ends_with("maximum cpu usage per Container is 1, but limit is 2"), "{message}");
    }
}

/// A proxy on a Unix socket that opens tunnels to any address, and records the addresses.
fn proxy(path: &Path, asked: Arc<Mutex<Vec<String>>>) -> Tasks {
    let listener = UnixListener::bind(path).expect("a socket");
    let tasks = Tasks::new();
    tasks.spawn("proxy", async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let asked = asked.clone();
            task::spawn("tunnel", async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(near.read_u8().await.expect("a question"));
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let address = head.split(' ').nth(1).unwrap_or_default().to_owned();
                asked.lock().expect("nobody panics").push(address.clone());
                let mut far = TcpStream::connect(address).await.expect("the webhook");
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("an answer");
                _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    tasks
}

#[tokio::test]
async fn webhooks_are_reached_through_a_proxy() {
    let folder = tempfile::tempdir().expect("a folder");
    let (socket, file) = (folder.path().join("proxy.sock"), folder.path().join("egress.yaml"));
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let _proxy = proxy(&socket, asked.clone());
    let text = format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n\
         - name: controlplane\n  connection:\n    proxyProtocol: HTTPConnect\n    transport: {{uds: {{udsName: {}}}}}\n",
        socket.display()
    );
    std::fs::write(&file, text).expect("a file");
    let server = RunningServer::start(
        Options::default().argument(format!("--egress-selector-config-file={}", file.display())),
    )
    .await;
    let side = side(&server.client()).await;
    side.client.post(MAPS, &fixture::config_map("a")).await.expect(201);
    side.client.post(MAPS, &fixture::config_map("forbidden")).await.refused(403, "Forbidden");
    let webhook = side.callee.url("").trim_start_matches("https://").trim_end_matches('/').to_owned();
    let asked = asked.lock().expect("nobody panics").clone();
    assert!(!asked.is_empty() && asked.iter().all(|it| *it == webhook), "{asked:?} instead of {webhook}");
}
