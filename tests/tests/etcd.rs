//! Servers on one etcd: Keelson beside upstream's server, and several Keelsons.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Client, Etcd, Options, RunningServer, fixture};
use keelson_tests::place::{name, names, revision};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use keelson_tests::validation::File;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server that keeps its objects in `etcd`.
async fn keelson_on(etcd: &Etcd, arguments: &[&str]) -> RunningServer {
    let own = Options::default()
        .argument(format!("--etcd-servers={}", etcd.endpoint()))
        .argument("--empty-namespaces=false")
        .argument("--count-quota-usage=false");
    let all = EVERYTHING.iter().chain(arguments).copied();
    RunningServer::start(all.fold(own, Options::argument)).await
}

/// One file of each kind.
fn one_of_each_kind() -> Vec<File> {
    let mut kinds = BTreeSet::new();
    let kind = |file: &File| file.name.split('/').next().map(String::from);
    let files = File::all("").expect("the cases can be read").into_iter();
    files.filter(|file| kinds.insert(kind(file))).collect()
}

/// Creates an object of each kind and returns the paths of those that are stored.
async fn write_all(client: &Client, namespace: &str) -> Vec<String> {
    let (mut places, mut refused) = (Vec::new(), Vec::new());
    for (number, file) in one_of_each_kind().into_iter().enumerate() {
        match file.create(client, &format!("{namespace}-{number}")).await {
            Ok(at) => places.extend(at),
            // There is no pod to bind, and reviews are not stored.
            Err(_) if file.name.starts_with("binding/") || file.name.contains("review/") => {}
            Err(error) => refused.push(format!("{error:#}")),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    let written: BTreeSet<String> = places.iter().map(|at| collection(at)).collect();
    // One of the objects is a definition, whose resource has no objects.
    let is_defined = |it: &&String| it.starts_with("/apis/keelson.infra ");
    let stored = stored(client).await;
    let missing: Vec<&String> = stored.difference(&written).filter(|it| !is_defined(it)).collect();
    assert!(missing.is_empty(), "nobody wrote {missing:?}");
    places
}

/// `/apis/apps/v1/namespaces/a/deployments/web` → `/apis/apps deployments`: whatever version it was written in.
fn collection(at: &str) -> String {
    let parts: Vec<&str> = at.trim_start_matches('/').split('/').collect();
    let group = if parts[0] == "api" { String::from("/api") } else { format!("/apis/{}", parts[1]) };
    format!("{group} {}", parts[parts.len() - 2])
}

/// All resources that can be created and listed, from discovery.
async fn stored(client: &Client) -> BTreeSet<String> {
    let texts = |value: &Value, path: &str| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|it| it.pointer(path)?.as_str()).map(String::from).collect()
    };
    let groups = client.get("/apis").await.expect(200);
    let preferred = texts(&groups["groups"], "/preferredVersion/groupVersion");
    let mut found = BTreeSet::new();
    for place in preferred.iter().map(|it| format!("/apis/{it}")).chain([String::from("/api/v1")]) {
        let answer = client.get(&place).await;
        if answer.status == 503 {
            // One of the objects is an APIService without a server behind it.
            continue;
        }
        let list = answer.expect(200);
        for resource in list["resources"].as_array().into_iter().flatten() {
            let can = |verb: &str| resource["verbs"].as_array().is_some_and(|it| it.contains(&verb.into()));
            let name = resource["name"].as_str().unwrap_or_default();
            // Events of both groups are the same objects.
            if can("create") && can("list") && place != "/apis/events.k8s.io/v1" {
                let group = place.rsplit_once('/').map_or("", |it| it.0);
                found.insert(format!("{group} {name}"));
            }
        }
    }
    found
}

/// The differences between the servers: before and after a change through the one that did not write the
/// object.
async fn disagreements(servers: [&Client; 2], changer: &Client, places: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for at in places {
        found.extend(disagreement(servers, at).await);
        found.extend(label(changer, at).await);
        found.extend(disagreement(servers, at).await);
    }
    found
}

/// Both servers return the same object, byte for byte. Upstream's controllers write some kinds: then it is
/// read again.
async fn disagreement([one, other]: [&Client; 2], at: &str) -> Option<String> {
    let clock = Clock::real();
    let mut seen = (String::new(), String::new());
    for _ in 0..20 {
        let (first, second) = (one.get(at).await, other.get(at).await);
        if first.status == 200 && second.status == 200 && first.body == second.body {
            return None;
        }
        seen = (first.text(), second.text());
        clock.sleep(Duration::from_millis(100)).await;
    }
    Some(format!("{at}:\n{}\n{}", seen.0, seen.1))
}

