//! Service accounts from their first token to their last.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_authn::jws;
use keelson_object::Map;
use keelson_stdx::clock::Clock;
use keelson_testkit::{Answer, Client, Options, Protocol, RunningServer, fixture};
use keelson_tests::kubectl::Kubectl;
use serde_json::{Value, json};

const WHOAMI: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

async fn start() -> RunningServer {
    RunningServer::start(Options::default().with_service_accounts()).await
}

/// Answers of the token cache are ten seconds old at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until it is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    while !is_so().await {
        assert!(clock.monotonic() < deadline, "not so in time: {what}");
        clock.sleep(Duration::from_millis(50)).await;
    }
}

fn with_token(server: &RunningServer, token: &str) -> Client {
    server.client_as(&server.credentials().with_token(token), Protocol::Http2)
}

async fn whoami(client: &Client) -> Answer {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    client.post(WHOAMI, &review).await
}

async fn account(client: &Client, name: &str) -> String {
    let made = client.post(ACCOUNTS, &json!({"metadata": {"name": name}})).await.expect(201);
    made["metadata"]["uid"].as_str().expect("a uid").to_owned()
}

/// A token with this `spec`.
async fn token(client: &Client, name: &str, spec: Value) -> String {
    let answer = client.post(&format!("{ACCOUNTS}/{name}/token"), &json!({"spec": spec})).await.expect(201);
    answer["status"]["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn kubectl_makes_a_token_and_a_client_uses_it() {
    let Some(kubectl) = Kubectl::for_test("kubectl_makes_a_token_and_a_client_uses_it").await else { return };
    kubectl.ok("create serviceaccount robot").await;
    let token = kubectl.ok("create token robot --duration=20m").await;
    let place = kubectl.place();
    let client = with_token(&place.server, token.trim());
    let user = whoami(&client).await.expect(201)["status"]["userInfo"].clone();
    let name = format!("system:serviceaccount:{}:robot", place.namespace);
    assert_eq!(user["username"], name);
    let groups = json!([
        "system:serviceaccounts",
        format!("system:serviceaccounts:{}", place.namespace),
        "system:authenticated"
    ]);
    assert_eq!(user["groups"], groups);
    let id = user["extra"]["authentication.kubernetes.io/credential-id"][0].as_str().unwrap_or_default();
    assert!(id.starts_with("JTI="), "{user}");
    let refused = client.get(&place.path("configmaps")).await.refused(403, "Forbidden");
    assert!(refused["message"].as_str().unwrap_or_default().contains(&name), "{refused}");
    let said = kubectl.fails("create token robot --duration=5m").await;
    assert!(said.contains("may not specify a duration less than 10 minutes"), "{said}");
    let said = kubectl.fails("create token nobody").await;
    assert!(said.contains("serviceaccounts \"nobody\" not found"), "{said}");
    kubectl.ok("create secret generic s").await;
    let bound = kubectl.ok("create token robot --bound-object-kind=Secret --bound-object-name=s").await;
    whoami(&with_token(&place.server, bound.trim())).await.expect(201);
}

#[tokio::test]
async fn a_token_ends_with_its_pod_and_with_its_account() {
    let server = start().await;
    let admin = server.client();
    account(&admin, "robot").await;
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]},
    });
    admin.post("/api/v1/namespaces/default/pods", &pod).await.expect(201);
    let reference = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}});
    let bound = with_token(&server, &token(&admin, "robot", reference).await);
    let free = with_token(&server, &token(&admin, "robot", json!({})).await);
    let user = whoami(&bound).await.expect(201)["status"]["userInfo"].clone();
    assert_eq!(user["extra"]["authentication.kubernetes.io/pod-name"], json!(["p"]));
    whoami(&free).await.expect(201);

    let now = json!({"gracePeriodSeconds": 0});
    admin.delete_with("/api/v1/namespaces/default/pods/p", &now).await.expect(200);
    until("the token of the pod is refused", async || whoami(&bound).await.status == 401).await;
    whoami(&free).await.expect(201);

    admin.delete(&format!("{ACCOUNTS}/robot")).await.expect(200);
    account(&admin, "robot").await;
    until("the token of the old account is refused", async || whoami(&free).await.status == 401).await;
    let new = with_token(&server, &token(&admin, "robot", json!({})).await);
    whoami(&new).await.expect(201);
}

