//! Protobuf, as client-go uses it: the same objects in another encoding.

use keelson_codec::{json, protobuf};
use keelson_schema::Schema;
use keelson_testkit::Answer;
use keelson_tests::Place;
use serde_json::{Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Decodes an enveloped message into JSON.
fn read(bytes: &[u8]) -> Value {
    let value = protobuf::decode(bytes).expect("an enveloped message");
    serde_json::from_slice(&json::to_bytes(&value)).expect("JSON")
}

async fn get(place: &Place, path: &str, accept: &str) -> Answer {
    place.client.call("GET", &place.path(path)).header("accept", accept).send().await
}

/// Checks that both encodings have the same content.
async fn check(place: &Place, path: &str, conversion: &str) {
    let text = get(place, path, &format!("application/json{conversion}")).await.expect(200);
    let answer = get(place, path, &format!("{PROTOBUF}{conversion}")).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, PROTOBUF), "{path}");
    let mut expected = text;
    // Items of a list have no kind in protobuf.
    for item in expected.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        let item = item.as_object_mut().expect("an object");
        item.remove("kind");
        item.remove("apiVersion");
    }
    let mut found = read(&answer.body);
    if expected.get("items").is_some() {
        // Others write to this server, and a list has the revision of the whole store.
        for list in [&mut found, &mut expected] {
            list["metadata"]["resourceVersion"].take();
        }
        let tokens = [&mut found, &mut expected].map(|list| list["metadata"]["continue"].take().is_string());
        assert_eq!(tokens[0], tokens[1], "{path}");
    }
    assert_eq!(found, expected, "{path}");
}

#[tokio::test]
async fn objects_lists_and_metadata_are_the_same_in_protobuf() {
    let place = Place::new("protobuf").await;
    for name in ["a", "b"] {
        place.config_map(name, "1").await;
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "100m"}}}]}});
    place.client.post(&place.path("pods"), &pod).await.expect(201);
    for path in ["configmaps/a", "configmaps", "pods/p", "pods", "configmaps?limit=1"] {
        check(&place, path, "").await;
    }
    check(&place, "configmaps/a", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1").await;
    check(&place, "configmaps", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").await;
}

#[tokio::test]
async fn a_long_list_comes_in_pieces() {
    let place = Place::new("protobuf-long").await;
    for number in 0..150 {
        place.config_map(&format!("n{number:03}"), &"x".repeat(4000)).await;
    }
    check(&place, "configmaps", "").await;
}

#[tokio::test]
async fn bodies_and_failures_are_protobuf_too() {
    let place = Place::new("protobuf-bodies").await;
    let tree = json::read(br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#).expect("JSON").value;
    let body = protobuf::encode(&tree, "v1", "ConfigMap").expect("a message");
    let call = place.client.call("POST", &place.path("configmaps"));
    let created =
        call.header("content-type", PROTOBUF).header("accept", PROTOBUF).body(body.clone()).send().await;
    assert_eq!(created.status, 201);
    assert_eq!(read(&created.body)["data"], json!({"k": "v"}));
    let call = place.client.call("POST", &place.path("configmaps"));
    let again = call.header("content-type", PROTOBUF).header("accept", PROTOBUF).body(body).send().await;
    assert_eq!((again.status.as_u16(), again.header("content-type")), (409, PROTOBUF));
    let status = read(&again.body);
    assert_eq!((&status["kind"], &status["reason"]), (&json!("Status"), &json!("AlreadyExists")));
    let table = get(&place, "configmaps", &format!("{PROTOBUF};as=Table;g=meta.k8s.io;v=v1")).await;
    assert_eq!(table.status, 406);
}

#[tokio::test]
async fn a_watch_is_a_stream_of_frames() {
    let place = Place::new("protobuf-watch").await;
    place.config_map("a", "1").await;
    let query = "watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let answer = get(&place, &format!("configmaps?{query}"), &format!("{PROTOBUF};stream=watch")).await;
    assert_eq!(answer.header("content-type"), "application/vnd.kubernetes.protobuf;stream=watch");
    let schema = Schema::builtin("", "v1", "WatchEvent").expect("a table");
    let (mut rest, mut seen) = (&answer.body[..], Vec::new());
    while let Some((frame, after)) = protobuf::split_frame(rest) {
        let event = protobuf::read(frame, schema.root()).expect("an event");
        let event: Value = serde_json::from_slice(&json::to_bytes(&event)).expect("JSON");
        let object = &event["object"];
        seen.push(format!("{} {} {}", event["type"], object["kind"], object["metadata"]["name"]));
        rest = after;
    }
    assert!(rest.is_empty(), "every frame is whole");
    assert_eq!(seen[0], r#""ADDED" "ConfigMap" "a""#);
    assert_eq!(seen[1], r#""BOOKMARK" "ConfigMap" null"#, "{seen:?}");
}
