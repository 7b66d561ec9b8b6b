//! External authenticators: front proxies, bootstrap tokens, webhooks, OpenID issuers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_authn::jws::{self, SigningKey};
use keelson_object::{Map, Value as Tree};
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::Authority;
use keelson_testkit::{
    Answer, Asked, Callee, Client, Credentials, Options, Protocol, RunningServer, free_port,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn review(client: &Client, headers: &[(&str, &str)]) -> Answer {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let call = client.call("POST", REVIEW).json(&body);
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().await
}

/// The user that the server sees, as `name [groups] {extra}`; `401` if the request is not authenticated.
async fn who(client: &Client, headers: &[(&str, &str)]) -> String {
    let answer = review(client, headers).await;
    if answer.status != 201 {
        return answer.status.as_u16().to_string();
    }
    let mut user = answer.json()["status"]["userInfo"].clone();
    let groups = user["groups"].take();
    let mut extra = user["extra"].take();
    if let Some(extra) = extra.as_object_mut() {
        extra.remove("authentication.kubernetes.io/credential-id");
    }
    let extra = if extra.is_null() { json!({}) } else { extra };
    format!("{} {groups} {extra}", user["username"].as_str().unwrap_or_default())
}

async fn who_has(server: &RunningServer, token: &str) -> String {
    who(&with_token(server, token), &[]).await
}

fn with_token(server: &RunningServer, token: &str) -> Client {
    server.client_as(&server.credentials().with_token(token), Protocol::Http1)
}

/// Repeats the request until the result is `expected`, for half a minute at most.
async fn until<F: Future<Output = String>>(expected: &str, mut ask: impl FnMut() -> F) {
    let clock = Clock::real();
    let mut last = String::new();
    for _ in 0..300 {
        last = ask().await;
        if last == expected {
            return;
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
    panic!("expected {expected}, found {last}");
}

struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("written");
        path
    }
}

/// `--name=value` for a file.
fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

#[tokio::test]
async fn a_front_proxy_says_who_asks_and_nobody_else_does() {
    let files = Files::new();
    let front = Authority::new("front").expect("an authority");
    let ca = files.put("proxy-ca.pem", front.certificate());
    let options = Options::default()
        .argument(flag("requestheader-client-ca-file", &ca))
        .argument("--requestheader-allowed-names=front-proxy")
        .argument("--requestheader-username-headers=X-Remote-User,X-Who")
        .argument("--requestheader-group-headers=X-Remote-Group")
        .argument("--requestheader-extra-headers-prefix=X-Remote-Extra-");
    let server = RunningServer::start(options).await;
    let as_proxy = |authority: &Authority, name: &str| {
        let identity = authority.client(name, &[]).expect("a certificate");
        server.client_as(&server.credentials().with_identity(identity), Protocol::Http1)
    };
    let proxy = as_proxy(&front, "front-proxy");
    let jane = [("X-Remote-User", "jane"), ("X-Remote-Group", "a"), ("X-Remote-Extra-Acme.io%2fScope", "b")];
    assert_eq!(who(&proxy, &jane).await, r#"jane ["a","system:authenticated"] {"acme.io/scope":["b"]}"#);
    assert_eq!(who(&proxy, &[("x-who", "joe")]).await, r#"joe ["system:authenticated"] {}"#);
    assert_eq!(who(&proxy, &[]).await, "401", "a proxy is nobody itself");
    assert_eq!(who(&as_proxy(&front, "other"), &jane).await, "401");
    let stranger = Authority::new("front").expect("an authority");
    assert_eq!(who(&as_proxy(&stranger, "front-proxy"), &jane).await, "401");
    let admin = who(&server.client(), &jane).await;
    assert!(admin.starts_with("kubernetes-admin "), "{admin}");
    let refusal = server.anonymous().call("GET", "/api/v1/nodes").header("X-Remote-User", "system:admin");
    let message = refusal.send().await.refused(403, "Forbidden")["message"].to_string();
    assert!(message.contains("system:anonymous"), "{message}");
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let trust = server.client().get(path).await.expect(200);
    assert_eq!(trust["data"]["requestheader-allowed-names"], "[\"front-proxy\"]");

    fs::write(&ca, stranger.certificate()).expect("written");
    let new_proxy = as_proxy(&stranger, "front-proxy");
    until(r#"joe ["system:authenticated"] {}"#, || who(&new_proxy, &[("X-Remote-User", "joe")])).await;
    assert_eq!(who(&proxy, &jane).await, "401", "its authority is not believed any more");
    fs::write(&ca, "rubbish").expect("written");
    assert_eq!(who(&new_proxy, &[("X-Remote-User", "joe")]).await, r#"joe ["system:authenticated"] {}"#);
}

#[tokio::test]
async fn nodes_join_with_bootstrap_tokens() {
    let server = RunningServer::start(Options::default().argument("--enable-bootstrap-token-auth")).await;
    let token = "abcdef.0123456789abcdef";
    assert_eq!(who_has(&server, token).await, "401");
    let secret = |id: &str, more: Value| {
        let mut data = json!({
            "token-id": id,
            "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
        });
        data.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
            "metadata": {"name": format!("bootstrap-token-{id}")}, "stringData": data,
        })
    };
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let groups = json!({"auth-extra-groups": "system:bootstrappers:workers"});
    server.client().post(secrets, &secret("abcdef", groups)).await.expect(201);
    let expected = r#"system:bootstrap:abcdef ["system:bootstrappers","system:bootstrappers:workers","system:authenticated"] {}"#;
    assert_eq!(who_has(&server, token).await, expected);
    assert_eq!(who_has(&server, "abcdef.0123456789abcdee").await, "401");
    let expired = json!({"expiration": "2020-01-01T00:00:00Z"});
    server.client().post(secrets, &secret("expire", expired)).await.expect(201);
    assert_eq!(who_has(&server, "expire.0123456789abcdef").await, "401");
    let unused = json!({"usage-bootstrap-authentication": "false"});
    server.client().post(secrets, &secret("unused", unused)).await.expect(201);
    assert_eq!(who_has(&server, "unused.0123456789abcdef").await, "401");

    let without = RunningServer::start(Options::default()).await;
    without.client().post(secrets, &secret("abcdef", json!({}))).await.expect(201);
    assert_eq!(who_has(&without, token).await, "401", "nobody asked for bootstrap tokens");
}

fn token_review(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).expect("JSON");
    let status = match review["spec"]["token"].as_str() {
        Some("good") => json!({
            "authenticated": true,
            "user": {"username": "hooked", "groups": ["fish"], "extra": {"k": ["v"]}},
        }),
        Some("broken") => return (500, String::new()),
        _ => json!({"error": "unknown token"}),
    };
    (200, json!({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}).to_string())
}

#[tokio::test]
async fn a_webhook_knows_tokens() {
    for version in ["v1", "v1beta1"] {
        let callee = Callee::open(token_review).await.expect("a webhook");
        let files = Files::new();
        let config = files.put("webhook.yaml", &callee.kubeconfig("/authenticate", "our-own"));
        let options = Options::default()
            .argument(flag("authentication-token-webhook-config-file", &config))
            .argument(format!("--authentication-token-webhook-version={version}"));
        let server = RunningServer::start(options).await;
        for _ in 0..3 {
            assert_eq!(
                who_has(&server, "good").await,
                r#"hooked ["fish","system:authenticated"] {"k":["v"]}"#
            );
        }
        let asked = callee.asked();
        assert_eq!(asked.len(), 1, "answers are remembered");
        assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/authenticate"));
        assert_eq!(asked[0].authorization, "Bearer our-own");
        let review: Value = serde_json::from_str(&asked[0].body).expect("JSON");
        assert_eq!(review["apiVersion"], format!("authentication.k8s.io/{version}"));
        assert_eq!(review["spec"]["audiences"], json!(["https://kubernetes.default.svc"]));
        assert_eq!(who_has(&server, "bad").await, "401");
        assert_eq!(server.client().get("/api/v1/namespaces/default").await.status, 200);
        assert_eq!(callee.asked().len(), 2, "certificates need no webhook");
        if version == "v1" {
            assert_eq!(who_has(&server, "broken").await, "401");
            assert_eq!(callee.asked().len(), 2 + 5, "what failed is tried again");
        }
    }
}

const P256: &[u8] = include_bytes!("../../crates/authn/testdata/keys/p256.pkcs8.pem");
const RSA: &[u8] = include_bytes!("../../crates/authn/testdata/keys/rsa.pkcs8.pem");

fn key(pem: &[u8]) -> SigningKey {
    jws::signing_key(pem).expect("a key")
}

/// An OpenID issuer whose keys can be replaced; without keys it fails.
struct Issuer {
    keys: Arc<Mutex<Vec<&'static [u8]>>>,
    url: String,
}

impl Issuer {
    fn at(port: u16, keys: &[&'static [u8]]) -> Issuer {
        Issuer { keys: Arc::new(Mutex::new(keys.to_vec())), url: format!("https://127.0.0.1:{port}") }
    }

    fn answer(&self) -> impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static + use<> {
        let (keys, url) = (self.keys.clone(), self.url.clone());
        move |asked| match asked.path.as_str() {
            "/.well-known/openid-configuration" => {
                (200, json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string())
            }
            "/keys" => {
                let keys = keys.lock().expect("nobody panicked").clone();
                let keys = keys.iter().map(|pem| Tree::Map(key(pem).public_key().to_jwk()));
                let mut set = Map::new();
                set.set("keys", keys.collect::<Vec<_>>());
                let text = keelson_codec::json::to_bytes(&Tree::Map(set));
                (200, String::from_utf8(text.to_vec()).expect("JSON"))
            }
            _ => (404, String::new()),
        }
    }

    fn rotate(&self, keys: &[&'static [u8]]) {
        *self.keys.lock().expect("nobody panicked") = keys.to_vec();
    }

    /// A token of `jane`, good for an hour; `change` may spoil it.
    fn token(&self, signer: &[u8], change: impl FnOnce(&mut Map)) -> String {
        let now = i64::try_from(Clock::real().unix_seconds()).expect("this century");
        let mut claims = Map::new();
        claims.set("iss", self.url.as_str());
        claims.set("aud", "kubernetes");
        claims.set("sub", "jane");
        claims.set("groups", vec![Tree::from("devs")]);
        claims.set("exp", now + 3600);
        change(&mut claims);
        jws::sign(&key(signer), &claims).expect("signed")
    }
}

#[tokio::test]
async fn an_openid_issuer_may_come_later_and_change_its_keys() {
    let files = Files::new();
    let issuer = Issuer::at(free_port().expect("a port"), &[P256]);
    let authority = Authority::new("callee").expect("an authority");
    let ca = files.put("ca.pem", authority.certificate());
    let options = Options::default()
        .argument(format!("--oidc-issuer-url={}", issuer.url))
        .argument("--oidc-client-id=kubernetes")
        .argument(flag("oidc-ca-file", &ca))
        .argument("--oidc-username-prefix=oidc:")
        .argument("--oidc-groups-claim=groups")
        .argument("--oidc-groups-prefix=oidc:")
        .argument("--oidc-required-claim=hd=example.com")
        .argument("--oidc-signing-algs=ES256,RS256");
    let server = RunningServer::start(options).await;
    let good = |signer: &[u8]| issuer.token(signer, |claims| claims.set("hd", "example.com"));
    let jane = r#"oidc:jane ["oidc:devs","system:authenticated"] {}"#;
    let token = good(P256);
    assert_eq!(who_has(&server, &token).await, "401", "nobody is there yet");
    let port = issuer.url.rsplit(':').next().and_then(|it| it.parse().ok()).expect("a port");
    let callee = Callee::with_authority(authority, port, issuer.answer()).await.expect("an issuer");
    until(jane, || who_has(&server, &token)).await;

    issuer.rotate(&[RSA]);
    assert_eq!(who_has(&server, &good(RSA)).await, jane, "a new key is fetched");
    assert_eq!(who_has(&server, &issuer.token(P256, |claims| claims.set("hd", "example.com"))).await, "401");

    type Change = Box<dyn Fn(&mut Map)>;
    let spoiled: [(&str, Change); 5] = [
        ("no required claim", Box::new(|_| ())),
        (
            "another audience",
            Box::new(|it| {
                it.set("hd", "example.com");
                it.set("aud", "x")
            }),
        ),
        (
            "expired",
            Box::new(|it| {
                it.set("hd", "example.com");
                it.set("exp", 1)
            }),
        ),
        (
            "not yet",
            Box::new(|it| {
                it.set("hd", "example.com");
                it.set("nbf", 1_i64 << 40)
            }),
        ),
        (
            "another issuer",
            Box::new(|it| {
                it.set("hd", "example.com");
                it.set("iss", "https://x")
            }),
        ),
    ];
    for (what, change) in spoiled {
        assert_eq!(who_has(&server, &issuer.token(RSA, change)).await, "401", "{what}");
    }
    let token = good(RSA);
    let parts: Vec<&str> = token.split('.').collect();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let symmetric = URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#);
    for malformed in [
        format!("{none}.{}.", parts[1]),
        format!("{symmetric}.{}.{}", parts[1], parts[2]),
        format!("{}.{}", parts[0], parts[1]),
        format!("{token}.x"),
        format!("{}.{}.{}", parts[0], parts[1], &parts[2][2..]),
        "a.b.c".to_owned(),
    ] {
        assert_eq!(who_has(&server, &malformed).await, "401", "{malformed}");
    }
    drop(callee);
    assert_eq!(who_has(&server, &good(RSA)).await, jane, "its keys are known");
    let metrics = server.client().get("/metrics").await.text();
    assert!(
        metrics.contains("apiserver_authentication_jwt_authenticator_latency_seconds_count{"),
        "{metrics}"
    );
}

fn configuration(issuers: &[(&Issuer, &Callee)], anonymous: &str) -> String {
    let mut text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {anonymous}\njwt:\n"
    );
    for (issuer, callee) in issuers {
        let ca = callee.ca().replace('\n', "\n      ");
        text.push_str(&format!(
            "- issuer:\n    url: {}\n    audiences: [kubernetes, other]\n    audienceMatchPolicy: MatchAny\n    \
             certificateAuthority: |\n      {ca}\n  claimMappings:\n    username: {{claim: sub, prefix: ''}}\n",
            issuer.url
        ));
    }
    text
}

#[tokio::test]
async fn a_file_configures_issuers_and_anonymous_requests() {
    let open = async || {
        let issuer = Issuer::at(free_port().expect("a port"), &[P256]);
        let port = issuer.url.rsplit(':').next().and_then(|it| it.parse().ok()).expect("a port");
        let callee = Callee::open_at(port, issuer.answer()).await.expect("an issuer");
        (issuer, callee)
    };
    let ((one, one_at), (two, two_at)) = (open().await, open().await);
    let files = Files::new();
    let anonymous = "{enabled: true, conditions: [{path: /livez}, {path: /readyz}, {path: /healthz}]}";
    let path = files.put("authentication.yaml", &configuration(&[(&one, &one_at)], anonymous));
    let server =
        RunningServer::start(Options::default().argument(flag("authentication-config", &path))).await;
    for (path, status) in [("/livez", 200), ("/version", 401), ("/livez/ping", 401), ("/api", 401)] {
        assert_eq!(server.anonymous().get(path).await.status.as_u16(), status, "{path}");
    }
    let (jane_of_one, jane_of_two) = (one.token(P256, |_| ()), two.token(P256, |_| ()));
    let jane = r#"jane ["system:authenticated"] {}"#;
    until(jane, || who_has(&server, &jane_of_one)).await;
    assert_eq!(who_has(&server, &jane_of_two).await, "401");

    fs::write(&path, configuration(&[(&one, &one_at), (&two, &two_at)], anonymous)).expect("written");
    until(jane, || who_has(&server, &jane_of_two)).await;
    let reloads = |status: &'static str| {
        let client = server.client();
        async move {
            let text = client.get("/metrics").await.text();
            let name = "apiserver_authentication_config_controller_automatic_reloads_total";
            let start = format!("{name}{{status=\"{status}\"");
            let line = text.lines().find(|line| line.starts_with(&start)).unwrap_or("0");
            line.rsplit(' ').next().unwrap_or_default().to_owned()
        }
    };
    until("1", || reloads("success")).await;
    fs::write(&path, configuration(&[(&two, &two_at)], "{enabled: false}")).expect("written");
    until("1", || reloads("failure")).await;
    fs::write(&path, "rubbish").expect("written");
    until("2", || reloads("failure")).await;
    assert_eq!(
        who_has(&server, &one.token(P256, |it| it.set("jti", "1"))).await,
        jane,
        "the old one is in force"
    );
    fs::write(&path, configuration(&[(&two, &two_at)], anonymous)).expect("written");
    until("2", || reloads("success")).await;
    assert_eq!(who_has(&server, &one.token(P256, |it| it.set("jti", "2"))).await, "401");
}

/// The output of a server that does not start.
async fn refusal(arguments: &[String]) -> String {
    let options = arguments.iter().fold(Options::default(), |options, it| options.argument(it.clone()));
    match RunningServer::try_start(options).await {
        Ok(_) => panic!("started with {arguments:?}"),
        Err(error) => format!("{error:#}"),
    }
}

#[tokio::test]
async fn bad_configurations_are_all_named_at_once() {
    let files = Files::new();
    let bad = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{issuer: {url: 'http://a'}}]\n";
    let config = files.put("authentication.yaml", bad);
    let webhook = files.put("webhook.yaml", "apiVersion: v1\nkind: Config\n");
    let text = refusal(&[
        flag("authentication-config", &config),
        flag("authentication-token-webhook-config-file", &webhook),
    ])
    .await;
    for expected in [
        "invalid authentication configuration: [jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https, \
         jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required, \
         jwt[0].claimMappings.username: Required value: claim or expression is required]",
        "invalid configuration: no configuration has been provided",
    ] {
        assert!(text.contains(expected), "{expected} is not in {text}");
    }
}

#[tokio::test]
async fn tokens_of_a_megabyte_are_refused() {
    let server = RunningServer::shared().await;
    let credentials: Credentials = server.credentials().with_token(&"x".repeat(1 << 20));
    let answer = server.client_as(&credentials, Protocol::Http1).call("GET", "/api").try_send().await;
    // The header may be rejected before the token is read.
    if let Ok(answer) = answer {
        assert!([401, 431].contains(&answer.status.as_u16()), "{}", answer.status);
    }
    server.client().get("/api").await.expect(200);
}
