//! `keelson store …` beside a running server, and after it.

use std::path::Path;
use std::process::Output;

use keelson_stdx::task;
use keelson_testkit::{Binary, Etcd, Options, RunningServer, fixture};
use keelson_tests::place::{names, revision};
use rustix::process::Signal;
use serde_json::Value;
use tokio::process::Command;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

async fn store(words: &[&str], data: &Path) -> Output {
    let mut command = Command::new(Binary::path());
    command.arg("store").args(words).arg("--data-dir").arg(data);
    command.output().await.expect("the binary runs")
}

#[track_caller]
fn ok(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    out.into_owned()
}

#[track_caller]
fn refused(output: &Output, expected: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(expected), "{text}");
}

/// A place in another folder that the next server takes for its own.
fn move_store(from: &Path, to: &Path) {
    std::fs::remove_dir_all(to.join("store")).expect("the old store goes");
    std::fs::rename(from.join("store"), to.join("store")).expect("the new one comes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_of_a_busy_server_is_consistent_and_clients_list_again_after_it_is_restored() {
    let mut server = RunningServer::start(Options::default()).await;
    let client = server.client();
    for number in 0..20 {
        client.post(PATH, &fixture::config_map(&format!("c{number:02}"))).await.expect(201);
    }
    let writer = task::spawn("writer", {
        let client = server.client();
        async move {
            for number in 0.. {
                client.post(PATH, &fixture::config_map(&format!("w{number:05}"))).await.expect(201);
            }
        }
    });
    let mut first = client.watch(&format!("{PATH}?watch=1&fieldSelector=metadata.name=w00000")).await;
    first.event().await;
    let file = server.scratch().join("snapshot");
    let file_text = file.display().to_string();
    let said = ok(&store(&["snapshot", &file_text], &server.data_dir()).await);
    assert!(said.contains("entries of revision"), "{said}");
    // Something is written that the snapshot does not have.
    let now = revision(&client.get(&format!("{PATH}?limit=1")).await.expect(200));
    client.watch(&format!("{PATH}?watch=1&resourceVersion={now}")).await.event().await;
    writer.abort();
    let _ = writer.await;
    refused(&store(&["snapshot", &file_text], &server.data_dir()).await, "cannot write");
    refused(&store(&["restore", &file_text], &server.data_dir()).await, "in use by another Keelson");
    let said = ok(&store(&["check"], &server.data_dir()).await);
    assert!(said.ends_with("everything can be read\n"), "{said}");
    let last = client.get(PATH).await.expect(200);

    server.signal(Signal::TERM);
    server.ended().await;
    let other = server.scratch().join("other");
    ok(&store(&["check", &file_text], &other).await);
    ok(&store(&["restore", &file_text], &other).await);
    move_store(&other, &server.data_dir());
    server.restart().await;
    let client = server.client();
    let restored = client.get(PATH).await.expect(200);
    let (known, found) = (names(&last), names(&restored));
    assert!(found.len() >= 21 && found.iter().all(|name| known.contains(name)), "{found:?}");
    // The writes of the snapshot are a beginning of all writes.
    let written: Vec<_> = found.iter().filter(|name| name.starts_with('w')).collect();
    assert!(written.iter().enumerate().all(|(at, name)| **name == format!("w{at:05}")), "{written:?}");
    assert!(revision(&restored) > revision(&last) + 900_000_000, "time does not go back");
    for version in [revision(&last), revision(&last) + 1] {
        let answer = client.get(&format!("{PATH}?watch=1&resourceVersion={version}")).await;
        assert!(
            answer.status == 410 || answer.text().contains("too old resource version"),
            "{}",
            answer.text()
        );
    }
    let created = client.post(PATH, &fixture::config_map("new")).await.expect(201);
    assert!(revision(&created) > revision(&restored));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_exported_and_imported_as_it_is() {
    let mut server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.post(PATH, &fixture::config_map("a")).await.expect(201);
    let before = client.get(&format!("{PATH}/a")).await.expect(200);
    server.signal(Signal::TERM);
    server.ended().await;
    let file = server.scratch().join("dump").display().to_string();
    ok(&store(&["export", &file], &server.data_dir()).await);
    let other = server.scratch().join("other");
    ok(&store(&["import", &file], &other).await);
    refused(&store(&["import", &file], &other).await, "is there already");
    move_store(&other, &server.data_dir());
    server.restart().await;
    assert_eq!(server.client().get(&format!("{PATH}/a")).await.expect(200), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_moved_to_etcd_and_back() {
    let test = "a_store_is_moved_to_etcd_and_back";
    let Some(etcd) = Etcd::with_arguments(test, &["--unsafe-no-fsync"]).await else { return };
    let flag = format!("--etcd-servers={}", etcd.endpoint());
    let mut server = RunningServer::start(Options::default()).await;
    for number in 0..10 {
        server.client().post(PATH, &fixture::config_map(&format!("c{number}"))).await.expect(201);
    }
    let before = server.client().get(PATH).await.expect(200);
    server.signal(Signal::TERM);
    server.ended().await;
    let out = server.scratch().join("out").display().to_string();
    ok(&store(&["export", &out], &server.data_dir()).await);
    ok(&store(&["import", &out, &flag], &server.data_dir()).await);
    refused(&store(&["import", &out, &flag], &server.data_dir()).await, "the store is not empty");

    let mut on_etcd = RunningServer::start(Options::default().argument(&flag)).await;
    let client = on_etcd.client();
    let moved = client.get(PATH).await.expect(200);
    assert_eq!(contents(&moved), contents(&before));
    let old = revision(&before);
    assert!(
        moved["items"].as_array().expect("items").iter().all(|item| revision(item) > old),
        "no time goes back"
    );
    let answer = client.get(&format!("{PATH}?watch=1&resourceVersion={old}")).await;
    assert!(answer.status == 410 || answer.text().contains("too old resource version"), "{}", answer.text());
    client.post(PATH, &fixture::config_map("new")).await.expect(201);
    let before = client.get(PATH).await.expect(200);
    on_etcd.signal(Signal::TERM);
    on_etcd.ended().await;
    ok(&store(&["check", &flag], &server.data_dir()).await);
    let back = server.scratch().join("back").display().to_string();
    ok(&store(&["export", &back, &flag], &server.data_dir()).await);
    let other = server.scratch().join("other");
    ok(&store(&["import", &back], &other).await);
    move_store(&other, &server.data_dir());
    server.restart().await;
    let after = server.client().get(PATH).await.expect(200);
    assert_eq!(contents(&after), contents(&before));
    assert!(revision(&after) >= revision(&before));
}

/// Uid and data of all objects.
fn contents(list: &Value) -> Vec<(Value, Value)> {
    let items = list["items"].as_array().expect("items");
    items.iter().map(|item| (item["metadata"]["uid"].clone(), item["data"].clone())).collect()
}
