//! Custom resources: from a definition to objects, changes of definitions, deletion, restart, kubectl.

use std::time::Duration;

use keelson_testkit::{Client, Options, RunningServer, fixture};
use keelson_tests::kubectl::Kubectl;
use keelson_tests::place::names;
use serde_json::{Value, json};
use tokio::time::timeout;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Longer than anything that happens at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// A definition of namespaced `things` in a group, with a schema for `spec`.
fn definition(group: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}

fn thing(group: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

/// Waits until `is_done` accepts the definition, or its absence.
async fn until(client: &Client, name: &str, is_done: impl Fn(Option<&Value>) -> bool) {
    let path = format!("{DEFINITIONS}?watch=1&fieldSelector=metadata.name%3D{name}");
    let mut events = client.watch(&path).await;
    let found = client.get(&format!("{DEFINITIONS}/{name}")).await;
    if is_done((found.status == 200).then(|| found.json()).as_ref()) {
        return;
    }
    let wait = async {
        loop {
            let event = events.event().await;
            let object = (event["type"] != "DELETED").then_some(&event["object"]);
            if is_done(object) {
                return;
            }
        }
    };
    timeout(PATIENCE, wait).await.expect("the definition gets there");
}

/// Waits until nothing answers at `path`: the server notices a moment after its clients that a definition is gone.
async fn until_gone(client: &Client, path: &str) {
    let wait = async {
        while client.get(path).await.status != 404 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("the resource is not served any more");
}

fn has(condition: &str, definition: Option<&Value>) -> bool {
    let conditions = definition.and_then(|it| it["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["type"] == condition && it["status"] == "True"))
}

fn has_reason(reason: &str, definition: Option<&Value>) -> bool {
    let conditions = definition.and_then(|it| it["status"]["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|it| it["reason"] == reason))
}

async fn establish(client: &Client, definition: &Value) {
    client.post(DEFINITIONS, definition).await.expect(201);
    let name = definition["metadata"]["name"].as_str().expect("a name");
    until(client, name, |it| has("Established", it)).await;
}

async fn start() -> (RunningServer, Client) {
    let server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.post("/api/v1/namespaces", &fixture::namespace("n")).await.expect(201);
    (server, client)
}

#[tokio::test]
async fn an_established_definition_is_served_and_survives_a_restart() {
    let (mut server, client) = start().await;
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer", "default": 3}}});
    establish(&client, &definition("restart.example.com", &schema)).await;
    let path = "/apis/restart.example.com/v1/namespaces/n/things";
    let created = client.post(path, &thing("restart.example.com", "a", &json!({"x": 1}))).await.expect(201);
    assert_eq!(created["spec"], json!({"size": 3}), "unknown fields are pruned, defaults are set");
    server.restart().await;
    let client = server.client();
    assert_eq!(names(&client.get(path).await.expect(200)), ["a"]);
    let groups = client.get("/apis").await.expect(200);
    assert!(groups.to_string().contains("restart.example.com"), "{groups}");
}

#[tokio::test]
async fn watches_end_when_the_definition_changes_and_other_requests_go_on() {
    let (_server, client) = start().await;
    let group = "change.example.com";
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    establish(&client, &definition(group, &open)).await;
    let path = format!("/apis/{group}/v1/namespaces/n/things");
    client.post(&path, &thing(group, "a", &json!({"any": {"thing": 1}}))).await.expect(201);
    let mut events = client.watch(&format!("{path}?watch=1")).await;
    assert_eq!(events.event().await["type"], "ADDED");
    let narrow = json!({"spec": {"versions": [{
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "more": {"type": "string", "default": "new"},
        }}}}},
    }]}});
    let definition = format!("{DEFINITIONS}/things.{group}");
    client.patch(&definition, "application/merge-patch+json", &narrow).await.expect(200);
    events.end().await;
    // The stored object has fields that the schema no longer has, and lacks a default.
    let read = client.get(&format!("{path}/a")).await.expect(200);
    assert_eq!(read["spec"], json!({"more": "new"}));
}

#[tokio::test]
async fn requests_do_not_fail_while_the_definition_changes() {
    const CHANGES: usize = 40;
    let (_server, client) = start().await;
    let group = "busy.example.com";
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    establish(&client, &definition(group, &schema)).await;
    let path = format!("/apis/{group}/v1/namespaces/n/things");
    client.post(&path, &thing(group, "a", &json!({"size": 0}))).await.expect(201);
    let changes = async {
        for number in 0..CHANGES {
            let change = json!([{
                "op": "add",
                "path": "/spec/versions/0/schema/openAPIV3Schema/description",
                "value": format!("change {number}"),
            }]);
            let definition = format!("{DEFINITIONS}/things.{group}");
            client.patch(&definition, "application/json-patch+json", &change).await.expect(200);
        }
    };
    let requests = async {
        for number in 1.. {
            let patch = json!({"spec": {"size": number}});
            let written = client.patch(&format!("{path}/a"), "application/merge-patch+json", &patch).await;
            assert_eq!(written.expect(200)["spec"]["size"], number);
            let read = client.get(&format!("{path}/a")).await.expect(200);
            assert_eq!(read["spec"]["size"], number, "a read sees the last write");
            assert_eq!(names(&client.get(&path).await.expect(200)), ["a"]);
        }
    };
    tokio::select! {
        () = changes => {}
        () = requests => unreachable!("requests go on until the changes are done"),
    }
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_along() {
    let (_server, client) = start().await;
    let group = "gone.example.com";
    let name = format!("things.{group}");
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    establish(&client, &definition(group, &schema)).await;
    let path = format!("/apis/{group}/v1/namespaces/n/things");
    client.post(&path, &thing(group, "a", &json!({}))).await.expect(201);
    let mut held = thing(group, "held", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    client.post(&path, &held).await.expect(201);
    client.delete(&format!("{DEFINITIONS}/{name}")).await.expect(200);
    // The condition is written when the resource is served as a terminating one.
    until(&client, &name, |it| has_reason("InstanceDeletionInProgress", it)).await;
    let refused = client.post(&path, &thing(group, "late", &json!({}))).await;
    let message = refused.refused(403, "Forbidden")["message"].to_string();
    assert!(
        message.contains("create not allowed while custom resource definition is terminating"),
        "{message}"
    );
    // What waits for its finalizer can still be read and changed.
    let free = json!({"metadata": {"finalizers": null}});
    client.patch(&format!("{path}/held"), "application/merge-patch+json", &free).await.expect(200);
    until(&client, &name, |it| it.is_none()).await;
    until_gone(&client, &path).await;
    // A definition of the same name begins without objects.
    establish(&client, &definition(group, &schema)).await;
    assert!(names(&client.get(&path).await.expect(200)).is_empty());
}

#[tokio::test]
async fn names_are_accepted_once_and_become_free_again() {
    let (_server, client) = start().await;
    let schema = json!({"type": "object"});
    establish(&client, &definition("names.example.com", &schema)).await;
    let mut other = definition("names.example.com", &schema);
    other["metadata"]["name"] = json!("others.names.example.com");
    other["spec"]["names"] = json!({"plural": "others", "kind": "Thing"});
    client.post(DEFINITIONS, &other).await.expect(201);
    until(&client, "others.names.example.com", |it| has_reason("ListKindConflict", it)).await;
    assert_eq!(client.get("/apis/names.example.com/v1/others").await.status, 404);
    client.delete(&format!("{DEFINITIONS}/things.names.example.com")).await.expect(200);
    until(&client, "others.names.example.com", |it| has("Established", it)).await;
    client.get("/apis/names.example.com/v1/others").await.expect(200);
}

#[tokio::test]
async fn kubectl_works_with_custom_resources_at_once() {
    let Some(kubectl) = Kubectl::for_test("kubectl_works_with_custom_resources_at_once").await else {
        return;
    };
    let mut definition = definition(
        "kubectl.example.com",
        &json!({"type": "object", "description": "What it is made of.", "properties": {
            "size": {"type": "integer", "minimum": 1, "description": "How large it is."},
        }}),
    );
    definition["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]);
    let file = kubectl.manifest("definition.json", &definition.to_string());
    kubectl.ok(&format!("apply -f {file}")).await;
    kubectl.ok("wait --for=condition=Established crd/things.kubectl.example.com").await;
    let file =
        kubectl.manifest("thing.json", &thing("kubectl.example.com", "a", &json!({"size": 2})).to_string());
    assert_eq!(kubectl.ok(&format!("apply -f {file}")).await, "thing.kubectl.example.com/a created\n");
    assert_eq!(kubectl.ok(&format!("apply -f {file}")).await, "thing.kubectl.example.com/a unchanged\n");
    let table = kubectl.ok("get things").await;
    let rows: Vec<Vec<&str>> = table.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!(rows, [vec!["NAME", "SIZE"], vec!["a", "2"]]);
    let text = kubectl.ok("explain things.spec.size").await;
    assert!(text.contains("How large it is."), "{text}");
    let typo =
        kubectl.manifest("typo.json", &thing("kubectl.example.com", "b", &json!({"siez": 2})).to_string());
    let said = kubectl.run(&format!("apply -f {typo}")).await;
    assert!(!said.success && said.stderr.contains("unknown field \"spec.siez\""), "{said:?}");
    kubectl.ok("delete things --all").await;
}
