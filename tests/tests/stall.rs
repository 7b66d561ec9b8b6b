//! Large requests do not stall the server: answers are made piece by piece as clients take them, whatever their
//! encoding, and others are answered while large objects are decoded, patched and applied.

use keelson_testkit::{Client, Options, Protocol, RunningServer};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// How many do the same at once.
const AT_ONCE: usize = 16;

/// Longer than all buffers between the server and a client that does not read.
const OBJECTS: usize = 240;
const SIZE: usize = 100_000;

/// A few pieces per connection, and what the allocator keeps.
const ALLOWED_GROWTH: u64 = 96 << 20;

async fn start() -> RunningServer {
    RunningServer::start(Options::default().argument("--feature-gates=CBORServingAndStorage=true")).await
}

/// A config map with many short lines, so that indentation and YAML have something to do.
fn large(name: &str) -> Value {
    let data: serde_json::Map<String, Value> = (0..SIZE / 100)
        .map(|key| (format!("key-{key:06}"), json!("some words in a row, ".repeat(4))))
        .collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// The ways to ask for a list: the query and what is accepted.
const FORMS: [(&str, &str); 6] = [
    ("?pretty=true", "application/json"),
    ("", "application/yaml"),
    ("", "application/cbor"),
    ("?pretty=true&includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ("?includeObject=Object", "application/yaml;as=Table;v=v1;g=meta.k8s.io"),
    ("?includeObject=Object", "application/cbor;as=Table;v=v1;g=meta.k8s.io"),
];

/// Clients ask for a long list and do not read it. Each has got the beginning, and none has got much more: the memory
/// of the server does not grow with the list, and it answers others meanwhile.
#[tokio::test]
async fn long_lists_wait_for_their_clients() {
    let server = start().await;
    let client = server.client();
    for number in 0..OBJECTS {
        client.post(MAPS, &large(&format!("large-{number:03}"))).await.expect(201);
    }
    for (query, accepted) in FORMS {
        // What is kept with the objects for good is made once.
        client.call("GET", &format!("{MAPS}{query}")).header("accept", accepted).send().await;
        let before = server.resident();
        let mut unread = Vec::new();
        for number in 0..AT_ONCE {
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
        assert!(text.contains("large-239"), "{query} {accepted}");
    }
}

/// What each form says is what the compact list says.
#[tokio::test]
async fn all_forms_of_a_list_say_the_same() {
    let server = start().await;
    let client = server.client();
    for number in 0..5 {
        client.post(MAPS, &large(&format!("large-{number:03}"))).await.expect(201);
    }
    let get = async |query: &str, accepted: &str| {
        client.call("GET", &format!("{MAPS}{query}")).header("accept", accepted).send().await.body
    };
    let table = "as=Table;v=v1;g=meta.k8s.io";
    for (query, parameters) in [("", String::new()), ("?includeObject=Object", format!(";{table}"))] {
        let compact = get(query, &format!("application/json{parameters}")).await;
        let said = keelson_codec::json::read(&compact).expect("JSON").value;
        let pretty =
            if query.is_empty() { "?pretty=true".to_owned() } else { format!("{query}&pretty=true") };
        let pretty = get(&pretty, &format!("application/json{parameters}")).await;
        let mut indented = Vec::new();
        keelson_codec::json::indent(compact.trim_ascii_end(), &mut indented);
        assert!(pretty == indented, "indented{parameters}");
        let yaml = get(query, &format!("application/yaml{parameters}")).await;
        assert!(yaml == keelson_codec::yaml::to_text(said.clone()), "YAML{parameters}");
        let cbor = get(query, &format!("application/cbor{parameters}")).await;
        assert!(keelson_codec::cbor::read(&cbor).expect("CBOR") == said, "CBOR{parameters}");
    }
}

/// A request that is a lot of work.
async fn work(client: Client, kind: &'static str, number: usize) {
    let name = format!("{kind}-{number}");
    let path = format!("{MAPS}/{name}");
    match kind {
        "create" => drop(client.post(MAPS, &large(&name)).await.expect(201)),
        "yaml" => {
            let value = keelson_codec::json::read(large(&name).to_string().as_bytes()).expect("JSON").value;
            let call = client.call("POST", MAPS).header("content-type", "application/yaml");
            call.body(keelson_codec::yaml::to_text(value)).send().await.expect(201);
        }
        "json-patch" => {
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            client.post(MAPS, &body).await.expect(201);
            let mut operations = vec![json!({"op": "add", "path": "/data", "value": {}})];
            operations.extend(
                (0..9_999)
                    .map(|it| json!({"op": "add", "path": format!("/data/key-{it}"), "value": "value"})),
            );
            client.patch(&path, "application/json-patch+json", &json!(operations)).await.expect(200);
        }
        "apply" => {
            let path = format!("{path}?fieldManager=stall&force=true");
            client.patch(&path, "application/apply-patch+yaml", &large(&name)).await.expect(201);
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
        let mut answers = 0;
        while !under_way.is_empty() {
            assert_eq!(others.get("/readyz").await.text(), "ok");
            answers += 1;
            while let Some(done) = under_way.try_join_next() {
                done.expect("the write succeeds");
            }
        }
        assert!(answers > AT_ONCE, "{kind}: {answers} answers while {AT_ONCE} requests were under way");
        let grown = server.resident().saturating_sub(before);
        assert!(grown < 2 * ALLOWED_GROWTH, "{kind}: {grown} bytes");
    }
}
