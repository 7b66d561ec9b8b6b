//! Nodes with certificates: what they may read and write, and how they get their certificates.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::{Client, Options, Protocol, RunningServer};
use serde_json::{Value, json};

async fn server() -> RunningServer {
    let plugins = "--enable-admission-plugins=NodeRestriction";
    RunningServer::start(Options::default().argument(plugins)).await
}

fn node(server: &RunningServer, name: &str) -> Client {
    let identity = server.issue(&format!("system:node:{name}"), &["system:nodes"]);
    server.client_as(&server.credentials().with_identity(identity), Protocol::Http1)
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "image": "i"}],
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "volumes": [{"name": "v", "secret": {"secretName": "key"}}],
        },
    })
}

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Repeats the request until it has this status: the graph sees pods a moment after they are written.
async fn settles(client: &Client, path: &str, status: u16) -> Value {
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    loop {
        let answer = client.get(path).await;
        if answer.status.as_u16() == status || clock.monotonic() > deadline {
            return answer.expect(status);
        }
        clock.sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_node_reads_secrets_only_while_its_pods_need_them() {
    let server = server().await;
    let (admin, one, two) = (server.client(), node(&server, "one"), node(&server, "two"));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}});
    admin.post(SECRETS, &secret).await.expect(201);
    let path = format!("{SECRETS}/key");
    let refusal = one.get(&path).await.refused(403, "Forbidden");
    assert_eq!(
        refusal["message"],
        "secrets \"key\" is forbidden: User \"system:node:one\" cannot get resource \"secrets\" in API group \"\" in the \
         namespace \"default\": no relationship found between node 'one' and this object"
    );
    admin.post(PODS, &pod("web", "one")).await.expect(201);
    settles(&one, &path, 200).await;
    two.get(&path).await.refused(403, "Forbidden");
    let listed = one.get(&format!("{PODS}?fieldSelector=spec.nodeName%3Done")).await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    one.get(PODS).await.refused(403, "Forbidden");
    two.delete(&format!("{PODS}/web")).await.refused(403, "Forbidden");
    one.delete(&format!("{PODS}/web")).await.expect(200);
    settles(&one, &path, 403).await;
}

#[tokio::test]
async fn a_node_writes_about_itself() {
    let server = server().await;
    let (one, admin) = (node(&server, "one"), server.client());
    let object = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
    let refusal = one.post("/api/v1/nodes", &object("two", json!({}))).await.refused(403, "Forbidden");
    let expected = "nodes \"two\" is forbidden: node \"one\" is not allowed to modify node \"two\"";
    assert_eq!(refusal["message"], expected);
    let labels = json!({"node-role.kubernetes.io/control-plane": ""});
    one.post("/api/v1/nodes", &object("one", labels)).await.refused(403, "Forbidden");
    one.post("/api/v1/nodes", &object("one", json!({"kubernetes.io/hostname": "one"}))).await.expect(201);
    one.get("/api/v1/nodes/one").await.expect(200);
    one.get("/api/v1/nodes").await.refused(403, "Forbidden");
    let merge = "application/merge-patch+json";
    let taints = json!({"spec": {"taints": []}});
    let tainted = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    admin.patch("/api/v1/nodes/one", merge, &tainted).await.expect(200);
    one.patch("/api/v1/nodes/one", merge, &taints).await.refused(403, "Forbidden");
    one.delete("/api/v1/nodes/one").await.refused(403, "Forbidden");
}

/// A user whose name looks like a node's, but without the group, is not a node.
#[tokio::test]
async fn a_name_does_not_make_a_node() {
    let server = server().await;
    let identity = server.issue("system:node:one", &["people"]);
    let stranger = server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    stranger.get("/api/v1/nodes/one").await.refused(403, "Forbidden");
    let identity = server.issue("one", &["system:nodes"]);
    let stranger = server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    stranger.get("/api/v1/nodes/one").await.refused(403, "Forbidden");
}
