//! Faults of etcd and of the connection to it: a client writes and a client watches all the time, and in the
//! end no confirmed write is lost, and every event was delivered once and in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_testkit::{Answer, Client, Etcd, Options, Proxy, RunningServer, Way, fixture};
use keelson_tests::place::{name, names, revision};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The time limit for expected events on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// No request of a writer is older.
const TIMEOUT: &str = "timeout=3s";
const NO_FSYNC: &[&str] = &["--unsafe-no-fsync"];

async fn keelson_at(endpoints: &[String]) -> RunningServer {
    let options = Options::default().argument("--empty-namespaces=false");
    RunningServer::start(options.argument(format!("--etcd-servers={}", endpoints.join(",")))).await
}

/// Writers and a watcher.
struct Trial {
    client: Client,
    log: Arc<Log>,
    writers: Vec<JoinHandle<()>>,
    watcher: JoinHandle<Vec<Value>>,
}

/// The responses that writers got.
#[derive(Default)]
struct Log {
    stop: AtomicBool,
    /// The confirmed objects by name, in their last state; `None` is a deletion.
    confirmed: Mutex<BTreeMap<String, Option<Value>>>,
    /// All confirmed revisions.
    revisions: Mutex<BTreeSet<u64>>,
    refused: Mutex<Vec<Answer>>,
}

/// The last object: a watch that has delivered it has delivered all earlier ones.
const LAST: &str = "zz-last";

impl Trial {
    async fn start(client: Client) -> Trial {
        let from = revision(&client.get(CONFIG_MAPS).await.expect(200));
        let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}")).await;
        let watcher = task::spawn("watcher", async move {
            let mut events = Vec::new();
            loop {
                let event = watch.change().await;
                let is_last = name(&event["object"]) == LAST;
                events.push(event);
                if is_last {
                    return events;
                }
            }
        });
        let log = Arc::new(Log::default());
        let writers = (0..3).map(|number| {
            let (client, log) = (client.clone(), log.clone());
            task::spawn("writer", async move { write(number, &client, &log).await })
        });
        Trial { writers: writers.collect(), client, log, watcher }
    }

    /// Waits until so many more writes are confirmed.
    async fn proceeds(&self, count: usize) {
        let clock = Clock::real();
        let (deadline, before) = (clock.monotonic() + PATIENCE, self.log.revisions.lock().await.len());
        while self.log.revisions.lock().await.len() < before + count {
            assert!(clock.monotonic() < deadline, "writers do not get on");
            clock.sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until so many more writes are rejected.
    async fn fails(&self, count: usize) {
        let clock = Clock::real();
        let (deadline, before) = (clock.monotonic() + PATIENCE, self.log.refused.lock().await.len());
        while self.log.refused.lock().await.len() < before + count {
            assert!(clock.monotonic() < deadline, "writers are not refused");
            clock.sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until `/readyz` returns this status.
    async fn ready(&self, status: u16) {
        let clock = Clock::real();
        let deadline = clock.monotonic() + PATIENCE;
        while self.client.get("/readyz").await.status != status {
            assert!(clock.monotonic() < deadline, "/readyz is not {status}");
            clock.sleep(Duration::from_millis(20)).await;
        }
    }

    /// Stops the writers and compares; returns the rejected writes.
    async fn finish(self) -> Vec<Answer> {
        self.log.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("no writer panics");
        }
        let last = self.client.post(CONFIG_MAPS, &fixture::config_map(LAST)).await.expect(201);
        let list = self.client.get(CONFIG_MAPS).await.expect(200);
        let events = self.watcher.await.expect("the watcher has seen the last one");

        let revisions: Vec<u64> = events.iter().map(|event| revision(&event["object"])).collect();
        assert!(revisions.is_sorted_by(|one, next| one < next), "each event once, in order: {revisions:?}");
        assert_eq!(revisions.last(), Some(&revision(&last)));
        let told: BTreeSet<u64> = revisions.into_iter().collect();
        let lost: Vec<u64> = self.log.revisions.lock().await.difference(&told).copied().collect();
        assert!(lost.is_empty(), "confirmed, but nobody was told: {lost:?}");

        let mut state = BTreeMap::new();
        for mut event in events {
            let object = event["object"].take();
            match event["type"].as_str() {
                Some("DELETED") => drop(state.remove(&name(&object))),
                _ => drop(state.insert(name(&object), object)),
            }
        }
        let there: BTreeMap<String, Value> =
            list["items"].as_array().into_iter().flatten().map(|it| (name(it), bare(it))).collect();
        let state: BTreeMap<String, Value> = state.into_iter().map(|(name, it)| (name, bare(&it))).collect();
        assert_eq!(state, there, "the events lead to what is there");
        for (name, object) in self.log.confirmed.lock().await.iter() {
            // Writes without a response may have happened after the confirmed ones.
            let later = |now: &Value| object.as_ref().is_some_and(|it| revision(now) > revision(it));
            let now = there.get(name);
            let same = now == object.as_ref().map(bare).as_ref();
            assert!(same || now.is_none_or(later), "{name} was confirmed as {object:?} and is {now:?}");
        }
        std::mem::take(&mut *self.log.refused.lock().await)
    }
}

/// An object of a list has no kind.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["kind", "apiVersion"] {
        object.as_object_mut().and_then(|it| it.remove(field));
    }
    object
}

