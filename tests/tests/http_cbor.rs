//! CBOR, as client-go uses it when the gate is on: the same objects in another encoding.

use std::sync::Arc;

use keelson_codec::{cbor, json};
use keelson_schema::Schema;
use keelson_testkit::{Answer, Options, RunningServer};
use keelson_tests::Place;
use serde_json::{Value, json};

const CBOR: &str = "application/cbor";

async fn open_place(namespace: &str) -> Place {
    let options = Options::default().argument("--feature-gates=CBORServingAndStorage=true");
    Place::on(Arc::new(RunningServer::start(options).await), namespace).await
}

/// Decodes CBOR into JSON.
fn read(bytes: &[u8]) -> Value {
    assert!(bytes.starts_with(&cbor::SELF_DESCRIBED), "{bytes:x?}");
    let value = cbor::read(bytes).expect("CBOR");
    serde_json::from_slice(&json::to_bytes(&value)).expect("JSON")
}

/// An object as a client with the schema writes it.
fn written(object: &Value) -> Vec<u8> {
    let value = json::read(object.to_string().as_bytes()).expect("JSON").value;
    let kind = object["kind"].as_str().unwrap_or_default();
    let mut out = cbor::SELF_DESCRIBED.to_vec();
    match Schema::builtin("", "v1", kind) {
        Some(schema) => cbor::write_as(&value, schema.root(), &mut out),
        None => cbor::write(&value, &mut out),
    }
    out
}

async fn get(place: &Place, path: &str, accept: &str) -> Answer {
    place.client.call("GET", &place.path(path)).header("accept", accept).send().await
}

async fn send(place: &Place, method: &str, path: &str, body: Vec<u8>) -> Answer {
    let call = place.client.call(method, &place.path(path)).header("content-type", CBOR);
    call.body(body).send().await
}

/// Checks that both encodings have the same content.
async fn check(place: &Place, path: &str, conversion: &str) {
    let expected = get(place, path, &format!("application/json{conversion}")).await.expect(200);
    let answer = get(place, path, &format!("{CBOR}{conversion}")).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, CBOR), "{path}");
    assert_eq!(read(&answer.body), expected, "{path}");
}

#[tokio::test]
async fn objects_lists_and_metadata_are_the_same_in_cbor() {
    let place = open_place("cbor").await;
    for number in 0..60 {
        place.config_map(&format!("n{number:02}"), &"x".repeat(4000)).await;
    }
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AAH/"}});
    place.client.post(&place.path("secrets"), &secret).await.expect(201);
    for path in ["configmaps/n01", "configmaps", "configmaps?limit=1", "secrets/s", "secrets", "events"] {
        check(&place, path, "").await;
    }
    let one = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    check(&place, "configmaps/n01", one).await;
    check(&place, "configmaps?limit=2", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").await;
    let secret = get(&place, "secrets/s", CBOR).await;
    let bytes = [0xd6, 0x43, 0, 1, 0xff];
    assert!(secret.body.windows(5).any(|it| it == bytes), "bytes are bytes, with a tag that says base64");
    get(&place, "configmaps", &format!("{CBOR};as=Table;g=meta.k8s.io;v=v1"))
        .await
        .refused(406, "NotAcceptable");
}

#[tokio::test]
async fn bodies_are_read_by_their_schema() {
    let place = open_place("cbor-bodies").await;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AAH/"}});
    let created = send(&place, "POST", "secrets", written(&secret)).await.expect(201);
    assert_eq!(created["data"], json!({"k": "AAH/"}));
    let mut changed = created.clone();
    changed["data"] = json!({"k": "AA=="});
    let updated = send(&place, "PUT", "secrets/s", written(&changed)).await.expect(200);
    assert_eq!(updated["data"], json!({"k": "AA=="}));
    let patched = place.client.call("PATCH", &place.path("secrets/s")).header("accept", CBOR);
    let patched = patched.header("content-type", "application/merge-patch+json");
    let patched = patched.body(r#"{"data":{"l":"AQ=="}}"#).send().await;
    assert_eq!(read(&patched.body)["data"], json!({"k": "AA==", "l": "AQ=="}));
    let again = place.client.call("POST", &place.path("secrets")).header("content-type", CBOR);
    let again = again.header("accept", CBOR).body(written(&secret)).send().await;
    assert_eq!((again.status.as_u16(), again.header("content-type")), (409, CBOR));
    let status = read(&again.body);
    assert_eq!((&status["kind"], &status["reason"]), (&json!("Status"), &json!("AlreadyExists")));
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "wrong"}});
    send(&place, "DELETE", "secrets/s", written(&options)).await.refused(409, "Conflict");
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    send(&place, "DELETE", "secrets/s", written(&options)).await.expect(200);
}

