//! CertificateSigningRequests: creation, approval, denial, signing; and what the certificates allow.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::signing_request;
use keelson_testkit::{Client, Identity, Options, Protocol, RunningServer};
use keelson_tests::kubectl::{Kubectl, rows};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, Pem, X509Certificate};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";

/// A request as an object.
fn object(name: &str, signer: &str, pem: &str, usages: &[&str]) -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages},
    })
}

/// Repeats the request until the object is as wanted.
async fn until(client: &Client, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(30);
    loop {
        let found = client.get(&format!("{REQUESTS}/{name}")).await.expect(200);
        if is_so(&found) {
            return found;
        }
        assert!(clock.monotonic() < deadline, "{what} does not happen: {found:#}");
        clock.sleep(Duration::from_millis(20)).await;
    }
}

fn certificate(request: &Value) -> Option<String> {
    let field = request["status"]["certificate"].as_str()?;
    String::from_utf8(STANDARD.decode(field).ok()?).ok()
}

async fn issued(client: &Client, name: &str) -> String {
    let request = until(client, name, "a certificate", |it| certificate(it).is_some()).await;
    certificate(&request).expect("it is there")
}

async fn approve(client: &Client, name: &str) {
    let at = format!("{REQUESTS}/{name}/approval");
    let mut request = client.get(&format!("{REQUESTS}/{name}")).await.expect(200);
    request["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Test"}]);
    client.put(&at, &request).await.expect(200);
}

/// The user of a certificate.
async fn who(server: &RunningServer, identity: Identity) -> Value {
    let credentials = server.credentials().with_identity(identity);
    let client = server.client_as(&credentials, Protocol::Http1);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).await.expect(201)
}

#[tokio::test]
async fn kubectl_approves_and_a_client_logs_in() {
    let test = "kubectl_approves_and_a_client_logs_in";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let server = &kubectl.place().server;
    let client = server.client();
    let (pem, key) = signing_request("jane", "devs", &[]).unwrap();
    let manifest = object("jane", CLIENT, &pem, &["client auth", "digital signature"]).to_string();
    let file = kubectl.manifest("jane.json", &manifest);
    let said = kubectl.ok(&format!("create -f {file}")).await;
    assert_eq!(said, "certificatesigningrequest.certificates.k8s.io/jane created\n");
    let table = kubectl.ok("get csr jane").await;
    assert_eq!(rows(&table)[0][2..], [CLIENT, "kubernetes-admin", "<none>", "Pending"]);

    let said = kubectl.ok("certificate approve jane").await;
    assert_eq!(said, "certificatesigningrequest.certificates.k8s.io/jane approved\n");
    let certificate = issued(&client, "jane").await;
    let table = kubectl.ok("get csr jane").await;
    assert_eq!(rows(&table)[0].last().copied(), Some("Approved,Issued"));
    let review = who(server, Identity { certificate, key }).await;
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "jane");
    assert_eq!(user["groups"], json!(["devs", "system:authenticated"]));
    kubectl.ok("delete csr jane").await;
}

#[tokio::test]
async fn what_is_denied_or_misused_is_never_signed() {
    let test = "what_is_denied_or_misused_is_never_signed";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let client = kubectl.place().server.client();
    let (pem, _) = signing_request("joe", "devs", &[]).unwrap();
    client.post(REQUESTS, &object("denied", CLIENT, &pem, &["client auth"])).await.expect(201);
    kubectl.ok("certificate deny denied").await;
    let said = kubectl.fails("certificate approve denied").await;
    assert!(said.contains("certificate signing request \"denied\" is already Denied"), "{said}");

    let usages = ["client auth", "cert sign"];
    client.post(REQUESTS, &object("misused", CLIENT, &pem, &usages)).await.expect(201);
    approve(&client, "misused").await;
    let failed = |it: &Value| it["status"]["conditions"][1]["type"] == "Failed";
    let request = until(&client, "misused", "a failure", failed).await;
    let condition = &request["status"]["conditions"][1];
    assert_eq!(condition["reason"], "SignerValidationFailure");
    assert_eq!(condition["message"], "invalid usage for client certificate: cert sign");

    client.post(REQUESTS, &object("foreign", "example.com/signer", &pem, &["client auth"])).await.expect(201);
    approve(&client, "foreign").await;
    // What comes later has been signed by now.
    client.post(REQUESTS, &object("later", CLIENT, &pem, &["client auth"])).await.expect(201);
    approve(&client, "later").await;
    issued(&client, "later").await;
    for name in ["denied", "misused", "foreign"] {
        let request = client.get(&format!("{REQUESTS}/{name}")).await.expect(200);
        assert_eq!(certificate(&request), None, "{name}");
    }
}

