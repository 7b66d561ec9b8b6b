//! Watches: what is sent, in which order, and how one begins and ends.

use std::sync::Arc;
use std::time::Duration;

use keelson_testkit::{Options, RunningServer};
use keelson_tests::Place;
use keelson_tests::place::revision;
use serde_json::{Value, json};

fn seen(event: &Value) -> (&str, &str) {
    let kind = event["type"].as_str().unwrap_or("");
    (kind, event["object"]["metadata"]["name"].as_str().unwrap_or(""))
}

async fn tip(place: &Place) -> u64 {
    revision(&place.client.get(&place.path("configmaps?limit=1")).await.expect(200))
}

#[tokio::test]
async fn changes_arrive_in_order() {
    let place = Place::new("watch-order").await;
    let from = tip(&place).await;
    let mut watch =
        place.client.watch(&place.path(&format!("configmaps?watch=1&resourceVersion={from}"))).await;
    assert_eq!(watch.status, 200);
    let a = place.config_map("a", "1").await;
    place.config_map("b", "1").await;
    let mut changed = a.clone();
    changed["data"]["key"] = json!("2");
    let changed = place.client.put(&place.path("configmaps/a"), &changed).await.expect(200);
    place.client.delete(&place.path("configmaps/b")).await.expect(200);

    let mut last = from;
    for expected in [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")] {
        let event = watch.event().await;
        assert_eq!(seen(&event), expected);
        assert!(revision(&event["object"]) > last, "{event}");
        last = revision(&event["object"]);
        if expected == ("MODIFIED", "a") {
            assert_eq!(event["object"], changed, "an event carries what GET gives");
        }
    }
}

#[tokio::test]
async fn a_watch_resumes_after_any_revision() {
    let place = Place::new("watch-resume").await;
    let mut revisions = vec![tip(&place).await];
    for number in 0..5 {
        revisions.push(revision(&place.config_map(&format!("c{number}"), "x").await));
    }
    for (number, from) in revisions.iter().enumerate().take(5) {
        let path = place.path(&format!("configmaps?watch=true&resourceVersion={from}&timeoutSeconds=5"));
        let mut watch = place.client.watch(&path).await;
        for expected in number..5 {
            assert_eq!(seen(&watch.event().await), ("ADDED", format!("c{expected}").as_str()));
        }
    }
}

#[tokio::test]
async fn a_watch_from_anywhere_begins_with_what_is_there() {
    let place = Place::new("watch-anywhere").await;
    place.config_map("a", "1").await;
    place.config_map("b", "1").await;
    for query in ["watch=1", "watch=1&resourceVersion=0", "watch=true&resourceVersion="] {
        let mut watch = place.client.watch(&place.path(&format!("configmaps?{query}"))).await;
        let mut found = [watch.event().await, watch.event().await];
        found.sort_by_key(|event| event["object"]["metadata"]["name"].as_str().map(String::from));
        assert_eq!(seen(&found[0]), ("ADDED", "a"), "{query}");
        assert_eq!(seen(&found[1]), ("ADDED", "b"), "{query}");
    }
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let place = Place::new("watch-initial").await;
    place.config_map("a", "1").await;
    let path = place.path(
        "configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    );
    let mut watch = place.client.watch(&path).await;
    assert_eq!(seen(&watch.event().await), ("ADDED", "a"));
    let bookmark = watch.event().await;
    assert_eq!(bookmark["type"], "BOOKMARK");
    let object = &bookmark["object"];
    assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert_eq!(object["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    place.config_map("b", "1").await;
    let event = watch.change().await;
    assert_eq!(seen(&event), ("ADDED", "b"));
    assert!(revision(&event["object"]) > revision(object));
}

#[tokio::test]
async fn selectors_turn_changes_into_additions_and_deletions() {
    let place = Place::new("watch-selected").await;
    let from = tip(&place).await;
    let query = format!("configmaps?watch=1&resourceVersion={from}&labelSelector=show%3Dyes");
    let mut watch = place.client.watch(&place.path(&query)).await;
    let object = |show: &str, value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"show": show}}, "data": {"key": value},
        })
    };
    let path = place.path("configmaps/a");
    place.client.post(&place.path("configmaps"), &object("no", "1")).await.expect(201);
    place.client.put(&path, &object("yes", "2")).await.expect(200);
    place.client.put(&path, &object("yes", "3")).await.expect(200);
    let hidden = place.client.put(&path, &object("no", "4")).await.expect(200);
    place.client.put(&path, &object("no", "5")).await.expect(200);
    place.client.put(&path, &object("yes", "6")).await.expect(200);
    place.client.delete(&path).await.expect(200);
    for (kind, value) in
        [("ADDED", "2"), ("MODIFIED", "3"), ("DELETED", "3"), ("ADDED", "6"), ("DELETED", "6")]
    {
        let event = watch.change().await;
        assert_eq!((&event["type"], &event["object"]["data"]["key"]), (&json!(kind), &json!(value)));
        if (kind, value) == ("DELETED", "3") {
            assert_eq!(revision(&event["object"]), revision(&hidden), "the revision is that of the change");
        }
    }
}

