//! The end of a server: a graceful stop finishes everything, a kill loses nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_testkit::{Options, RunningServer, fixture};
use keelson_tests::place::{name, names, revision};
use rustix::process::Signal;
use serde_json::Value;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// The number of kills: `KEELSON_CRASH_ROUNDS`, with an upper limit.
fn rounds() -> usize {
    let asked = std::env::var("KEELSON_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(2_usize).clamp(1, 10)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_forgets_nothing_that_it_confirmed() {
    const TASKS: usize = 8;
    const WRITES: usize = 200;
    let mut server = RunningServer::start(Options::default()).await;
    let confirmed = Arc::new(Mutex::new(BTreeMap::new()));
    let mut highest = 0;
    for round in 0..rounds() {
        let before = revision(&server.client().get(PATH).await.expect(200));
        assert!(before >= highest, "the revision goes on");
        let known = confirmed.lock().expect("no writer panics").len();
        let writers: Vec<_> = (0..TASKS)
            .map(|task| {
                let (client, confirmed) = (server.client(), Arc::clone(&confirmed));
                task::spawn("writer", async move {
                    for number in 0..WRITES / TASKS {
                        let object = fixture::config_map_of(&format!("r{round}-t{task}-n{number}"), 2_000);
                        let call = client.call("POST", PATH).json(&object);
                        // The first connection that breaks is the end of this writer.
                        let Ok(answer) = call.try_send().await else { return };
                        let created = answer.expect(201);
                        confirmed.lock().expect("no writer panics").insert(name(&created), created);
                    }
                })
            })
            .collect();
        let clock = Clock::real();
        let deadline = clock.monotonic() + Duration::from_secs(20);
        while confirmed.lock().expect("no writer panics").len() < known + WRITES / 2 {
            assert!(clock.monotonic() < deadline, "the server writes too slowly to be killed in the middle");
            clock.sleep(Duration::from_millis(1)).await;
        }
        server.kill();
        for writer in writers {
            writer.await.expect("no writer panics");
        }
        server.restart().await;
        let known = confirmed.lock().expect("no writer panics").clone();
        highest = check_everything(&server, &known).await;
        check_resumption(&server, before).await;
    }
}

/// Every confirmed object is there as it was confirmed; returns the highest revision.
async fn check_everything(server: &RunningServer, confirmed: &BTreeMap<String, Value>) -> u64 {
    let list = server.client().get(PATH).await.expect(200);
    let found: BTreeMap<String, &Value> =
        list["items"].as_array().into_iter().flatten().map(|item| (name(item), item)).collect();
    for (name, object) in confirmed {
        let item = found.get(name).unwrap_or_else(|| panic!("{name} was confirmed and is lost"));
        assert_eq!((&item["metadata"], &item["data"]), (&object["metadata"], &object["data"]));
        assert!(revision(&list) >= revision(object));
    }
    revision(&list)
}

/// A watch from before the kill sees everything since.
async fn check_resumption(server: &RunningServer, from: u64) {
    let client = server.client();
    let list = client.get(PATH).await.expect(200);
    let expected =
        list["items"].as_array().into_iter().flatten().filter(|item| revision(item) > from).count();
    let mut watch = client.watch(&format!("{PATH}?watch=1&resourceVersion={from}")).await;
    let mut last = from;
    for _ in 0..expected {
        let event = watch.change().await;
        assert_eq!(event["type"], "ADDED", "{event}");
        assert!(revision(&event["object"]) > last);
        last = revision(&event["object"]);
    }
    let next = client.post(PATH, &fixture::config_map(&format!("after-{last}"))).await.expect(201);
    assert!(revision(&next) > last, "the revision goes on");
    assert_eq!(watch.change().await["object"], next);
}

#[tokio::test]
async fn a_terminated_server_ends_its_watches_and_comes_back() {
    let mut server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.post(PATH, &fixture::config_map("a")).await.expect(201);
    let mut watch = client.watch(&format!("{PATH}?watch=1")).await;
    loop {
        if name(&watch.event().await["object"]) == "a" {
            break;
        }
    }
    server.signal(Signal::TERM);
    watch.end().await;
    let status = server.ended().await;
    assert!(status.success(), "{status}\n{}", server.log());
    assert!(client.call("GET", "/readyz").try_send().await.is_err(), "nobody listens any more");

    server.restart().await;
    let list = server.client().get(PATH).await.expect(200);
    assert!(names(&list).contains(&String::from("a")));
}

#[tokio::test]
async fn readiness_goes_first_and_requests_are_finished() {
    let mut server = RunningServer::start(Options::default().argument("--shutdown-delay-duration=2s")).await;
    let client = server.client();
    client.get(PATH).await.expect(200);
    server.signal(Signal::TERM);
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(1);
    loop {
        let answer = client.get("/readyz").await;
        if answer.status == 500 {
            assert!(answer.text().contains("[-]shutdown failed"), "{}", answer.text());
            break;
        }
        assert!(clock.monotonic() < deadline, "/readyz does not fail");
        clock.sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(client.get("/livez").await.text(), "ok", "it still lives");
    client.post(PATH, &fixture::config_map("late")).await.expect(201);
    assert!(server.ended().await.success());
    server.restart().await;
    server.client().get(&format!("{PATH}/late")).await.expect(200);
}