/// Changes the object through a server that has not written it.
async fn label(client: &Client, at: &str) -> Option<String> {
    let patch = json!({"metadata": {"labels": {"touched-by": "the-other"}}});
    let answer = client.patch(at, "application/merge-patch+json", &patch).await;
    (answer.status != 200).then(|| format!("{at}: {}", answer.text()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upstream_reads_and_changes_what_keelson_wrote() {
    const TEST: &str = "upstream_reads_and_changes_what_keelson_wrote";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let keelson = keelson_on(&etcd, &[]).await;
    let places = write_all(&keelson.client(), "by-keelson").await;
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let servers = [&keelson.client(), upstream.client()];
    let found = disagreements(servers, upstream.client(), &places).await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    let before = read(&keelson.client(), &places).await;
    drop(keelson);
    still_there(upstream.client(), &before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keelson_reads_and_changes_what_upstream_wrote() {
    const TEST: &str = "keelson_reads_and_changes_what_upstream_wrote";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &[], TEST).await else { return };
    let places = write_all(upstream.client(), "by-upstream").await;
    let keelson = keelson_on(&etcd, &[]).await;
    let servers = [&keelson.client(), upstream.client()];
    let found = disagreements(servers, &keelson.client(), &places).await;
    assert!(found.is_empty(), "{}", found.join("\n"));
    let before = read(upstream.client(), &places).await;
    drop(upstream);
    drop(keelson);
    // A server that was never there when they were written.
    let second = keelson_on(&etcd, &[]).await;
    still_there(&second.client(), &before).await;
}

/// The object at each of the places.
async fn read(client: &Client, places: &[String]) -> BTreeMap<String, Value> {
    let mut seen = BTreeMap::new();
    for at in places {
        seen.insert(at.clone(), client.get(at).await.expect(200));
    }
    seen
}

/// Checks that written objects are unchanged; statuses may differ.
async fn still_there(client: &Client, before: &BTreeMap<String, Value>) {
    for (at, before) in before {
        let now = client.get(at).await.expect(200);
        for part in ["spec", "data", "rules", "webhooks", "subsets"] {
            assert_eq!(now[part], before[part], "{at}");
        }
        assert_eq!(now["metadata"]["uid"], before["metadata"]["uid"], "{at}");
        assert_eq!(now["metadata"]["labels"], before["metadata"]["labels"], "{at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_addresses_and_ports_are_given_once() {
    const TEST: &str = "service_addresses_and_ports_are_given_once";
    const SMALL: [&str; 2] =
        ["--service-cluster-ip-range=10.97.0.0/26", "--service-node-port-range=30000-30063"];
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let Some(upstream) = Upstream::on(&etcd, &SMALL, TEST).await else { return };
    let (one, two) = (keelson_on(&etcd, &SMALL).await, keelson_on(&etcd, &SMALL).await);
    let clients = [upstream.client().clone(), one.client(), two.client()];
    let requests = (0..45).map(|number| {
        let client = clients[number % clients.len()].clone();
        async move {
            let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s{number}")},
                "spec": {"type": "NodePort", "ports": [{"port": 80}], "selector": {"a": "b"}}});
            client.post("/api/v1/namespaces/default/services", &service).await.expect(201)
        }
    });
    let created = join_all(requests).await;
    let all = |path: &str| -> BTreeSet<String> {
        created.iter().filter_map(|it| it.pointer(path)).map(Value::to_string).collect()
    };
    assert_eq!(all("/spec/clusterIP").len(), created.len(), "{:?}", all("/spec/clusterIP"));
    assert_eq!(all("/spec/ports/0/nodePort").len(), created.len(), "{:?}", all("/spec/ports/0/nodePort"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_at_another_server() {
    const TEST: &str = "a_watch_goes_on_at_another_server";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let servers = [keelson_on(&etcd, &[]).await, keelson_on(&etcd, &[]).await, keelson_on(&etcd, &[]).await];
    let mut clients: Vec<Client> = servers.iter().map(RunningServer::client).collect();
    let upstream = Upstream::on(&etcd, &[], TEST).await;
    clients.extend(upstream.as_ref().map(|it| it.client().clone()));

    let mut last = revision(&clients[0].get(CONFIG_MAPS).await.expect(200));
    for number in 0..40 {
        // Written here, read there at once, watched elsewhere: each time on other servers.
        let [writer, reader, watcher] =
            [0, 1, 2].map(|it| &clients[(number + it * (1 + number / 20)) % clients.len()]);
        let object = fixture::config_map(&format!("c{number}"));
        let created = writer.post(CONFIG_MAPS, &object).await.expect(201);
        let list = reader.get(CONFIG_MAPS).await.expect(200);
        assert!(names(&list).contains(&name(&created)), "a list shows what was written before it");
        let mut watch = watcher.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={last}")).await;
        let event = watch.change().await;
        assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &created));
        last = revision(&created);
    }
}

/// The names of the config maps that a watch delivers, in order, until `last`.
async fn told_until(watch: &mut keelson_testkit::Stream, last: &str) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let event = watch.change().await;
        told.push(name(&event["object"]));
        if told.last().is_some_and(|it| it == last) {
            return told;
        }
    }
}

/// Writers write while etcd is killed and restarted. The server keeps running, reports that it is not ready,
/// and recovers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_survives_an_etcd_that_is_killed() {
    const TEST: &str = "a_server_survives_an_etcd_that_is_killed";
    let Some(mut etcd) = Etcd::for_test(TEST).await else { return };
    let server = keelson_on(&etcd, &[]).await;
    let client = server.client();
    let from = revision(&client.get(CONFIG_MAPS).await.expect(200));
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}")).await;
    let mut confirmed = BTreeSet::new();
    for round in 0..3 {
        for number in 0..20 {
            let object = fixture::config_map(&format!("r{round}-{number:02}"));
            confirmed.insert(name(&client.post(CONFIG_MAPS, &object).await.expect(201)));
        }
        etcd.kill();
        assert_eq!(client.get("/readyz").await.status, 500);
        assert_eq!(client.get("/livez").await.status, 500);
        // Cached objects can still be read, and writes wait.
        client.get(&format!("{CONFIG_MAPS}?resourceVersion=0")).await.expect(200);
        let waiting = keelson_stdx::task::spawn("write", {
            let (client, object) = (client.clone(), fixture::config_map(&format!("waiting-{round}")));
            async move { client.post(CONFIG_MAPS, &object).await }
        });
        etcd.start().await.expect("etcd starts again");
        // The request was never sent, or it was and its result is unknown.
        let answer = waiting.await.expect("no panic");
        assert!(matches!(answer.status.as_u16(), 201 | 500 | 503 | 504), "{}", answer.text());
    }
    confirmed.insert(name(&client.post(CONFIG_MAPS, &fixture::config_map("zz-last")).await.expect(201)));
    assert_eq!(client.get("/readyz").await.status, 200);

    let there = names(&client.get(CONFIG_MAPS).await.expect(200));
    let told = told_until(&mut watch, "zz-last").await;
    let distinct: BTreeSet<String> = told.iter().cloned().collect();
    assert_eq!(distinct.len(), told.len(), "no event comes twice: {told:?}");
    assert_eq!(distinct, there.into_iter().collect(), "no event is missing");
    assert!(confirmed.is_subset(&distinct), "what was confirmed is there");
}

/// Foreign values under the prefix do not stop the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_bytes_are_named_and_left_alone() {
    const TEST: &str = "foreign_bytes_are_named_and_left_alone";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    etcd.put("/registry/configmaps/default/foreign", "k8s\0nonsense").await;
    etcd.put(
        "/registry/configmaps/default/other",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"other"}}"#,
    )
    .await;
    etcd.put(
        "/registry/configmaps/default/later",
        r#"{"kind":"ConfigMap","apiVersion":"v9","metadata":{"name":"later"}}"#,
    )
    .await;
    let server = keelson_on(&etcd, &[]).await;
    let client = server.client();
    // More foreign values appear while the server runs.
    etcd.put("/registry/configmaps/default/meanwhile", "nonsense").await;
    client.post(CONFIG_MAPS, &fixture::config_map("good")).await.expect(201);
    let listed = names(&client.get(CONFIG_MAPS).await.expect(200));
    assert!(
        listed.contains(&String::from("good")) && !listed.contains(&String::from("foreign")),
        "{listed:?}"
    );
    for foreign in ["foreign", "other", "later", "meanwhile"] {
        let answer = client.get(&format!("{CONFIG_MAPS}/{foreign}")).await;
        assert_eq!(answer.status, 500, "{}", answer.text());
        assert!(answer.text().contains(&format!("/configmaps/default/{foreign}")), "{}", answer.text());
        assert!(server.log().contains(&format!("/registry/configmaps/default/{foreign}")));
    }
}