#[tokio::test]
async fn tokens_for_others_are_no_good_here() {
    let server = start().await;
    let admin = server.client();
    account(&admin, "robot").await;
    let vault = token(&admin, "robot", json!({"audiences": ["vault"]})).await;
    whoami(&with_token(&server, &vault)).await.refused(401, "Unauthorized");
    let review = async |spec: Value| {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
        admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201)["status"].clone()
    };
    let told = review(json!({"token": vault, "audiences": ["vault", "other"]})).await;
    assert_eq!((&told["authenticated"], &told["audiences"]), (&json!(true), &json!(["vault"])));
    let told = review(json!({"token": vault})).await;
    assert!(told["authenticated"].is_null() || told["authenticated"] == false, "{told}");
    assert!(told["error"].as_str().unwrap_or_default().contains("token audiences [\"vault\"]"), "{told}");
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let server = start().await;
    let admin = server.client();
    account(&admin, "robot").await;
    let good = token(&admin, "robot", json!({})).await;
    let parts: Vec<&str> = good.split('.').collect();
    let none = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let long = format!("{}.{}.{}", parts[0], "A".repeat(200_000), parts[2]);
    for forged in [
        format!("{none}.{}.", parts[1]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], "A".repeat(86)),
        good[..good.len() - 2].to_owned(),
        "..".to_owned(),
    ] {
        whoami(&with_token(&server, &forged)).await.refused(401, "Unauthorized");
    }
    // Too long for a header, or for us.
    let answer = with_token(&server, &long).call("GET", "/api").try_send().await;
    assert!(answer.map_or(true, |it| it.status.is_client_error()));
    let review = json!({"spec": {"token": "a.".repeat(500_000)}});
    let told = admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201);
    assert!(!told["status"]["authenticated"].as_bool().unwrap_or_default());
    whoami(&with_token(&server, &good)).await.expect(201);
}

#[tokio::test]
async fn the_token_in_a_secret_lives_as_long_as_the_secret() {
    let server = start().await;
    let admin = server.client();
    account(&admin, "robot").await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "s", "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token",
    });
    admin.post(secrets, &secret).await.expect(201);
    let path = format!("{secrets}/s");
    let mut data = Value::Null;
    until("the secret has a token", async || {
        data = admin.get(&path).await.expect(200)["data"].clone();
        data["token"].is_string()
    })
    .await;
    let text = |key: &str| {
        let bytes = STANDARD.decode(data[key].as_str().expect("an entry")).expect("base64");
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!(text("namespace"), "default");
    assert!(text("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"));
    let client = with_token(&server, &text("token"));
    let user = whoami(&client).await.expect(201)["status"]["userInfo"].clone();
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    until("its use is noted", async || {
        let labels = admin.get(&path).await.expect(200)["metadata"]["labels"].clone();
        labels["kubernetes.io/legacy-token-last-used"].as_str().is_some_and(|it| it.len() == 10)
    })
    .await;
    let tracked =
        "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    assert!(admin.get(tracked).await.expect(200)["data"]["since"].is_string());
    let mark = json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}}});
    admin.patch(&path, "application/merge-patch+json", &mark).await.expect(200);
    until("a marked token is refused", async || whoami(&client).await.status == 401).await;
    let unmark = json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": null}}});
    admin.patch(&path, "application/merge-patch+json", &unmark).await.expect(200);
    until("it is good again", async || whoami(&client).await.status == 201).await;
    admin.delete(&path).await.expect(200);
    until("a deleted token is refused", async || whoami(&client).await.status == 401).await;
}