#[tokio::test]
async fn the_old_paths_watch_too() {
    let place = Place::new("watch-paths").await;
    place.config_map("a", "1").await;
    for path in [
        format!("/api/v1/watch/namespaces/{}/configmaps", place.namespace),
        format!("/api/v1/watch/namespaces/{}/configmaps/a", place.namespace),
        place.path("configmaps?watch=1&fieldSelector=metadata.name%3Da"),
    ] {
        let mut watch = place.client.watch(&path).await;
        assert_eq!(seen(&watch.event().await), ("ADDED", "a"), "{path}");
    }
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over() {
    let place = Place::new("watch-timeout").await;
    for client in [place.client.clone(), place.server.client2()] {
        let mut watch = client.watch(&place.path("configmaps?watch=1&timeoutSeconds=1")).await;
        watch.end().await;
    }
}

#[tokio::test]
async fn a_bookmark_comes_before_the_end() {
    let place = Place::new("watch-bookmarks").await;
    let from = tip(&place).await;
    let query =
        format!("configmaps?watch=1&resourceVersion={from}&allowWatchBookmarks=true&timeoutSeconds=5");
    let mut watch = place.client.watch(&place.path(&query)).await;
    let mut bookmarks = Vec::new();
    while let Some(event) = watch.try_event(Duration::from_secs(20)).await.expect("the watch ends cleanly") {
        assert_eq!(event["type"], "BOOKMARK", "{event}");
        assert_eq!(event["object"]["kind"], "ConfigMap");
        bookmarks.push(revision(&event["object"]));
    }
    assert!(bookmarks.last().is_some_and(|last| *last >= from), "{bookmarks:?}");
}

#[tokio::test]
async fn a_watch_waits_for_a_revision_of_the_future() {
    let place = Place::new("watch-future").await;
    let mut watch =
        place.client.watch(&place.path("configmaps?watch=1&resourceVersion=99999999&timeoutSeconds=1")).await;
    assert_eq!(watch.status, 200);
    if let Ok(Some(event)) = watch.try_event(Duration::from_secs(10)).await {
        assert_eq!(event["type"], "ERROR", "{event}");
    }
}

#[tokio::test]
async fn many_watchers_see_the_same() {
    const WATCHERS: usize = 50;
    const CHANGES: usize = 20;
    let place = Place::new("watch-many").await;
    let from = tip(&place).await;
    let path = place.path(&format!("configmaps?watch=1&resourceVersion={from}"));
    let client = place.server.client2();
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(client.watch(&path).await);
    }
    for number in 0..CHANGES {
        place.config_map(&format!("c{number}"), "x").await;
    }
    let mut first = Vec::new();
    for (number, watch) in watchers.iter_mut().enumerate() {
        let mut events = Vec::new();
        for _ in 0..CHANGES {
            events.push(watch.change().await);
        }
        if number == 0 {
            first = events;
        } else {
            assert_eq!(events, first);
        }
    }
}

/// A client that does not read does not delay other watchers, and its unread events are not kept in memory.
#[tokio::test]
async fn stuck_watchers_delay_nobody_and_hold_little_memory() {
    const STUCK: usize = 16;
    const CHANGES: usize = 200;
    const SIZE: usize = 100_000;
    let server = Arc::new(RunningServer::start(Options::default()).await);
    let place = Place::on(server, "watch-stuck").await;
    let mut object = place.config_map("a", "0").await;
    let path = place.path(&format!("configmaps?watch=1&resourceVersion={}", revision(&object)));
    let mut stuck = Vec::new();
    for _ in 0..STUCK {
        stuck.push(place.server.client().watch(&path).await);
    }
    let mut watch = place.client.watch(&path).await;
    let before = place.server.resident();
    let filling = "x".repeat(SIZE);
    for number in 0..CHANGES {
        object["data"]["key"] = json!(format!("{number} {filling}"));
        object = place.client.put(&place.path("configmaps/a"), &object).await.expect(200);
        let event = watch.change().await;
        assert_eq!(revision(&event["object"]), revision(&object), "the change that was just made");
    }
    // A copy for each of them would be 320 MB; the history that all share is 20 MB.
    let grown = place.server.resident().saturating_sub(before);
    assert!(grown < 160 << 20, "{} MiB more", grown >> 20);
    drop(stuck);
}

#[tokio::test]
async fn tables_and_metadata_are_watched_in_their_form() {
    let place = Place::new("watch-forms").await;
    place.config_map("a", "1").await;
    let call = place.client.call("GET", &place.path("configmaps?watch=1"));
    let mut watch = call.header("accept", "application/json;as=Table;g=meta.k8s.io;v=v1").stream().await;
    let event = watch.event().await;
    assert_eq!(event["object"]["kind"], "Table", "{event}");
    assert_eq!(event["object"]["rows"][0]["cells"][0], "a");
    assert!(event["object"]["columnDefinitions"].is_array(), "the first event explains the columns");
    place.config_map("b", "1").await;
    let event = watch.change().await;
    assert_eq!(event["object"]["rows"][0]["cells"][0], "b");

    let call = place.client.call("GET", &place.path("configmaps?watch=1"));
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = call.header("accept", accept).stream().await;
    let event = watch.event().await;
    assert_eq!(event["object"]["kind"], "PartialObjectMetadata");
    assert!(event["object"].get("data").is_none(), "{event}");
}
