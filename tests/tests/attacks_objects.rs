//! Attacks by objects: pods, services and nodes that try to get more permissions, with upstream's CVE
//! numbers.

use keelson_testkit::{Client, Options, Protocol, RunningServer};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const MERGE: &str = "application/strategic-merge-patch+json";

/// A pod with this `spec`, beside its container.
fn pod(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"containers": [{"name": "c", "image": "registry.example/c:1"}]});
    for (key, value) in spec.as_object().expect("fields") {
        whole[key] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole})
}

async fn refused(client: &Client, path: &str, body: &Value) -> Value {
    client.post(path, body).await.refused(403, "Forbidden")
}

/// CVE-2023-2728, CVE-2024-3177: an account that limits its secrets limits every way to them.
#[tokio::test]
async fn secrets_are_mounted_as_the_account_says() {
    let server = RunningServer::start(Options::default().with_service_accounts()).await;
    let admin = server.client();
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "strict", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "secrets": [{"name": "ok"}],
    });
    admin.post("/api/v1/namespaces/default/serviceaccounts", &account).await.expect(201);
    let strict = |spec: Value| {
        let mut pod = pod("bad", &spec);
        pod["spec"]["serviceAccountName"] = "strict".into();
        pod
    };
    let from = |name: &str| json!([{"secretRef": {"name": name}}]);
    let container =
        |name: &str| json!([{"name": "c", "image": "registry.example/c:1", "envFrom": from(name)}]);
    for spec in [
        json!({"containers": container("other")}),
        json!({"initContainers": container("other")}),
        json!({"volumes": [{"name": "v", "secret": {"secretName": "other"}}]}),
        json!({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "other"}}]}}]}),
    ] {
        refused(&admin, PODS, &strict(spec)).await;
    }
    let mut good = strict(json!({"containers": container("ok")}));
    good["metadata"]["name"] = "good".into();
    admin.post(PODS, &good).await.expect(201);
    let late = json!({"spec": {"ephemeralContainers": [{
        "name": "e", "image": "registry.example/e:1", "envFrom": from("other"),
    }]}});
    let path = format!("{PODS}/good/ephemeralcontainers");
    admin.patch(&path, MERGE, &late).await.refused(403, "Forbidden");
}

/// CVE-2017-1000056, CVE-2023-1260: what a namespace forbids is forbidden in every kind of request.
#[tokio::test]
async fn privileged_containers_do_not_come_in_later() {
    let server = RunningServer::start(Options::default()).await;
    let admin = server.client();
    let labels = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tight", "labels": labels}});
    admin.post("/api/v1/namespaces", &namespace).await.expect(201);
    let pods = "/api/v1/namespaces/tight/pods";
    let privileged = |name: &str| json!([{"name": name, "image": "registry.example/c:1", "securityContext": {"privileged": true}}]);
    refused(&admin, pods, &pod("bad", &json!({"containers": privileged("c")}))).await;
    refused(&admin, pods, &pod("bad", &json!({"initContainers": privileged("i")}))).await;
    refused(&admin, pods, &pod("bad", &json!({"hostNetwork": true}))).await;
    admin.post(pods, &pod("good", &json!({}))).await.expect(201);
    let late = json!({"spec": {"ephemeralContainers": privileged("e")}});
    let path = format!("{pods}/good/ephemeralcontainers");
    admin.patch(&path, MERGE, &late).await.refused(403, "Forbidden");
    let changed = json!({"spec": {"containers": privileged("c")}});
    let answer = admin.patch(&format!("{pods}/good"), MERGE, &changed).await;
    assert!(matches!(answer.status.as_u16(), 403 | 422), "{}", answer.text());
    let plain = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "registry.example/e:1"}]}});
    admin.patch(&path, MERGE, &plain).await.expect(200);
}

/// CVE-2020-8554: an operator can forbid services that intercept the traffic of others.
#[tokio::test]
async fn external_addresses_can_be_forbidden() {
    let options = Options::default().argument("--enable-admission-plugins=DenyServiceExternalIPs");
    let server = RunningServer::start(options).await;
    let admin = server.client();
    let path = "/api/v1/namespaces/default/services";
    let service = |name: &str, addresses: Value| {
        let spec = json!({"ports": [{"port": 80}], "externalIPs": addresses});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    };
    refused(&admin, path, &service("bad", json!(["203.0.113.7"]))).await;
    admin.post(path, &service("good", json!([]))).await.expect(201);
    let late = json!({"spec": {"externalIPs": ["203.0.113.7"]}});
    admin.patch(&format!("{path}/good"), MERGE, &late).await.refused(403, "Forbidden");
}

/// CVE-2025-4563, CVE-2025-5187: a node gains nothing by pods that it invents, and cannot change its owner.
#[tokio::test]
async fn nodes_gain_nothing_by_what_they_write() {
    let server = RunningServer::start(Options::default()).await;
    let identity = server.issue("system:node:one", &["system:nodes"]);
    let node = server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}});
    let made = node.post("/api/v1/nodes", &object).await.expect(201);
    let owner = json!({
        "apiVersion": "v1", "kind": "Node", "name": "one", "uid": made["metadata"]["uid"], "controller": true,
    });
    let mirror = |spec: Value| {
        let mut mirror = pod("mirror", &spec);
        mirror["spec"]["nodeName"] = "one".into();
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        mirror["metadata"]["ownerReferences"] = json!([owner]);
        mirror
    };
    let secret = json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]});
    refused(&node, PODS, &mirror(json!({"resourceClaims": [{"name": "a", "resourceClaimName": "device"}]})))
        .await;
    refused(&node, PODS, &mirror(secret)).await;
    refused(&node, PODS, &mirror(json!({"serviceAccountName": "default"}))).await;
    refused(&node, PODS, &pod("plain", &json!({"nodeName": "one"}))).await;
    node.post(PODS, &mirror(json!({}))).await.expect(201);
    let mut reference = owner.clone();
    reference["apiVersion"] = "v1".into();
    let owned = json!({"metadata": {"ownerReferences": [reference]}});
    for (part, media_type) in [("", "application/merge-patch+json"), ("/status", MERGE)] {
        let path = format!("/api/v1/nodes/one{part}");
        let answer = node.patch(&path, media_type, &owned).await;
        if part.is_empty() {
            let refusal = answer.refused(403, "Forbidden");
            let told = refusal["message"].as_str().unwrap_or_default();
            assert!(told.contains("is not allowed to modify ownerReferences"), "{told}");
        }
        let found = server.client().get("/api/v1/nodes/one").await.expect(200);
        assert_eq!(found["metadata"]["ownerReferences"], Value::Null, "{path}");
    }
}
