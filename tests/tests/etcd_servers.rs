//! Several servers and several etcds: endpoints, storage locations, and the start.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::{Binary, Client, Etcd, Options, RunningServer, fixture, free_port};
use keelson_tests::place::{name, names};
use keelson_tests::upstream::Upstream;
use serde_json::{Value, json};

const NO_FSYNC: &[&str] = &["--unsafe-no-fsync"];
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
const PATIENCE: Duration = Duration::from_secs(30);

async fn keelson_on(etcd: &Etcd, arguments: &[&str]) -> RunningServer {
    let own = Options::default()
        .argument(format!("--etcd-servers={}", etcd.endpoint()))
        .argument("--empty-namespaces=false")
        .argument("--count-quota-usage=false");
    RunningServer::start(arguments.iter().copied().fold(own, Options::argument)).await
}

/// The addresses of the service `kubernetes`, the same in both forms.
async fn endpoints(client: &Client) -> Vec<String> {
    let texts = |list: Option<&Value>, path: &str| -> Vec<String> {
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|it| it.pointer(path)?.as_str()).map(String::from).collect()
    };
    let answer = client.get(ENDPOINTS).await;
    if answer.status == 404 {
        assert_eq!(client.get(SLICE).await.status, 404);
        return Vec::new();
    }
    let found = texts(answer.expect(200).pointer("/subsets/0/addresses"), "/ip");
    let slice = client.get(SLICE).await.expect(200);
    assert_eq!(texts(slice.get("endpoints"), "/addresses/0"), found);
    found
}