/// Creates, updates and deletes until `stop` is set.
async fn write(writer: usize, client: &Client, log: &Log) {
    for number in 0.. {
        if log.stop.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("w{writer}-{number:04}");
        let at = format!("{CONFIG_MAPS}/{name}?{TIMEOUT}");
        let create = client.post(&format!("{CONFIG_MAPS}?{TIMEOUT}"), &fixture::config_map(&name)).await;
        if !note(log, &name, create, 201).await {
            continue;
        }
        if number % 2 == 0 {
            let patch = json!({"data": {"key": "changed"}});
            let change = client.patch(&at, "application/merge-patch+json", &patch).await;
            if !note(log, &name, change, 200).await {
                continue;
            }
        }
        if number % 4 == 0 {
            let answer = client.delete(&at).await;
            match answer.status.as_u16() {
                200 => drop(log.confirmed.lock().await.insert(name, None)),
                _ => {
                    // The result of the request is unknown.
                    log.confirmed.lock().await.remove(&name);
                    log.refused.lock().await.push(answer);
                }
            }
        }
    }
}

/// Records the result of a write; returns whether it was confirmed.
async fn note(log: &Log, name: &str, answer: Answer, expected: u16) -> bool {
    if answer.status != expected {
        // A writer that is refused does not hurry.
        Clock::real().sleep(Duration::from_millis(20)).await;
        log.refused.lock().await.push(answer);
        return false;
    }
    let object = answer.json();
    log.revisions.lock().await.insert(revision(&object));
    log.confirmed.lock().await.insert(name.to_owned(), Some(object));
    true
}

/// Checks for upstream's messages when etcd does not answer.
fn check_refusals(refused: &[Answer]) {
    for answer in refused {
        let status = answer.json();
        let (message, reason) = (status["message"].as_str().unwrap_or_default(), status["reason"].as_str());
        let known = match answer.status.as_u16() {
            504 => {
                reason == Some("Timeout") && message.starts_with("Timeout: request did not complete within ")
            }
            500 => {
                message.starts_with("rpc error: code = Unavailable") || message.starts_with("etcdserver: ")
            }
            // A write without a response is there when the client retries.
            404 | 409 => true,
            _ => false,
        };
        assert!(known, "{}: {}", answer.status, answer.text());
    }
}

