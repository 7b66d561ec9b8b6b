//! Large requests do not stall the server: answers are made piece by piece as clients take them, whatever their
//! encoding, and others are answered while large objects are decoded, patched and applied.

use keelson_testkit::{Client, Options, Protocol, RunningServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Autoscalers in a version that is not stored.
const SCALERS: &str = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The number of concurrent clients.
const AT_ONCE: usize = 16;

/// A list that is longer than what a client of HTTP/2 takes before it is read.
const OBJECTS: usize = 100;
const SIZE: usize = 50_000;

/// The size of written objects.
const WRITTEN: usize = 100_000;
const OPERATIONS: usize = 2_000;

/// A few pieces per connection, and what the allocator keeps.
const ALLOWED_GROWTH: u64 = 48 << 20;

async fn start() -> RunningServer {
    RunningServer::start(Options::default().argument("--feature-gates=CBORServingAndStorage=true")).await
}

/// A config map with many short lines, to give indentation and YAML some work.
fn large(name: &str, size: usize) -> Value {
    let data: serde_json::Map<String, Value> = (0..size / 100)
        .map(|key| (format!("key-{key:06}"), json!("some words in a row, ".repeat(4))))
        .collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// The ways to ask for a list: the query, what is accepted, and how many ask at once. An unoptimized server writes a
/// megabyte of YAML in a second.
const FORMS: [(&str, &str, usize); 6] = [
    ("?pretty=true", "application/json", AT_ONCE),
    ("", "application/yaml", 4),
    ("", "application/cbor", AT_ONCE),
    ("", PROTOBUF, AT_ONCE),
    ("?pretty=true&includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io", AT_ONCE),
    ("?includeObject=Object", "application/yaml;as=Table;v=v1;g=meta.k8s.io", 2),
];

/// Clients ask for a long list and do not read it. Each has got the beginning, and none has got much more: the memory
/// of the server does not grow with the list, and it answers others meanwhile.
#[tokio::test]
async fn long_lists_wait_for_their_clients() {
    let server = start().await;
    let client = server.client();
    for number in 0..OBJECTS {
        client.post(MAPS, &large(&format!("large-{number:03}"), SIZE)).await.expect(201);
    }
    // The cells of tables and the messages of protobuf are kept with the objects.
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    for kept in [table, PROTOBUF] {
        assert_eq!(client.call("GET", MAPS).header("accept", kept).send().await.status, 200, "{kept}");
    }
    for (query, accepted, at_once) in FORMS {
        let before = server.resident();
        let mut unread = Vec::new();
        for number in 0..at_once {
            let protocol = if number % 2 == 0 { Protocol::Http1 } else { Protocol::Http2 };
            let client = server.client_as(server.credentials(), protocol);
            let call = client.call("GET", &format!("{MAPS}{query}")).header("accept", accepted);
            let stream = call.stream().await;
            assert_eq!(stream.status, 200, "{query} {accepted}");
            unread.push((client, stream));
        }
        assert_eq!(client.get("/readyz").await.text(), "ok");
        let grown = server.resident().saturating_sub(before);
        assert!(grown < ALLOWED_GROWTH, "{query} {accepted}: {grown} bytes for lists that nobody reads");
        let (_client, mut stream) = unread.swap_remove(0);
        let text = stream.text().await.expect("the whole list");
        assert!(text.len() > OBJECTS * SIZE / 2, "{query} {accepted}: {} bytes", text.len());
        assert!(text.contains("large-099"), "{query} {accepted}");
    }
}

/// Every form of a list has the content of the compact one.
#[tokio::test]
async fn all_forms_of_a_list_say_the_same() {
    let server = start().await;
    let client = server.client();
    for number in 0..5 {
        client.post(MAPS, &large(&format!("large-{number:03}"), SIZE)).await.expect(201);
    }
    let get = async |query: &str, accepted: &str| {
        client.call("GET", &format!("{MAPS}{query}")).header("accept", accepted).send().await.body
    };
    let compact = get("", "application/json").await;
    let said = keelson_codec::json::read(&compact).expect("JSON").value;
    let mut indented = Vec::new();
    keelson_codec::json::indent(compact.trim_ascii_end(), &mut indented);
    assert!(get("?pretty=true", "application/json").await == indented, "indented JSON");
    assert!(get("", "application/yaml").await == keelson_codec::yaml::to_text(said.clone()), "YAML");
    let cbor = keelson_codec::cbor::read(&get("", "application/cbor").await).expect("CBOR");
    assert!(cbor == said, "CBOR");
}

/// The items of a list in protobuf.
async fn items(client: &Client, path: &str) -> Vec<keelson_object::Value> {
    let answer = client.call("GET", path).header("accept", PROTOBUF).send().await;
    let list = keelson_codec::protobuf::decode(&answer.body).expect("a list");
    list.as_map().map(|it| it.list("items").to_vec()).unwrap_or_default()
}

/// A list in protobuf begins with its size. The messages of a version that is not stored are made to be measured, and
/// those of a long list once more to be sent.
#[tokio::test]
async fn a_long_list_in_protobuf_says_what_its_pages_say() {
    const SCALED: usize = 60;
    let server = start().await;
    let client = server.client();
    for number in 0..SCALED {
        let scaler = json!({
            "metadata": {"name": format!("s{number:03}"), "annotations": {"words": "some words ".repeat(1_000)}},
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}},
        });
        client.post(SCALERS, &scaler).await.expect(201);
    }
    let long = items(&client, SCALERS).await;
    assert_eq!(long.len(), SCALED);
    for (number, item) in long.iter().enumerate() {
        let short = items(&client, &format!("{SCALERS}?fieldSelector=metadata.name%3Ds{number:03}")).await;
        assert!(short.len() == 1 && short[0] == *item, "item {number}");
    }
}