/// Servers come and go: a list of endpoints is right as soon as a server has ended, with both kinds of reconcilers.
async fn check_endpoints(test: &str, reconciler: &[&str]) {
    let Some(etcd) = Etcd::with_arguments(test, NO_FSYNC).await else { return };
    let start = async |address: &str| {
        let advertise = format!("--advertise-address={address}");
        let arguments: Vec<&str> = reconciler.iter().copied().chain([advertise.as_str()]).collect();
        keelson_on(&etcd, &arguments).await
    };
    let mut first = start("198.51.100.1").await;
    let mut second = start("198.51.100.2").await;
    let third = start("198.51.100.3").await;
    let client = third.client();
    assert_eq!(endpoints(&client).await, ["198.51.100.1", "198.51.100.2", "198.51.100.3"]);
    assert!(second.terminate().await.success());
    assert_eq!(endpoints(&client).await, ["198.51.100.1", "198.51.100.3"]);
    assert!(etcd.value("/registry/masterleases/198.51.100.2").is_none());
    assert!(first.terminate().await.success());
    assert_eq!(endpoints(&client).await, ["198.51.100.3"]);
    assert_eq!(etcd.count("/registry/masterleases/"), u64::from(reconciler.is_empty()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_by_lease() {
    check_endpoints("endpoints_by_lease", &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_by_count() {
    let flags = ["--endpoint-reconciler-type=master-count", "--apiserver-count=3"];
    check_endpoints("endpoints_by_count", &flags).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_are_left_alone() {
    let Some(etcd) = Etcd::with_arguments("endpoints_are_left_alone", NO_FSYNC).await else { return };
    let flags = ["--endpoint-reconciler-type=none", "--advertise-address=198.51.100.1"];
    let server = keelson_on(&etcd, &flags).await;
    assert!(endpoints(&server.client()).await.is_empty());
    assert_eq!(etcd.count("/registry/masterleases/"), 0);
}

/// Our server and upstream's are endpoints of the same service, and each removes itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_of_both_kinds_of_servers() {
    const TEST: &str = "endpoints_of_both_kinds_of_servers";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let flags = ["--advertise-address=198.51.100.2", "--service-cluster-ip-range=10.96.0.0/16"];
    let mut ours = keelson_on(&etcd, &flags).await;
    // Upstream adds itself when it is ready.
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    while endpoints(upstream.client()).await != ["198.51.100.1", "198.51.100.2"] {
        assert!(clock.monotonic() < deadline, "{:?}", endpoints(upstream.client()).await);
        clock.sleep(Duration::from_millis(100)).await;
    }
    ours.terminate().await;
    assert_eq!(endpoints(upstream.client()).await, ["198.51.100.1"]);
}

/// Events and leases lie in etcds of their own, for both kinds of servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn some_resources_lie_elsewhere() {
    const TEST: &str = "some_resources_lie_elsewhere";
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const EVENTS: &str = "/api/v1/namespaces/default/events";
    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let Some(main) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let Some(mut other) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let at = other.endpoint();
    let flag = format!("--etcd-servers-overrides=/events#{at},coordination.k8s.io/leases#{at}");
    let server = keelson_on(&main, &[&flag]).await;
    let client = server.client();
    let lease = |name: &str| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}});
    let mut watch = client.watch(&format!("{EVENTS}?watch=1")).await;
    client.post(LEASES, &lease("ours")).await.expect(201);
    client.post(EVENTS, &event("e")).await.expect(201);
    client.post(CONFIG_MAPS, &fixture::config_map("c")).await.expect(201);
    assert_eq!(name(&watch.change().await["object"]), "e");
    let keys = |etcd: &Etcd| {
        ["leases/default/", "events/default/", "configmaps/default/"]
            .map(|it| etcd.count(&format!("/registry/{it}")))
    };
    assert_eq!((keys(&main), keys(&other)), ([0, 0, 1], [1, 1, 0]));
    if let Some(upstream) = Upstream::on(&main, &[&flag], TEST).await {
        let events = names(&upstream.client().get(EVENTS).await.expect(200));
        assert!(events.contains(&String::from("e")), "{events:?}");
        upstream.client().post(LEASES, &lease("theirs")).await.expect(201);
        assert_eq!(names(&client.get(LEASES).await.expect(200)), ["ours", "theirs"]);
    }
    // The resources in the other etcd are unavailable, the rest is not.
    other.kill();
    client.post(CONFIG_MAPS, &fixture::config_map("d")).await.expect(201);
    let late = client.post(&format!("{LEASES}?timeout=1s"), &lease("late")).await;
    late.refused(504, "Timeout");
    let ready = client.get("/readyz").await;
    assert_eq!(ready.status, 500);
    for line in ["[+]etcd ok", "[-]etcd-override-0 failed", "[-]etcd-override-readiness-0 failed"] {
        assert!(ready.text().contains(line), "{}", ready.text());
    }
    assert!(!ready.text().contains("etcd-override-1"), "both lie in the same: {}", ready.text());
    other.start().await.expect("etcd starts again");
    client.post(LEASES, &lease("later")).await.expect(201);
    assert_eq!(client.get("/readyz").await.status, 200);
}

/// A server without an etcd logs that repeatedly, and gives up when upstream does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_an_etcd_gives_up() {
    const TEST: &str = "a_server_without_an_etcd_gives_up";
    let nobody = format!("http://127.0.0.1:{}", free_port().expect("a port"));
    let ours = async {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::real();
        let begin = clock.monotonic();
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut child = Command::new(Binary::path())
            .arg(format!("--data-dir={}", folder.path().join("data").display()))
            .args(["--bind-address=127.0.0.1", "--secure-port=0"])
            .arg(format!("--etcd-servers={nobody}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let status = loop {
            if let Some(status) = child.try_wait().expect("our process") {
                break status;
            }
            if clock.monotonic() > begin + Duration::from_secs(60) {
                child.kill().expect("our process");
            }
            clock.sleep(Duration::from_millis(20)).await;
        };
        let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
        (status, clock.monotonic() - begin, log)
    };
    let ((status, took, log), theirs) = tokio::join!(ours, Upstream::without_etcd(&nobody, TEST));
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(took >= Duration::from_secs(20), "{took:?}");
    let lines = log.lines().filter(|it| it.contains("etcd does not answer") && it.contains(&nobody)).count();
    assert!(lines >= 3, "{log}");
    let Some(theirs) = theirs else { return };
    assert!(theirs.contains("exit status: 1") && theirs.contains("context deadline exceeded"), "{theirs}");
}

/// An etcd that comes late is not too late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_its_etcd() {
    let Some(mut etcd) = Etcd::with_arguments("a_server_waits_for_its_etcd", NO_FSYNC).await else { return };
    etcd.kill();
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::default().folder(folder.path());
    let options = options.argument(format!("--etcd-servers={}", etcd.endpoint()));
    let server = keelson_stdx::task::spawn("server", RunningServer::start(options));
    let says_so = || {
        let own = std::fs::read_dir(folder.path()).expect("a folder").filter_map(Result::ok);
        let logs = own.filter_map(|it| std::fs::read_to_string(it.path().join("log")).ok());
        logs.into_iter().any(|log| log.contains("etcd does not answer"))
    };
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    while !says_so() {
        assert!(clock.monotonic() < deadline, "the server does not miss its store");
        clock.sleep(Duration::from_millis(20)).await;
    }
    assert!(!server.is_finished(), "nobody can serve without a store");
    etcd.start().await.expect("etcd starts again");
    let server = server.await.expect("a server");
    assert!(server.log().contains("etcd does not answer"), "{}", server.log());
    server.client().get("/api/v1/namespaces").await.expect(200);
}