/// Disturbs the connection to etcd, three times.
async fn check_way(test: &str, way: Way, ready: u16) {
    let Some(etcd) = Etcd::with_arguments(test, NO_FSYNC).await else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await.expect("a proxy");
    let server = keelson_at(&[proxy.endpoint()]).await;
    let trial = Trial::start(server.client()).await;
    for _ in 0..2 {
        trial.proceeds(20).await;
        proxy.set(way);
        if ready == 200 {
            trial.proceeds(5).await;
        } else {
            trial.ready(ready).await;
            assert_eq!(trial.client.get("/livez").await.status, ready);
            trial.fails(5).await;
        }
        // What is cached is read all the same.
        trial.client.get(&format!("{CONFIG_MAPS}?resourceVersion=0")).await.expect(200);
        proxy.set(Way::Clear);
        trial.ready(200).await;
    }
    trial.proceeds(20).await;
    check_refusals(&trial.finish().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_is_cut_and_restored() {
    check_way("a_network_is_cut_and_restored", Way::Cut, 500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_swallows_everything() {
    check_way("a_network_swallows_everything", Way::Hole, 500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_is_slow() {
    let slow = Way::Slow { latency: Duration::from_millis(100), bytes_per_second: 20_000 };
    check_way("a_network_is_slow", slow, 200).await;
}

/// The leader of three is paused: another one is elected, and the server uses the members that answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_is_paused_and_another_is_killed() {
    let Some(mut members) = Etcd::cluster("a_leader_is_paused_and_another_is_killed").await else { return };
    let mut endpoints: Vec<String> = members.iter().map(Etcd::endpoint).collect();
    let leader = members.iter().position(Etcd::is_leader).expect("a leader");
    // The member that is used first is the one that is paused first.
    endpoints.rotate_left(leader);
    let server = keelson_at(&endpoints).await;
    let trial = Trial::start(server.client()).await;
    trial.proceeds(20).await;
    members[leader].pause().expect("etcd runs");
    trial.proceeds(20).await;
    trial.ready(200).await;
    members[leader].resume().expect("etcd runs");
    let next = (leader + 1) % members.len();
    let new_leader = members.iter().position(Etcd::is_leader).unwrap_or(next);
    members[new_leader].kill();
    trial.proceeds(20).await;
    trial.ready(200).await;
    members[new_leader].start().await.expect("etcd starts again");
    trial.proceeds(20).await;
    check_refusals(&trial.finish().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_does_not_disturb_watches_that_run() {
    const TEST: &str = "compaction_does_not_disturb_watches_that_run";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await.expect("a proxy");
    let server = keelson_at(&[proxy.endpoint()]).await;
    let trial = Trial::start(server.client()).await;
    for _ in 0..5 {
        trial.proceeds(15).await;
        etcd.compact();
    }
    check_refusals(&trial.finish().await);
}

/// The server is cut off while another one writes and etcd compacts: it lists again, and its watchers see
/// everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_compacted_meanwhile_is_listed_again() {
    const TEST: &str = "what_was_compacted_meanwhile_is_listed_again";
    let Some(etcd) = Etcd::with_arguments(TEST, NO_FSYNC).await else { return };
    let proxy = Proxy::to(&etcd.endpoint()).await.expect("a proxy");
    let (cut_off, other) = (keelson_at(&[proxy.endpoint()]).await, keelson_at(&[etcd.endpoint()]).await);
    let (reader, writer) = (cut_off.client(), other.client());
    for number in 0..10 {
        writer.post(CONFIG_MAPS, &fixture::config_map(&format!("before-{number}"))).await.expect(201);
    }
    let list = reader.get(CONFIG_MAPS).await.expect(200);
    let mut known: BTreeMap<String, Value> =
        list["items"].as_array().into_iter().flatten().map(|it| (name(it), bare(it))).collect();
    let mut from = revision(&list);
    let mut watch = reader.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}")).await;
    proxy.set(Way::Cut);
    for number in 0..10 {
        writer.post(CONFIG_MAPS, &fixture::config_map(&format!("meanwhile-{number}"))).await.expect(201);
        writer.delete(&format!("{CONFIG_MAPS}/before-{number}")).await.expect(200);
    }
    etcd.compact();
    proxy.set(Way::Clear);
    let last = writer.post(CONFIG_MAPS, &fixture::config_map(LAST)).await.expect(201);
    while !known.contains_key(LAST) {
        let mut event = watch.change().await;
        // Every client does this when a watch has missed events.
        if event["type"] == "ERROR" {
            assert_eq!(event["object"]["code"], 410, "{event}");
            let list = reader.get(CONFIG_MAPS).await.expect(200);
            known = list["items"].as_array().into_iter().flatten().map(|it| (name(it), bare(it))).collect();
            from = revision(&list);
            watch = reader.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}")).await;
            continue;
        }
        let object = bare(&event["object"].take());
        assert!(revision(&object) > from, "time does not go back: {object}");
        from = revision(&object);
        match event["type"].as_str() {
            Some("DELETED") => drop(known.remove(&name(&object))),
            _ => drop(known.insert(name(&object), object)),
        }
    }
    let list = writer.get(CONFIG_MAPS).await.expect(200);
    let there: BTreeMap<String, Value> =
        list["items"].as_array().into_iter().flatten().map(|it| (name(it), bare(it))).collect();
    assert_eq!(known, there);
    assert_eq!(known[LAST], bare(&last));
}

/// etcd has no space: creates fail, reads and deletes work, and writers recover when there is space again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_without_space_recovers() {
    const TEST: &str = "an_etcd_without_space_recovers";
    let arguments = ["--unsafe-no-fsync", "--quota-backend-bytes=8388608"];
    let Some(etcd) = Etcd::with_arguments(TEST, &arguments).await else { return };
    let server = keelson_at(&[etcd.endpoint()]).await;
    let client = server.client();
    let mut confirmed = Vec::new();
    let refused = loop {
        let object = fixture::config_map_of(&format!("big-{}", confirmed.len()), 700_000);
        let answer = client.post(CONFIG_MAPS, &object).await;
        if answer.status != 201 {
            break answer;
        }
        confirmed.push(name(&answer.json()));
        assert!(confirmed.len() < 100, "there is no end to it");
    };
    let status = refused.expect(500);
    assert_eq!(status["message"], "etcdserver: mvcc: database space exceeded");
    assert_eq!(status["reason"], Value::Null, "{status}");
    // Upstream asks etcd whether it can be read, and it can.
    assert_eq!(client.get("/readyz").await.status, 200);
    let listed = names(&client.get(CONFIG_MAPS).await.expect(200));
    assert!(confirmed.iter().all(|it| listed.contains(it)), "{listed:?}");
    for name in &confirmed {
        client.delete(&format!("{CONFIG_MAPS}/{name}")).await.expect(200);
    }
    etcd.make_space();
    client.post(CONFIG_MAPS, &fixture::config_map("after")).await.expect(201);
    assert_eq!(client.get("/readyz").await.status, 200);
}
