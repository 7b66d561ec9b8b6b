//! Keelson and upstream's server on one etcd: lists, large objects and old objects.

use std::fmt::Write as _;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::{Answer, Client, Etcd, Options, RunningServer, fixture};
use keelson_tests::place::name;
use keelson_tests::upstream::Upstream;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const POD_TEMPLATES: &str = "/api/v1/namespaces/default/podtemplates";
const NO_FSYNC: &[&str] = &["--unsafe-no-fsync"];
/// Upstream's cache checks for compactions every 15 s.
const PATIENCE: Duration = Duration::from_secs(60);

async fn keelson_on(etcd: &Etcd, arguments: &[&str]) -> RunningServer {
    let own = Options::default()
        .argument(format!("--etcd-servers={}", etcd.endpoint()))
        .argument("--service-cluster-ip-range=10.96.0.0/16")
        .argument("--empty-namespaces=false")
        .argument("--count-quota-usage=false");
    RunningServer::start(arguments.iter().copied().fold(own, Options::argument)).await
}

/// The values of one list option, each with a name.
type Values = Vec<(&'static str, String)>;

struct Table {
    limits: Values,
    tokens: Values,
    revisions: Values,
    matches: Values,
}

impl Table {
    /// Makes a past that is compacted, a past that is not, and a present.
    async fn new(client: &Client, etcd: &Etcd) -> Table {
        for name in ["a", "b", "c", "d", "e"] {
            client.post(CONFIG_MAPS, &fixture::config_map(name)).await.expect(201);
        }
        let old = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
        client.post(CONFIG_MAPS, &fixture::config_map("f")).await.expect(201);
        etcd.compact_as_server();
        let recent = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
        client.post(CONFIG_MAPS, &fixture::config_map("g")).await.expect(201);
        let text = |list: &Value, field: &str| list["metadata"][field].as_str().expect(field).to_owned();
        let values = |list: &[(&'static str, &str)]| -> Values {
            list.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
        };
        // {"v":"meta.k8s.io/v1","rv":-1,"start":"b\u0000"}
        let inconsistent = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYlx1MDAwMCJ9";
        Table {
            limits: values(&[("none", ""), ("two", "2"), ("many", "100"), ("nonsense", "x")]),
            tokens: values(&[
                ("none", ""),
                ("valid", &text(&recent, "continue")),
                ("expired", &text(&old, "continue")),
                ("inconsistent", inconsistent),
                ("malformed", "%25"),
                ("empty", "e30"),
            ]),
            revisions: values(&[
                ("none", ""),
                ("zero", "0"),
                ("zeros", "00"),
                ("valid", &text(&recent, "resourceVersion")),
                ("compacted", &text(&old, "resourceVersion")),
                ("future", "1000000"),
                ("malformed", "abc"),
                ("negative", "-1"),
                ("huge", "99999999999999999999"),
            ]),
            matches: values(&[
                ("none", ""),
                ("exact", "Exact"),
                ("newer", "NotOlderThan"),
                ("nonsense", "Foo"),
            ]),
        }
    }

    /// Every combination of parameters, and its request.
    fn questions(&self) -> Vec<(String, String)> {
        let mut questions = Vec::new();
        for limit in &self.limits {
            for token in &self.tokens {
                for revision in &self.revisions {
                    for kind in &self.matches {
                        let options = [
                            ("limit", limit),
                            ("continue", token),
                            ("resourceVersion", revision),
                            ("resourceVersionMatch", kind),
                        ];
                        let (mut name, mut query) = (String::new(), String::new());
                        for (option, (called, value)) in options {
                            write!(name, " {option}={called}").expect("a string takes everything");
                            if !value.is_empty() {
                                write!(query, "&{option}={value}").expect("a string takes everything");
                            }
                        }
                        questions.push((name, format!("{CONFIG_MAPS}?{}", query.trim_start_matches('&'))));
                    }
                }
            }
        }
        questions
    }
}

/// The visible parts of a response, without those that differ each time.
fn seen(answer: &Answer) -> String {
    let body = answer.json();
    if answer.status != 200 {
        let message = body["message"].as_str().unwrap_or_default();
        let message = message.split(", current: ").next().unwrap_or_default();
        let (reason, details, meta) = (&body["reason"], &body["details"], &body["metadata"]);
        return format!("{} {reason} {message} {details} {meta}", answer.status);
    }
    let items: Vec<&str> = body["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.pointer("/metadata/name")?.as_str())
        .collect();
    let meta = &body["metadata"];
    let is_there = |field: &str| !meta[field].is_null();
    // The token of a list of the present names the present.
    let (token, revision) = (is_there("continue"), is_there("resourceVersion"));
    format!("200 {items:?} {token} {} {revision}", meta["remainingItemCount"])
}

/// Both return the same for every combination of list options.
async fn check_lists(test: &str, flags: &[&str]) {
    let Some(etcd) = Etcd::with_arguments(test, NO_FSYNC).await else { return };
    let Some(upstream) = Upstream::on(&etcd, flags, test).await else { return };
    let server = keelson_on(&etcd, flags).await;
    let table = Table::new(&server.client(), &etcd).await;
    let (ours, theirs) = (server.client(), upstream.client());
    // Both servers have to see the compaction.
    let expired = &table.tokens[2].1;
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    for client in [&ours, theirs] {
        while client.get(&format!("{CONFIG_MAPS}?continue={expired}")).await.status != 410 {
            assert!(clock.monotonic() < deadline, "a token does not expire");
            clock.sleep(Duration::from_millis(200)).await;
        }
    }
    let mut differences = Vec::new();
    for some in table.questions().chunks(32) {
        let ours = &ours;
        let answers = some.iter().map(|(name, question)| async move {
            let (mine, yours) = tokio::join!(ours.get(question), theirs.get(question));
            let (mine, yours) = (seen(&mine), seen(&yours));
            (mine != yours).then(|| format!("{name}:\n  ours   {mine}\n  theirs {yours}"))
        });
        differences.extend(futures_util::future::join_all(answers).await.into_iter().flatten());
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_options_with_the_watch_cache() {
    check_lists("list_options_with_the_watch_cache", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_options_without_the_watch_cache() {
    check_lists("list_options_without_the_watch_cache", &["--watch-cache=false"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_options_of_a_resource_without_a_watch_cache() {
    let test = "list_options_of_a_resource_without_a_watch_cache";
    check_lists(test, &["--watch-cache-sizes=configmaps#0"]).await;
}

fn pod_template(name: &str, size: usize) -> Value {
    let container = json!({"name": "a", "image": "b", "env": [{"name": "X", "value": "x".repeat(size)}]});
    json!({
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name},
        "template": {"spec": {"containers": [container]}},
    })
}

/// etcd decides about the largest size of an object, in its own words; our own stores accept at least as
/// much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_objects() {
    const TEST: &str = "large_objects";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let server = keelson_on(&etcd, &[]).await;
    let embedded = RunningServer::start(Options::default()).await;
    let words = |answer: Answer| match answer.status.as_u16() {
        201 => format!("201 managed {}", answer.json().pointer("/metadata/managedFields").is_some()),
        status => format!("{status} {} {}", answer.json()["reason"], answer.json()["message"]),
    };
    let mut seen = Vec::new();
    // The third one fits without managedFields only.
    for size in [1_400_000, 1_572_000, 1_572_200, 1_572_500, 2_000_000, 2_097_000, 2_200_000] {
        let (ours, theirs) = (format!("x{size}"), format!("y{size}"));
        let (ours, theirs) = tokio::join!(
            async { words(server.client().post(POD_TEMPLATES, &pod_template(&ours, size)).await) },
            async { words(upstream.client().post(POD_TEMPLATES, &pod_template(&theirs, size)).await) },
        );
        assert_eq!(ours, theirs, "{size} bytes");
        if ours.starts_with("201") {
            embedded.client().post(POD_TEMPLATES, &pod_template("x", size)).await.expect(201);
            embedded.client().delete(&format!("{POD_TEMPLATES}/x")).await.expect(200);
        }
        seen.push(ours);
    }
    assert_eq!(
        seen[1..4],
        ["201 managed true", "201 managed false", "500 null \"etcdserver: request is too large\""]
    );
    assert!(seen[6].contains("trying to send message larger than max (22"), "{}", seen[6]);
}

/// Objects as older versions of Kubernetes wrote them, before some of their fields existed: key, path and
/// object.
fn old_objects() -> Vec<(&'static str, &'static str, Value)> {
    let meta = |name: &str| {
        json!({
            "name": name, "namespace": "default", "uid": format!("00000000-0000-0000-0000-{:0>12}", name.len()),
            "creationTimestamp": "2018-01-01T00:00:00Z",
        })
    };
    let port = json!([{"protocol": "TCP", "port": 80, "targetPort": 80}]);
    let service = |name: &str, spec: Value| json!({"kind": "Service", "apiVersion": "v1", "metadata": meta(name), "spec": spec, "status": {"loadBalancer": {}}});
    let pod_spec = json!({"containers": [{"name": "a", "image": "b"}], "serviceAccountName": "x"});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod_spec});
    let selector = json!({"matchLabels": {"a": "b"}});
    let claim = json!({
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
    });
    vec![
        (
            "services/specs/default/plain",
            "/api/v1/namespaces/default/services/plain",
            service(
                "plain",
                json!({"ports": port, "clusterIP": "10.96.0.77", "type": "ClusterIP", "selector": {"a": "b"}}),
            ),
        ),
        (
            "services/specs/default/headless",
            "/api/v1/namespaces/default/services/headless",
            service("headless", json!({"ports": port, "clusterIP": "None", "selector": {"a": "b"}})),
        ),
        (
            "services/specs/default/selectorless",
            "/api/v1/namespaces/default/services/selectorless",
            service("selectorless", json!({"ports": port, "clusterIP": "None"})),
        ),
        (
            "services/specs/default/external",
            "/api/v1/namespaces/default/services/external",
            service(
                "external",
                json!({"type": "ExternalName", "externalName": "x.y", "internalTrafficPolicy": "Cluster"}),
            ),
        ),
        (
            "services/specs/default/balanced",
            "/api/v1/namespaces/default/services/balanced",
            service(
                "balanced",
                json!({"type": "LoadBalancer", "ports": port, "clusterIP": "10.96.0.78", "notAField": 1}),
            ),
        ),
        (
            "persistentvolumeclaims/default/claim",
            "/api/v1/namespaces/default/persistentvolumeclaims/claim",
            json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": meta("claim"), "spec": claim}),
        ),
        (
            "persistentvolumes/volume",
            "/api/v1/persistentvolumes/volume",
            json!({
                "kind": "PersistentVolume", "apiVersion": "v1", "metadata": {"name": "volume", "uid": "1"},
                "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}},
            }),
        ),
        (
            "pods/default/pod",
            "/api/v1/namespaces/default/pods/pod",
            json!({
                "kind": "Pod", "apiVersion": "v1", "metadata": meta("pod"), "spec": pod_spec,
                "status": {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "10.0.0.2"},
            }),
        ),
        (
            "minions/node",
            "/api/v1/nodes/node",
            json!({
                "kind": "Node", "apiVersion": "v1", "metadata": {"name": "node", "uid": "2"},
                "spec": {"podCIDR": "10.244.0.0/24"},
            }),
        ),
        (
            "namespaces/old",
            "/api/v1/namespaces/old",
            json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "old", "uid": "3"}}),
        ),
        (
            "secrets/default/secret",
            "/api/v1/namespaces/default/secrets/secret",
            json!({"kind": "Secret", "apiVersion": "v1", "metadata": meta("secret"), "data": {"a": "Yg=="}}),
        ),
        (
            "deployments/default/deployment",
            "/apis/apps/v1/namespaces/default/deployments/deployment",
            json!({
                "kind": "Deployment", "apiVersion": "apps/v1", "metadata": meta("deployment"),
                "spec": {"selector": selector, "template": template},
            }),
        ),
        (
            "jobs/default/job",
            "/apis/batch/v1/namespaces/default/jobs/job",
            json!({
                "kind": "Job", "apiVersion": "batch/v1", "metadata": meta("job"),
                "spec": {"selector": selector, "template": template},
            }),
        ),
        (
            "horizontalpodautoscalers/default/scaler",
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/scaler",
            json!({
                "kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": meta("scaler"),
                "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}, "maxReplicas": 3},
            }),
        ),
        (
            "ingress/default/ingress",
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses/ingress",
            json!({
                "kind": "Ingress", "apiVersion": "networking.k8s.io/v1", "metadata": meta("ingress"),
                "spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 1}}}},
            }),
        ),
    ]
}

/// The event of a watch that shows `object` for the first time.
fn added(object: &Value) -> Value {
    json!({"type": "ADDED", "object": object})
}

/// Both show old objects as new ones: when they are read, listed, watched and written again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_objects_are_read_with_defaults() {
    const TEST: &str = "old_objects_are_read_with_defaults";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let server = keelson_on(&etcd, &[]).await;
    let (ours, theirs) = (server.client(), upstream.client());
    let mut differences = Vec::new();
    for (key, place, object) in old_objects() {
        let (collection, _) = place.rsplit_once('/').expect("a place has a name");
        let name = name(&object);
        let following = format!("{collection}?watch=1&fieldSelector=metadata.name={name}");
        let mut watches = (ours.watch(&following).await, theirs.watch(&following).await);
        etcd.put(&format!("/registry/{key}"), &object.to_string()).await;
        let told = (watches.0.change().await, watches.1.change().await);
        let mut compare = |what: &str, mine: &Value, yours: &Value| {
            if mine != yours {
                differences.push(format!("{what} {key}\n  ours   {mine}\n  theirs {yours}"));
            }
        };
        let read = ours.get(place).await.json();
        // Upstream's watches show services and claims without the defaults that its reads add.
        let is_decorated = key.starts_with("services/") || key.starts_with("persistentvolumeclaims/");
        compare("watch", &told.0, &if is_decorated { added(&read) } else { told.1 });
        compare("get", &read, &theirs.get(place).await.json());
        let cached = format!("{place}?resourceVersion=0");
        compare("cached get", &ours.get(&cached).await.json(), &theirs.get(&cached).await.json());
        let item = async |client: &Client| {
            let list = client.get(collection).await.json();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            items.into_iter().find(|it| it["metadata"]["name"] == object["metadata"]["name"])
        };
        let listed = (item(&ours).await.unwrap_or_default(), item(theirs).await.unwrap_or_default());
        compare("list", &listed.0, &listed.1);
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    // An update without changes is written nevertheless: the stored form would be different now.
    let place = "/api/v1/namespaces/default/services/plain";
    let nothing = json!({});
    for (client, is_written) in [(&ours, true), (&ours, false), (theirs, false)] {
        let before = client.get(place).await.expect(200);
        let after = client.patch(place, "application/merge-patch+json", &nothing).await.expect(200);
        let revision = |it: &Value| it["metadata"]["resourceVersion"].clone();
        assert_eq!(revision(&before) != revision(&after), is_written, "{after}");
    }
}