#[tokio::test]
async fn kubelets_serve_with_approval_under_their_names() {
    let server = RunningServer::shared().await;
    let client = server.client();
    let names = ["node.example.com", "10.0.0.7"];
    let (pem, _) = signing_request("system:node:serving", "system:nodes", &names).unwrap();
    let usages = ["digital signature", "server auth"];
    client.post(REQUESTS, &object("serving", KUBELET_SERVING, &pem, &usages)).await.expect(201);
    approve(&client, "serving").await;
    let text = issued(&client, "serving").await;
    let (pem, _) = Pem::read(std::io::Cursor::new(text)).unwrap();
    let (_, parsed) = X509Certificate::from_der(&pem.contents).unwrap();
    let names = parsed.subject_alternative_name().unwrap().unwrap().value.general_names.len();
    assert_eq!(names, 2);
    assert_eq!(parsed.subject().to_string(), "O=system:nodes, CN=system:node:serving");
    let purposes = parsed.extended_key_usage().unwrap().unwrap().value;
    assert!(purposes.server_auth && !purposes.client_auth && !parsed.is_ca());
}

#[tokio::test]
async fn nodes_get_their_certificates_when_a_role_says_so() {
    // Requests that the plugin does not allow a node must not be signed either.
    let options = Options::default().argument("--disable-admission-plugins=NodeRestriction");
    let server = RunningServer::start(options).await;
    let client = server.client();
    let usages = ["digital signature", "client auth"];
    let bootstrapper = server.issue("system:bootstrap:abcdef", &["system:bootstrappers"]);
    let joining =
        server.client_as(&server.credentials().with_identity(bootstrapper.clone()), Protocol::Http1);
    let (pem, key) = signing_request("system:node:a", "system:nodes", &[]).unwrap();
    joining.post(REQUESTS, &object("a", KUBELET_CLIENT, &pem, &usages)).await.refused(403, "Forbidden");

    let bind = |name: &str, role: &str, group: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        })
    };
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let approve = "system:certificates.k8s.io:certificatesigningrequests";
    let ask = bind("ask", "system:node-bootstrapper", "system:bootstrappers");
    client.post(bindings, &ask).await.expect(201);
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    while joining.post(REQUESTS, &object("a", KUBELET_CLIENT, &pem, &usages)).await.status != 201 {
        assert!(clock.monotonic() < deadline, "the binding has no effect");
    }
    let request = client.get(&format!("{REQUESTS}/a")).await.expect(200);
    assert_eq!(request["spec"]["username"], "system:bootstrap:abcdef");
    assert_eq!(request["status"], json!({}));

    // The role comes later than the request, which waits.
    let nodes = bind("approve", &format!("{approve}:nodeclient"), "system:bootstrappers");
    client.post(bindings, &nodes).await.expect(201);
    let certificate = issued(&client, "a").await;
    let request = client.get(&format!("{REQUESTS}/a")).await.expect(200);
    let condition = &request["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["reason"]), (&json!("Approved"), &json!("AutoApproved")));
    assert_eq!(condition["message"], "Auto approving kubelet client certificate after SubjectAccessReview.");
    let identity = Identity { certificate, key };
    let review = who(&server, identity.clone()).await;
    assert_eq!(review["status"]["userInfo"]["username"], "system:node:a");
    assert_eq!(review["status"]["userInfo"]["groups"], json!(["system:nodes", "system:authenticated"]));

    // A node renews its own certificate, and gets no other.
    let renew = bind("renew", &format!("{approve}:selfnodeclient"), "system:nodes");
    let rule = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ask-again"},
        "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}],
    });
    client.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", &rule).await.expect(201);
    client.post(bindings, &bind("ask-again", "ask-again", "system:nodes")).await.expect(201);
    client.post(bindings, &renew).await.expect(201);
    let node = server.client_as(&server.credentials().with_identity(identity), Protocol::Http1);
    let (other, _) = signing_request("system:node:b", "system:nodes", &[]).unwrap();
    let (own, _) = signing_request("system:node:a", "system:nodes", &[]).unwrap();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    while node.post(REQUESTS, &object("other", KUBELET_CLIENT, &other, &usages)).await.status != 201 {
        assert!(clock.monotonic() < deadline, "the binding has no effect");
    }
    node.post(REQUESTS, &object("own", KUBELET_CLIENT, &own, &usages)).await.expect(201);
    issued(&client, "own").await;
    let request = client.get(&format!("{REQUESTS}/own")).await.expect(200);
    assert_eq!(
        request["status"]["conditions"][0]["message"],
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    );
    let request = client.get(&format!("{REQUESTS}/other")).await.expect(200);
    assert_eq!(request["status"], json!({}));
}
