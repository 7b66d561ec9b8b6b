//! Audit: events compared with the real kube-apiserver, and backends that misbehave.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_stdx::clock::Clock;
use keelson_testkit::{Client, Options, RunningServer};
use keelson_tests::upstream::{Accounts, Upstream};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// Records everything except for requests of the server itself and probes; less for secrets.
const POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, users: ["system:apiserver"]}
- {level: None, nonResourceURLs: ["/readyz*", "/livez*"]}
- {level: Metadata, resources: [{group: "", resources: [secrets]}, {group: authentication.k8s.io}]}
- {level: Request, resources: [{group: "", resources: [namespaces]}], omitStages: [RequestReceived]}
- {level: RequestResponse, omitManagedFields: true, namespaces: [quiet]}
- {level: None, resources: [{group: "", resources: [configmaps], resourceNames: [unseen]}]}
- {level: RequestResponse}
"#;

/// A folder with a policy, a log and other files of a test.
struct Place(TempDir);

impl Place {
    fn new(policy: &str) -> Place {
        let place = Place(tempfile::tempdir().expect("a folder"));
        fs::write(place.path("policy.yaml"), policy).expect("written");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The flags of a log called `name`.
    fn flags(&self, name: &str) -> Vec<String> {
        vec![
            format!("--audit-policy-file={}", self.path("policy.yaml").display()),
            format!("--audit-log-path={}", self.path(name).display()),
        ]
    }
}

fn options(flags: &[String]) -> Options {
    flags.iter().fold(Options::default().argument("--empty-namespaces=false"), Options::argument)
}

/// A request: its user, method and path, headers, body.
type Ask = (Who, &'static str, &'static [(&'static str, &'static str)], &'static str);

#[derive(Clone, Copy, PartialEq)]
enum Who {
    Admin,
    /// Without a certificate.
    Nobody,
}
use Who::{Admin, Nobody};

const JSON: (&str, &str) = ("content-type", "application/json");
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

const ASKS: &[Ask] = &[
    (Admin, "GET /version", &[], ""),
    (Admin, "GET /nothing", &[], ""),
    (Admin, "GET /api/v1", &[("accept", "application/yaml")], ""),
    (
        Admin,
        "GET /api",
        &[("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")],
        "",
    ),
    (Admin, "GET /api/v1/namespaces/default/configmaps?limit=5&labelSelector=a%3Db", &[], ""),
    (Admin, "POST $MAPS", &[JSON], r#"{"metadata":{"name":"a"},"data":{"k":"<v>&"}}"#),
    (Admin, "POST $MAPS", &[JSON], r#"{"metadata":{"name":"a"}}"#),
    (Admin, "POST $MAPS", &[JSON], r#"{"metadata":{"generateName":"gen-"}}"#),
    (Admin, "POST $MAPS?dryRun=All", &[JSON], r#"{"metadata":{"name":"dry"}}"#),
    (Admin, "POST $MAPS", &[JSON], "{bad"),
    (Admin, "POST $MAPS", &[JSON], r#"{"metadata":{"name":"UPPER"}}"#),
    (Admin, "POST $MAPS", &[("content-type", "application/yaml")], "metadata: {name: y}\ndata: {a: b}"),
    (Admin, "PUT $MAPS/a", &[JSON], r#"{"metadata":{"name":"a"},"data":{"k":"w"}}"#),
    (Admin, "PUT $MAPS/a", &[JSON], r#"{"metadata":{"name":"a","resourceVersion":"1"},"data":{"k":"w"}}"#),
    (Admin, "PATCH $MAPS/a", &[MERGE], r#"{"data":{"k":"x"}}"#),
    (
        Admin,
        "PATCH $MAPS/a",
        &[("content-type", "application/json-patch+json")],
        r#"[{"op":"test","path":"/data/k","value":"no"}]"#,
    ),
    (
        Admin,
        "PATCH $MAPS/b?fieldManager=me",
        &[("content-type", "application/apply-patch+yaml")],
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"v"}}"#,
    ),
    (Admin, "GET $MAPS/a", &[], ""),
    (Admin, "GET $MAPS/a", &[("accept", "application/vnd.kubernetes.protobuf")], ""),
    (Admin, "GET $MAPS/missing", &[], ""),
    (Admin, "GET $MAPS/unseen", &[], ""),
    (Admin, "GET $MAPS/a", &[("accept", "application/json;as=Table;g=meta.k8s.io;v=v1")], ""),
    (
        Admin,
        "GET $MAPS",
        &[("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")],
        "",
    ),
    (Admin, "GET $MAPS", &[("accept", "application/nothing")], ""),
    (Admin, "DELETE $MAPS/a", &[], ""),
    (
        Admin,
        "DELETE $MAPS/b",
        &[JSON],
        r#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Background"}"#,
    ),
    (Admin, "DELETE $MAPS", &[], ""),
    (Admin, "GET $MAPS?watch=1&timeoutSeconds=1", &[], ""),
    (Admin, "GET $MAPS?watch=1&resourceVersion=junk", &[], ""),
    (
        Admin,
        "POST /api/v1/namespaces/default/secrets",
        &[JSON],
        r#"{"metadata":{"name":"s"},"data":{"k":"dg=="}}"#,
    ),
    (Admin, "GET /api/v1/namespaces/default/secrets/s", &[], ""),
    (Admin, "DELETE /api/v1/namespaces/default/secrets/s", &[], ""),
    (Admin, "POST /apis/authentication.k8s.io/v1/tokenreviews", &[JSON], r#"{"spec":{"token":"secret"}}"#),
    (Admin, "POST /api/v1/namespaces", &[JSON], r#"{"metadata":{"name":"quiet"}}"#),
    (Admin, "POST /api/v1/namespaces/quiet/configmaps", &[JSON], r#"{"metadata":{"name":"q"}}"#),
    (
        Admin,
        "PATCH /api/v1/namespaces/quiet/configmaps/q",
        &[MERGE],
        r#"{"metadata":{"managedFields":[{}],"labels":{"a":"b"}}}"#,
    ),
    (Admin, "GET /api/v1/namespaces/quiet/configmaps", &[], ""),
    (Admin, "GET $MAPS", &[("impersonate-user", "bob"), ("impersonate-group", "g")], ""),
    (Admin, "GET $MAPS", &[("impersonate-user", "bob"), ("impersonate-group", "system:masters")], ""),
    (
        Admin,
        "GET $MAPS",
        &[("impersonate-user", "bob"), ("impersonate-uid", "7"), ("impersonate-extra-acme.io%2Fa", "1")],
        "",
    ),
    (Admin, "GET $MAPS", &[("impersonate-user", "system:serviceaccount:default:bot")], ""),
    (Admin, "GET $MAPS", &[("impersonate-user", "system:node:n1")], ""),
    (Admin, "GET $MAPS", &[("impersonate-group", "g")], ""),
    (Nobody, "GET $MAPS", &[("authorization", "Bearer wrong")], ""),
    (Nobody, "GET $MAPS", &[], ""),
    (Nobody, "GET $MAPS", &[("impersonate-user", "bob")], ""),
    (Nobody, "GET /version", &[], ""),
    (Admin, "GET $MAPS?timeout=zz", &[], ""),
    (Admin, "GET $MAPS", &[("x-forwarded-for", "1.2.3.4, 5.6.7.8"), ("x-real-ip", "9.9.9.9")], ""),
    (
        Admin,
        "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        &[JSON],
        r#"{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}"#,
    ),
    (
        Admin,
        "POST /apis/apps/v1/namespaces/default/deployments",
        &[JSON],
        r#"{"metadata":{"name":"d"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
    ),
    (
        Admin,
        "PUT /apis/apps/v1/namespaces/default/deployments/d/scale",
        &[JSON],
        r#"{"metadata":{"name":"d","namespace":"default"},"spec":{"replicas":1}}"#,
    ),
    (
        Admin,
        "PATCH /apis/apps/v1/namespaces/default/deployments/d/scale",
        &[MERGE],
        r#"{"spec":{"replicas":2}}"#,
    ),
    (Admin, "GET /apis/apps/v1/namespaces/default/deployments/d/scale", &[], ""),
    (
        Admin,
        "PATCH /apis/apps/v1/namespaces/default/deployments/d/status",
        &[MERGE],
        r#"{"status":{"replicas":1}}"#,
    ),
    (Admin, "DELETE /apis/apps/v1/namespaces/default/deployments/d", &[], ""),
    (Admin, "DELETE /api/v1/namespaces/quiet", &[], ""),
    (Admin, "OPTIONS $MAPS", &[], ""),
    (Admin, "GET /api/v1/nodes/x/proxy/", &[], ""),
];

/// Sends every request with its own audit id, so that its events can be found.
async fn ask_all(admin: &Client, nobody: &Client) {
    for (number, (who, what, headers, body)) in ASKS.iter().enumerate() {
        let (method, path) = what.split_once(' ').expect("METHOD path");
        let client = if *who == Admin { admin } else { nobody };
        let call = client.call(method, &path.replace("$MAPS", MAPS)).body(*body);
        let call = call.header("user-agent", "tester/1").header("audit-id", &format!("call-{number:02}"));
        headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().await;
    }
}

/// The events of each call, in order; `None` while the last call is not complete.
fn events(log: &Path) -> Option<BTreeMap<String, Vec<Value>>> {
    let text = fs::read_to_string(log).expect("the log");
    let last = format!("call-{:02}", ASKS.len() - 1);
    let mut by_call = BTreeMap::<String, Vec<Value>>::new();
    for line in text.lines() {
        let event = json::read(line.as_bytes()).expect("a line of JSON").value;
        assert_eq!(json::to_bytes(&event), line.as_bytes(), "the line is written as Go writes it");
        let id = event.as_map().and_then(|it| it.str("auditID")).unwrap_or_default().to_owned();
        if id.starts_with("call-") {
            by_call.entry(id).or_default().push(same_for_all(event));
        }
    }
    let complete = |it: &Value| it.as_map().and_then(|it| it.str("stage")) == Some("ResponseComplete");
    by_call.get(&last)?.iter().any(complete).then_some(by_call)
}

async fn wait_for(log: &Path) -> BTreeMap<String, Vec<Value>> {
    let clock = Clock::real();
    for _ in 0..200 {
        if let Some(events) = events(log) {
            return events;
        }
        clock.sleep(Duration::from_millis(50)).await;
    }
    panic!("the last call is not recorded in {}", log.display());
}

/// The event without the parts that differ from server to server.
fn same_for_all(mut event: Value) -> Value {
    normalise(&mut event);
    if let Some(user) = event.as_map_mut().and_then(|it| it.get_mut("user"))
        && user.as_map().is_some_and(|it| it.list("groups").contains(&Value::from("system:masters")))
    {
        *user = Value::from("the administrator");
    }
    event
}

fn normalise(value: &mut Value) {
    match value {
        Value::List(items) => items.iter_mut().for_each(normalise),
        Value::Map(map) => {
            normalise_names(map);
            map.iter_mut().for_each(|(_, value)| normalise(value));
        }
        _ => {}
    }
}

fn normalise_names(map: &mut Map) {
    const DIFFERENT: [&str; 8] = [
        "uid",
        "resourceVersion",
        "time",
        "creationTimestamp",
        "requestReceivedTimestamp",
        "stageTimestamp",
        // Of columns.
        "description",
        "deletionTimestamp",
    ];
    // Only slow requests have them, and either server may be slow.
    let is_latency = |key: &&str| key.starts_with("apiserver.latency.k8s.io/");
    let latencies: Vec<String> =
        map.iter().map(|(key, _)| key.as_str()).filter(is_latency).map(str::to_owned).collect();
    for key in latencies {
        map.remove(&key);
    }
    for (key, value) in map.iter_mut() {
        let is_generated = key == "name" && value.as_str().is_some_and(|it| it.starts_with("gen-"));
        let is_given = value.as_str().is_some_and(|it| it == "1" || it == "x" || it == "7");
        if DIFFERENT.contains(&key.as_str()) && value.as_str().is_some() && !is_given || is_generated {
            *value = Value::from("differs");
        }
        if let ("cells", Value::List(cells)) = (key.as_str(), value) {
            cells.iter_mut().filter(|it| is_age(it)).for_each(|it| *it = Value::from("differs"));
        }
    }
}

/// `0s` on one server may be `1s` on the other.
fn is_age(cell: &Value) -> bool {
    let seconds = cell.as_str().and_then(|it| it.strip_suffix('s'));
    seconds.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn events_are_those_of_upstream() {
    let place = Place::new(POLICY);
    let test = "events_are_those_of_upstream";
    let Some(upstream) = Upstream::with(test, Accounts::Free, &place.flags("upstream.log")).await else {
        return;
    };
    let server = RunningServer::start(options(&place.flags("ours.log"))).await;
    ask_all(upstream.client(), upstream.anonymous()).await;
    ask_all(&server.client(), &server.anonymous()).await;
    let (theirs, ours) =
        (wait_for(&place.path("upstream.log")).await, wait_for(&place.path("ours.log")).await);
    let mut compared = 0;
    let mut differences = Vec::new();
    let line =
        |value: Option<&Value>| value.map(|it| String::from_utf8_lossy(&json::to_bytes(it)).into_owned());
    for (number, (_, what, ..)) in ASKS.iter().enumerate() {
        let id = format!("call-{number:02}");
        let (theirs, ours) =
            (theirs.get(&id).cloned().unwrap_or_default(), ours.get(&id).cloned().unwrap_or_default());
        for at in 0..theirs.len().max(ours.len()) {
            compared += 1;
            let (theirs, ours) = (line(theirs.get(at)), line(ours.get(at)));
            if theirs != ours {
                differences.push(format!("{what}\n  upstream {theirs:?}\n  ours     {ours:?}"));
            }
        }
    }
    println!("{compared} events compared, {} differ", differences.len());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > 100, "{compared}");
}

#[tokio::test]
async fn a_patch_in_yaml_is_recorded() {
    let place = Place::new(POLICY);
    let server = RunningServer::start(options(&place.flags("audit.log"))).await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: v}";
    let call = server.client().call("PATCH", &format!("{MAPS}/b?fieldManager=me")).body(body);
    call.header("content-type", "application/apply-patch+yaml").send().await.expect(201);
    let recorded =
        r#""requestObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"v"}},"#;
    eventually("the event", || {
        fs::read_to_string(place.path("audit.log")).is_ok_and(|it| it.contains(recorded))
    })
    .await;
}

#[tokio::test]
async fn secrets_stay_secret() {
    let place = Place::new(POLICY);
    let server = RunningServer::start(options(&place.flags("audit.log"))).await;
    let client = server.client();
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": "hidden-value"}});
    client.post("/api/v1/namespaces/default/secrets", &secret).await.expect(201);
    let review = json!({"spec": {"token": "hidden-token"}});
    client.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201);
    client.call("GET", "/version").header("authorization", "Bearer hidden-token").send().await;
    client.get("/version?last").await;
    let log = || fs::read_to_string(place.path("audit.log")).unwrap_or_default();
    eventually("the last event", || log().matches("/version?last").count() == 2).await;
    assert!(log().contains("/api/v1/namespaces/default/secrets"));
    assert!(!log().contains("hidden-"), "{}", log());
    assert!(!log().contains("aGlkZGVu"), "{}", log());
}

#[tokio::test]
async fn full_logs_are_put_aside() {
    let place = Place::new(POLICY);
    let mut flags = place.flags("logs/audit.log");
    flags.extend(
        ["--audit-log-maxsize=1", "--audit-log-maxbackup=2", "--audit-log-compress"].map(str::to_owned),
    );
    let server = RunningServer::start(options(&flags)).await;
    let client = server.client();
    for number in 0..8 {
        let map = json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "x".repeat(300_000)}});
        client.post(MAPS, &map).await.expect(201);
    }
    let names = || {
        let entries = fs::read_dir(place.path("logs")).expect("a folder").flatten();
        let mut names: Vec<String> =
            entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    eventually("two old logs, compressed", || {
        let names = names();
        names.len() == 3 && names[..2].iter().all(|it| it.starts_with("audit-") && it.ends_with(".log.gz"))
    })
    .await;
    assert!(fs::metadata(place.path("logs/audit.log")).expect("the log").len() <= 1 << 20);
}

#[tokio::test]
async fn bad_policies_are_refused_at_the_start() {
    let place = Place::new("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}, {}]");
    let mut flags = place.flags("audit.log");
    flags.push("--audit-webhook-config-file=/nowhere/at/all".to_owned());
    let Err(error) = RunningServer::try_start(options(&flags)).await else { panic!("it starts") };
    let text = format!("{error:#}");
    for part in [
        "loading audit policy file: [rules[0].level: Unsupported value: \"All\": supported values: \"None\", \
         \"Metadata\", \"Request\", \"RequestResponse\", rules[1].level: Required value]: from file ",
        "initializing audit webhook: stat /nowhere/at/all: no such file or directory",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The behaviour of an audit webhook.
#[derive(Clone, Copy)]
enum Manner {
    /// Fails this many times, then accepts everything.
    FailsFirst(usize),
    Fails,
    Hangs,
}

/// An audit webhook.
struct Receiver {
    bodies: Mutex<Vec<String>>,
    calls: AtomicUsize,
    manner: Manner,
}

impl Receiver {
    /// Listens, and writes a kubeconfig that leads here.
    async fn start(place: &Place, manner: Manner) -> Arc<Receiver> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{{name: a, cluster: {{server: \
             'http://{address}/events'}}}}]\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: \
             a, user: {{}}}}]\n"
        );
        fs::write(place.path("webhook.yaml"), kubeconfig).expect("written");
        let receiver = Arc::new(Receiver { bodies: Mutex::default(), calls: AtomicUsize::new(0), manner });
        let shared = Arc::clone(&receiver);
        keelson_stdx::task::spawn("receiver", async move {
            while let Ok((stream, _)) = listener.accept().await {
                keelson_stdx::task::spawn("receiver", Arc::clone(&shared).serve(stream));
            }
        });
        receiver
    }

    fn flags(place: &Place, mode: &str) -> Vec<String> {
        vec![
            format!("--audit-policy-file={}", place.path("policy.yaml").display()),
            format!("--audit-webhook-config-file={}", place.path("webhook.yaml").display()),
            format!("--audit-webhook-mode={mode}"),
            "--audit-webhook-batch-max-wait=50ms".to_owned(),
            "--audit-webhook-initial-backoff=10ms".to_owned(),
        ]
    }

    /// Answers the requests of one connection.
    async fn serve(self: Arc<Receiver>, mut stream: TcpStream) {
        let mut read = Vec::new();
        loop {
            let Some(end) = read.windows(4).position(|it| it == b"\r\n\r\n") else {
                if stream.read_buf(&mut read).await.is_ok_and(|size| size > 0) {
                    continue;
                }
                return;
            };
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|it| it.strip_prefix("content-length:"));
            let length: usize = length.and_then(|it| it.trim().parse().ok()).unwrap_or_default();
            while read.len() < end + 4 + length {
                if stream.read_buf(&mut read).await.is_ok_and(|size| size == 0) {
                    return;
                }
            }
            let body = String::from_utf8_lossy(&read[end + 4..end + 4 + length]).into_owned();
            read.drain(..end + 4 + length);
            assert!(head.starts_with("post /events "), "{head}");
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            let status = match self.manner {
                Manner::Hangs => std::future::pending().await,
                Manner::FailsFirst(failures) if call >= failures => "200 OK",
                Manner::Fails | Manner::FailsFirst(_) => "500 Internal Server Error",
            };
            if status == "200 OK" {
                self.bodies.lock().await.push(body);
            }
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = Clock::real();
    for _ in 0..200 {
        if is_so() {
            return;
        }
        clock.sleep(Duration::from_millis(50)).await;
    }
    panic!("{what} never comes");
}

#[tokio::test]
async fn a_webhook_gets_all_events_also_after_failures() {
    let place = Place::new(POLICY);
    let receiver = Receiver::start(&place, Manner::FailsFirst(2)).await;
    let mut server = RunningServer::start(options(&Receiver::flags(&place, "batch"))).await;
    let client = server.client();
    for number in 0..50 {
        client.get(&format!("/version?number={number}&")).await.expect(200);
    }
    // Queued events are sent before the server stops.
    server.terminate().await;
    let all = receiver.bodies.lock().await.concat();
    for number in 0..50 {
        assert_eq!(all.matches(&format!("/version?number={number}\\u0026")).count(), 2, "{number}");
    }
    assert!(all.starts_with(
        r#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"level":"#
    ));
}

#[tokio::test]
async fn a_webhook_that_hangs_holds_up_nobody() {
    let place = Place::new(POLICY);
    Receiver::start(&place, Manner::Hangs).await;
    let mut flags = Receiver::flags(&place, "batch");
    flags.extend(
        ["--audit-webhook-batch-buffer-size=10", "--audit-webhook-batch-max-size=2"].map(str::to_owned),
    );
    let server = RunningServer::start(options(&flags)).await;
    let client = server.client();
    let clock = Clock::real();
    let begun = clock.monotonic();
    for _ in 0..200 {
        client.get("/version").await.expect(200);
    }
    assert!(clock.monotonic() - begun < Duration::from_secs(20));
    let metrics = client.get("/metrics").await.text();
    let lost =
        metrics.lines().find_map(|it| it.strip_prefix("apiserver_audit_error_total{plugin=\"buffered\"} "));
    assert!(lost.and_then(|it| it.parse::<f64>().ok()).is_some_and(|it| it > 100.0), "{lost:?}");
    assert!(metrics.contains("apiserver_audit_level_total{level=\"RequestResponse\"}"));
    assert!(metrics.contains("\napiserver_audit_requests_rejected_total 0\n"));
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_happen_in_strict_mode() {
    let place = Place::new(
        &POLICY.replace(r#"nonResourceURLs: ["/readyz*", "#, r#"nonResourceURLs: ["/metrics", "/readyz*", "#),
    );
    let receiver = Receiver::start(&place, Manner::Fails).await;
    let server = RunningServer::start(options(&Receiver::flags(&place, "blocking-strict"))).await;
    let client = server.client();
    let answer = client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!(answer.status, 500);
    let expected = format!("Internal Server Error: \"{MAPS}\": failed to store audit event\n");
    assert_eq!(answer.text(), expected);
    assert_eq!(receiver.calls.load(Ordering::Relaxed), 5);
    let metrics = client.get("/metrics").await.text();
    assert!(metrics.contains("\napiserver_audit_requests_rejected_total 1\n"), "{metrics}");
}

#[tokio::test]
async fn without_a_policy_nothing_is_recorded() {
    let place = Place::new(POLICY);
    let flags = [format!("--audit-log-path={}", place.path("audit.log").display())];
    let server = RunningServer::start(options(&flags)).await;
    server.client().get("/version").await.expect(200);
    // The file is opened at the start, as upstream does, so that a path that cannot be written is found then.
    let recorded = std::fs::read_to_string(place.path("audit.log")).expect("the file was made");
    assert_eq!(recorded, "");
}