/// A request that is a lot of work.
async fn work(client: Client, kind: &'static str, number: usize) {
    let name = format!("{kind}-{number}");
    let path = format!("{MAPS}/{name}");
    match kind {
        "create" => drop(client.post(MAPS, &large(&name, WRITTEN)).await.expect(201)),
        "yaml" => {
            let text = large(&name, WRITTEN).to_string();
            let value = keelson_codec::json::read(text.as_bytes()).expect("JSON").value;
            let call = client.call("POST", MAPS).header("content-type", "application/yaml");
            call.body(keelson_codec::yaml::to_text(value)).send().await.expect(201);
        }
        "json-patch" => {
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            client.post(MAPS, &body).await.expect(201);
            let mut operations = vec![json!({"op": "add", "path": "/data", "value": {}})];
            operations.extend(
                (1..OPERATIONS)
                    .map(|it| json!({"op": "add", "path": format!("/data/key-{it}"), "value": "value"})),
            );
            client.patch(&path, "application/json-patch+json", &json!(operations)).await.expect(200);
        }
        "apply" => {
            let path = format!("{path}?fieldManager=stall&force=true");
            client.patch(&path, "application/apply-patch+yaml", &large(&name, WRITTEN)).await.expect(201);
        }
        other => panic!("{other} is not known"),
    }
}

#[tokio::test]
async fn others_are_answered_while_large_objects_are_written() {
    let server = start().await;
    for kind in ["create", "yaml", "json-patch", "apply"] {
        let before = server.resident();
        let mut under_way = JoinSet::new();
        for number in 0..AT_ONCE {
            let client = server.client_as(server.credentials(), Protocol::Http2);
            under_way.spawn(work(client, kind, number));
        }
        let others = server.client_as(server.credentials(), Protocol::Http1);
        while !under_way.is_empty() {
            assert_eq!(others.get("/readyz").await.text(), "ok");
            while let Some(done) = under_way.try_join_next() {
                done.expect("the write succeeds");
            }
        }
        let grown = server.resident().saturating_sub(before);
        assert!(grown < 4 * ALLOWED_GROWTH, "{kind}: {grown} bytes");
    }
}
