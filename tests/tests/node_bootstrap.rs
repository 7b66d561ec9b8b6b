//! Node bootstrap: a token, a request, a certificate, and what the certificate allows.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::signing_request;
use keelson_testkit::{Client, Identity, Options, Protocol, RunningServer};
use serde_json::{Value, json};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const NODES: &str = "/api/v1/nodes";

/// Repeats the request until the response is as wanted.
async fn until(what: &str, client: &Client, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(30);
    loop {
        let answer = client.get(path).await;
        if answer.status == 200 && is_so(&answer.json()) {
            return answer.json();
        }
        assert!(clock.monotonic() < deadline, "{what} does not happen: {}", answer.text());
        clock.sleep(Duration::from_millis(20)).await;
    }
}

/// Does what kubeadm does to admit nodes: a token, and three bindings.
async fn open_the_door(admin: &Client, expires: &str) {
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "expiration": expires,
            "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:test",
        },
    });
    admin.post("/api/v1/namespaces/kube-system/secrets", &token).await.expect(201);
    let approve = "system:certificates.k8s.io:certificatesigningrequests";
    for (name, role, group) in [
        ("join", "system:node-bootstrapper".to_owned(), "system:bootstrappers:test"),
        ("approve", format!("{approve}:nodeclient"), "system:bootstrappers:test"),
        ("renew", format!("{approve}:selfnodeclient"), "system:nodes"),
    ] {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        });
        admin.post(BINDINGS, &binding).await.expect(201);
    }
}

fn request(name: &str, pem: &str) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {
            "request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"], "expirationSeconds": 3600,
        },
    })
}

/// A certificate for a node, asked for by `client`.
async fn certificate(client: &Client, name: &str, node: &str) -> Identity {
    let (pem, key) = signing_request(&format!("system:node:{node}"), "system:nodes", &[])
        .expect("a test knows what works");
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    loop {
        // Bindings and tokens are known a moment after they were made.
        let answer = client.post(REQUESTS, &request(name, &pem)).await;
        if answer.status == 201 {
            break;
        }
        assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.text());
        assert!(clock.monotonic() < deadline, "{}", answer.text());
        clock.sleep(Duration::from_millis(50)).await;
    }
    let path = format!("{REQUESTS}/{name}");
    let issued = until("a certificate", client, &path, |it| it["status"]["certificate"].is_string()).await;
    let pem = STANDARD
        .decode(issued["status"]["certificate"].as_str().unwrap_or_default())
        .expect("a test knows what works");
    Identity { certificate: String::from_utf8(pem).expect("a test knows what works"), key }
}

#[tokio::test]
async fn a_node_joins_with_a_token_and_is_limited_to_itself() {
    let options = Options::default()
        .argument("--enable-bootstrap-token-auth=true")
        .argument("--enable-admission-plugins=NodeRestriction");
    let server = RunningServer::start(options).await;
    let admin = server.client();
    open_the_door(&admin, "2200-01-01T00:00:00Z").await;
    let as_token = |token: &str| server.client_as(&server.credentials().with_token(token), Protocol::Http2);
    as_token("abcdef.fedcba9876543210").get(NODES).await.refused(401, "Unauthorized");
    as_token("abcdeg.0123456789abcdef").get(NODES).await.refused(401, "Unauthorized");

    let joining = as_token("abcdef.0123456789abcdef");
    let identity = certificate(&joining, "join-a", "a").await;
    let found = admin.get(&format!("{REQUESTS}/join-a")).await.expect(200);
    assert_eq!(found["spec"]["username"], "system:bootstrap:abcdef");
    assert_eq!(
        found["spec"]["groups"],
        json!(["system:bootstrappers", "system:bootstrappers:test", "system:authenticated"])
    );
    // A bootstrap token allows joining and nothing else.
    joining.get("/api/v1/secrets").await.refused(403, "Forbidden");
    joining
        .post(NODES, &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}))
        .await
        .refused(403, "Forbidden");

    let node = server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    node.post(NODES, &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}))
        .await
        .expect(201);
    admin
        .post(NODES, &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}))
        .await
        .expect(201);
    let label = json!({"metadata": {"labels": {"x": "y"}}});
    let merge = "application/merge-patch+json";
    node.patch(&format!("{NODES}/a"), merge, &label).await.expect(200);
    node.patch(&format!("{NODES}/b"), merge, &label).await.refused(403, "Forbidden");
    node.get("/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef").await.refused(403, "Forbidden");
    node.get("/api/v1/secrets").await.refused(403, "Forbidden");
    node.get("/api/v1/pods?fieldSelector=spec.nodeName=a").await.expect(200);

    // It renews its own certificate, and gets none for another node.
    certificate(&node, "renew-a", "a").await;
    let renewed = admin.get(&format!("{REQUESTS}/renew-a")).await.expect(200);
    assert_eq!(
        renewed["status"]["conditions"][0]["message"],
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    );
    let (pem, _) = signing_request("system:node:b", "system:nodes", &[]).unwrap();
    node.post(REQUESTS, &request("steal-b", &pem)).await;
    certificate(&node, "renew-a-again", "a").await;
    let stolen = admin.get(&format!("{REQUESTS}/steal-b")).await;
    assert!(stolen.status == 404 || stolen.json()["status"]["certificate"].is_null(), "{}", stolen.text());

    // Without the token the door is closed.
    admin.delete("/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef").await.expect(200);
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(30);
    while joining.get(REQUESTS).await.status != 401 {
        assert!(clock.monotonic() < deadline, "the token is still good");
        clock.sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn an_expired_token_lets_nobody_in() {
    let options = Options::default().argument("--enable-bootstrap-token-auth=true");
    let server = RunningServer::start(options).await;
    open_the_door(&server.client(), "2020-01-01T00:00:00Z").await;
    let credentials = server.credentials().with_token("abcdef.0123456789abcdef");
    let joining = server.client_as(&credentials, Protocol::Http1);
    joining.get(REQUESTS).await.refused(401, "Unauthorized");
}