#[tokio::test]
async fn every_namespace_has_what_its_pods_need() {
    let server = start().await;
    let admin = server.client();
    admin.post("/api/v1/namespaces", &fixture::namespace("fresh")).await.expect(201);
    // The client does not wait for the service account: admission of the pod does.
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let made = admin.post("/api/v1/namespaces/fresh/pods", &pod).await.expect(201);
    assert_eq!(made["spec"]["serviceAccountName"], "default");
    let mount = &made["spec"]["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(mount["name"], made["spec"]["volumes"][0]["name"]);
    let map = "/api/v1/namespaces/fresh/configmaps/kube-root-ca.crt";
    until("the authority is published", async || admin.get(map).await.status == 200).await;
    let published = admin.get(map).await.expect(200)["data"]["ca.crt"].clone();
    assert_eq!(published.as_str(), server.credentials().ca.as_deref());
    admin.patch(map, "application/merge-patch+json", &json!({"data": {"ca.crt": "x"}})).await.expect(200);
    until("it is put right", async || admin.get(map).await.expect(200)["data"]["ca.crt"] == published).await;
    admin.delete("/api/v1/namespaces/fresh/serviceaccounts/default").await.expect(200);
    let path = "/api/v1/namespaces/fresh/serviceaccounts/default";
    until("the account is made again", async || admin.get(path).await.status == 200).await;
    admin.delete("/api/v1/namespaces/fresh").await.expect(200);
    until("the namespace goes", async || admin.get("/api/v1/namespaces/fresh").await.status == 404).await;
}

#[tokio::test]
async fn keys_are_rotated_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (keelson_testkit::pki::key_pair().unwrap(), keelson_testkit::pki::key_pair().unwrap());
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("sa.key"), &old.0).unwrap();
    std::fs::write(file("sa.pub"), &old.1).unwrap();
    let server = RunningServer::start(
        Options::default()
            .with_service_accounts()
            .argument(format!("--service-account-signing-key-file={}", file("sa.key").display()))
            .argument(format!("--service-account-key-file={}", file("sa.pub").display()))
            .argument("--service-account-issuer=https://example.com")
            .argument("--service-account-issuer=https://kubernetes.default.svc"),
    )
    .await;
    let admin = server.client();
    let uid = account(&admin, "robot").await;
    let by_old = with_token(&server, &token(&admin, "robot", json!({})).await);
    whoami(&by_old).await.expect(201);
    let by_new = with_token(&server, &foreign(&new.0, &uid));
    whoami(&by_new).await.refused(401, "Unauthorized");
    std::fs::write(file("sa.pub"), [new.1.as_str(), old.1.as_str()].concat()).unwrap();
    until("tokens of the new key are good", async || whoami(&by_new).await.status == 201).await;
    whoami(&by_old).await.expect(201);
    let keys = admin.get("/openid/v1/jwks").await.expect(200)["keys"].as_array().map_or(0, Vec::len);
    assert_eq!(keys, 2);
    std::fs::write(file("sa.pub"), "rubbish").unwrap();
    until("the failure is told", async || server.log().contains("stay as they were")).await;
    whoami(&by_new).await.expect(201);
    std::fs::write(file("sa.pub"), &new.1).unwrap();
    until("tokens of the old key are refused", async || whoami(&by_old).await.status == 401).await;
}

/// A token of another server with the same issuers and another key.
fn foreign(key: &str, uid: &str) -> String {
    let key = jws::signing_key(key.as_bytes()).expect("a key");
    let mut account = Map::new();
    account.push_new("name", "robot");
    account.push_new("uid", uid);
    let mut bound = Map::new();
    bound.push_new("namespace", "default");
    bound.push_new("serviceaccount", account);
    let mut claims = Map::new();
    claims.push_new("iss", "https://kubernetes.default.svc");
    claims.push_new("aud", "https://example.com");
    claims.push_new("kubernetes.io", bound);
    jws::sign(&key, &claims).expect("a token")
}

#[tokio::test]
async fn wrong_settings_are_refused_at_the_start() {
    let check = async |arguments: &[&str], expected: &str| {
        let options = arguments.iter().fold(Options::default(), |it, argument| it.argument(*argument));
        let error = format!("{:#}", RunningServer::try_start(options).await.err().expect("refused"));
        assert!(error.contains(expected), "{error}");
    };
    check(
        &["--service-account-max-token-expiration=59m"],
        "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
    )
    .await;
    check(&["--service-account-signing-endpoint=@.x"], "must be a valid abstract socket name").await;
    check(&["--service-account-jwks-uri=http://x"], "service-account-jwks-uri requires https scheme").await;
    check(&["--service-account-issuer=a", "--service-account-issuer=a"], "\"a\" is already specified").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "rubbish").unwrap();
    let argument = format!("--service-account-signing-key-file={}", file.display());
    check(&[&argument], "data does not contain").await;
    check(&["--service-account-key-file=/does/not/exist"], "/does/not/exist").await;
}

#[tokio::test]
async fn no_token_lives_longer_than_the_operator_wants() {
    let options = Options::default().with_service_accounts();
    let server = RunningServer::start(options.argument("--service-account-max-token-expiration=2h")).await;
    let admin = server.client();
    account(&admin, "robot").await;
    let asked = json!({"spec": {"expirationSeconds": 86400}});
    let answer = admin.post(&format!("{ACCOUNTS}/robot/token"), &asked).await;
    assert_eq!(answer.expect(201)["spec"]["expirationSeconds"], 7200);
    assert!(
        answer.header("warning").contains("requested expiration of 86400 seconds shortened to 7200 seconds"),
        "{}",
        answer.header("warning")
    );
}