/// The metrics about the store have upstream's names and labels.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_of_the_store_are_those_of_upstream() {
    const TEST: &str = "metrics_of_the_store_are_those_of_upstream";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let server = keelson_on(&etcd, &["--etcd-db-metric-poll-interval=1s"]).await;
    let (ours, theirs) = (server.client(), upstream.client());
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    loop {
        for (client, name) in [(&ours, "a"), (theirs, "b")] {
            client.get("/api/v1/namespaces/default/secrets").await.expect(200);
            // Events have a TTL, so this one has a lease.
            client.post("/api/v1/namespaces/default/events", &event(name)).await;
        }
        let (mine, yours) = (families(&ours).await, families(theirs).await);
        let strange: Vec<&String> =
            mine.difference(&yours).filter(|it| !it.contains("errors_total")).collect();
        let missing: Vec<&String> = yours.difference(&mine).filter(|it| !is_not_ours(it)).collect();
        if strange.is_empty() && missing.is_empty() {
            assert!(mine.len() > 20, "{mine:?}");
            return;
        }
        let late = clock.monotonic() > deadline;
        assert!(!late, "upstream does not have {strange:?}, we do not have {missing:?}");
        clock.sleep(Duration::from_millis(500)).await;
    }
}

fn event(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    })
}

/// The metric families about etcd, caches and stored objects: names and label names.
async fn families(client: &Client) -> BTreeSet<String> {
    const FAMILIES: [&str; 6] = [
        "etcd_",
        "apiserver_storage_",
        "apiserver_watch_cache_",
        "watch_cache_",
        "apiserver_resource_",
        "apiserver_cache_",
    ];
    let text = client.get("/metrics").await.text();
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|it| FAMILIES.iter().any(|start| it.starts_with(start))) {
        let (name, rest) = line.split_once('{').unwrap_or((line.split(' ').next().unwrap_or(""), "}"));
        let labels = rest.rsplit_once('}').map_or("", |it| it.0);
        let mut labels: Vec<&str> =
            labels.split("\",").filter_map(|it| it.split_once('=')).map(|it| it.0).collect();
        labels.sort_unstable();
        found.insert(format!("{name}{{{}}}", labels.join(",")));
    }
    found
}

/// Families that exist only with encryption.
fn is_not_ours(family: &str) -> bool {
    family.starts_with("apiserver_storage_data_key_generation") || family.contains("_cache_misses_total")
}