/// A running server has a lease, and removes it when it stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_has_a_lease_while_it_runs() {
    const TEST: &str = "a_server_has_a_lease_while_it_runs";
    const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let Some(etcd) = Etcd::with_arguments(TEST, &["--unsafe-no-fsync"]).await else { return };
    let mut first = keelson_on(&etcd, &[]).await;
    let query = format!("{LEASES}?labelSelector=apiserver.kubernetes.io/identity%3Dkube-apiserver");
    let clock = Clock::real();
    let lease = loop {
        let list = first.client().get(&query).await.expect(200);
        if let Some(lease) = list["items"].as_array().and_then(|items| items.first()) {
            break lease.clone();
        }
        clock.sleep(Duration::from_millis(50)).await;
    };
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    assert!(holder.starts_with(&format!("{}_", name(&lease))), "{lease}");
    assert!(name(&lease).starts_with("apiserver-"), "{lease}");
    if let Some(upstream) = Upstream::on(&etcd, &[], TEST).await {
        // Both servers compute the same name for the same machine.
        let list = upstream.client().get(&query).await.expect(200);
        assert_eq!(names(&list), [name(&lease)]);
    }
    first.terminate().await;
    let second = keelson_on(
        &etcd,
        &["--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false"],
    )
    .await;
    assert!(names(&second.client().get(&query).await.expect(200)).is_empty());
}