#[tokio::test]
async fn mistakes_are_told_in_the_words_of_upstream() {
    let place = open_place("cbor-mistakes").await;
    let path = "configmaps?fieldValidation=Strict&dryRun=All";
    let refused = async |body: Vec<u8>, expected: &str| {
        let status = send(&place, "POST", path, body).await.refused(400, "BadRequest");
        assert_eq!(status["message"], expected);
    };
    let raw = |rest: &[u8]| [&cbor::SELF_DESCRIBED[..], rest].concat();
    let object = |rest: &[u8]| raw(&[&b"\xa4\x4aapiVersion\x42v1\x44kind\x49ConfigMap"[..], rest].concat());
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): \
                        unable to determine group/version/kind: ";
    let wrong = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
    refused(Vec::new(), &format!("{unrecognized}EOF (<empty>)")).await;
    refused(raw(b"\xa2\x41"), &format!("{unrecognized}unexpected EOF (d9d9f7a241)")).await;
    refused(
        raw(b"\xa2\x44data\xa0\x44data\xa0"),
        &format!(
            "{unrecognized}cbor: found duplicate map key \"data\" at map element index 1 \
             (d9d9f7a24464617461a04464617461a0)"
        ),
    )
    .await;
    let unknown = object(b"\x43zzz\x01\x48metadata\xa1\x44name\x41a");
    refused(
        unknown.clone(),
        &format!("{wrong}strict decoding error: cbor: found unknown field at map element index 2"),
    )
    .await;
    refused(
        object(b"\x48metadata\xa1\x44name\x41a\x44data\xa1\x41k\x05"),
        &format!(
            "{wrong}cbor: cannot unmarshal positive integer into Go struct field v1.ConfigMap.data of type string"
        ),
    )
    .await;
    let warned = send(&place, "POST", "configmaps?fieldValidation=Warn&dryRun=All", unknown).await;
    assert_eq!(warned.status, 201);
    assert_eq!(warned.header("warning"), "299 - \"cbor: found unknown field at map element index 2\"");
}

#[tokio::test]
async fn a_watch_is_a_sequence_of_items() {
    let place = open_place("cbor-watch").await;
    place.config_map("a", "1").await;
    let query = "watch=1&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&fieldSelector=metadata.name%3Da";
    let answer = get(&place, &format!("configmaps?{query}"), CBOR).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/cbor-seq"));
    let start = [&cbor::SELF_DESCRIBED[..], b"\xa2\x44type"].concat();
    let starts: Vec<usize> =
        (0..answer.body.len()).filter(|at| answer.body[*at..].starts_with(&start)).collect();
    let ends = starts.iter().skip(1).copied().chain([answer.body.len()]);
    let seen: Vec<String> = starts
        .iter()
        .zip(ends)
        .map(|(from, to)| {
            let event = read(&answer.body[*from..to]);
            let object = &event["object"];
            format!("{} {} {}", event["type"], object["kind"], object["metadata"]["name"])
        })
        .collect();
    assert_eq!(seen[0], r#""ADDED" "ConfigMap" "a""#);
    assert_eq!(seen[1], r#""BOOKMARK" "ConfigMap" null"#, "{seen:?}");
    let refused = get(&place, "configmaps?watch=1", "application/yaml").await;
    assert!(refused.text().contains("application/cbor-seq"), "{}", refused.text());
}

#[tokio::test]
async fn while_the_gate_is_closed_there_is_no_cbor() {
    let place = Place::new("cbor-closed").await;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let status = send(&place, "POST", "configmaps", written(&config_map)).await;
    let status = status.refused(415, "UnsupportedMediaType");
    let expected = "the body of the request was in an unknown format - accepted media types include: \
                    application/json, application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(status["message"], expected);
    get(&place, "configmaps", CBOR).await.refused(406, "NotAcceptable");
    get(&place, "configmaps", &format!("{CBOR},application/json;q=0.9")).await.expect(200);
}

#[tokio::test]
async fn hostile_bodies_are_refused_with_flat_memory() {
    const ALLOWED_GROWTH: u64 = 64 << 20;
    let place = open_place("cbor-hostile").await;
    let refused = async |body: Vec<u8>| {
        let answer = send(&place, "POST", "configmaps", body).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.body.len() < 2000, "an answer of {} bytes", answer.body.len());
    };
    refused(vec![0xff]).await;
    let before = place.server.resident();
    for _ in 0..10 {
        refused(b"\x81".repeat(1_000_000)).await;
        refused(b"\xbf\x41a".repeat(500_000)).await;
        refused(b"\xc6".repeat(1_000_000)).await;
        refused(b"\x9a\x7f\xff\xff\xff".to_vec()).await;
        refused(b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff".to_vec()).await;
        refused([&b"\x9f"[..], &b"\x80".repeat(2_000_000), b"\xff"].concat()).await;
    }
    let after = place.server.resident();
    assert!(after < before + ALLOWED_GROWTH, "{before} bytes before, {after} after");
    assert_eq!(place.names("").await, [""; 0]);
}
