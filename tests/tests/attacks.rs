//! Attacks on API servers: one test for each kind of known attack that concerns this code, with upstream's
//! CVE numbers.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::{Client, Connector, Options, Protocol, RunningServer, fixture};
use keelson_tests::raw::{codes, connect, say};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// A value that must never be readable without permission.
const CANARY: &str = "c4n4ry-in-the-mine";

fn client(server: &RunningServer, user: &str, groups: &[&str]) -> Client {
    let credentials = server.credentials().with_identity(server.issue(user, groups));
    server.client_as(&credentials, Protocol::Http1)
}

/// A server with a secret, and the user jane, who may read config maps in one namespace and the health
/// endpoints.
async fn with_secret() -> (RunningServer, Client) {
    let server = RunningServer::start(Options::default()).await;
    let admin = server.client();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": CANARY},
    });
    admin.post(SECRETS, &secret).await.expect(201);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "jane"},
        "rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create"]},
            {"nonResourceURLs": ["/healthz", "/healthz/*"], "verbs": ["get"]},
        ],
    });
    admin.post(&format!("{rbac}/clusterroles"), &role).await.expect(201);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "jane"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    });
    admin.post(&format!("{rbac}/clusterrolebindings"), &binding).await.expect(201);
    let jane = client(&server, "jane", &["devs"]);
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(10);
    while jane.get(CONFIG_MAPS).await.status != 200 {
        assert!(clock.monotonic() < deadline, "the binding has no effect");
    }
    (server, jane)
}

/// CVE-2022-3162, and all other spellings of a path.
#[tokio::test]
async fn paths_mean_what_they_say() {
    let (server, jane) = with_secret().await;
    for path in [
        "/api/v1/namespaces/default/configmaps/../secrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e/secrets",
        "/api/v1/namespaces/default/configmaps/..%2fsecrets",
        "/api/v1/namespaces/default/configmaps/..%2Fsecrets%2Fs",
        "/api/v1/namespaces/default/configmaps%2f..%2fsecrets",
        "/api/v1/namespaces/../secrets",
        "/api/v1/namespaces/%2e%2e/secrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e%2fsecrets%2fs",
        "/api/v1/namespaces/default/configmaps;/../secrets",
        "/api/v1/namespaces/default/%73ecrets",
        "/api/v1/namespaces/default/%73ecrets/s",
        "/api/v1/namespaces/default/SECRETS",
        "/api/v1/namespaces/default/Secrets/s",
        "/api/v1/namespaces/default/secrets/",
        "/api/v1/namespaces/default/secrets/s/",
        "/api/v1//namespaces/default/secrets",
        "//api/v1/namespaces/default/secrets",
        "/./api/v1/namespaces/default/secrets",
        "/API/v1/namespaces/default/secrets",
        "/api/v1/namespaces/default/secrets%00",
        "/api/v1/namespaces/default/secrets;x=y",
        "/api/v1/namespaces/default/configmaps/..;/secrets",
        "/api/v1/namespaces/default/s%e2%80%8becrets",
        "/api/v1/namespaces/default/\u{ff53}ecrets",
        "/api/v1/watch/secrets?timeoutSeconds=1",
        "/api/v1/watch/namespaces/default/secrets?timeoutSeconds=1",
        "/api/v1/secrets?fieldSelector=metadata.namespace=default",
        "/api/v1/configmaps/../secrets?x=/api/v1/configmaps",
        "/healthz/../metrics",
        "/healthz/%2e%2e/metrics",
        "/healthz%2f..%2fmetrics",
        "/healthz/..%2fmetrics",
        "/healthz/..;/metrics",
        "/healthz/../api/v1/secrets",
        "/metrics/",
        "//metrics",
        "/METRICS",
        "/%6detrics",
    ] {
        let asks = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let credentials = server.credentials().with_identity(server.issue("jane", &["devs"]));
        let said = say(&server, &credentials, asks.as_bytes()).await;
        let secret = [CANARY, "YzRuNHJ5LWluLXRoZS1taW5l", "apiserver_request_total"];
        assert!(!secret.iter().any(|it| said.contains(it)), "{path}: {said}");
        assert_ne!(codes(&said), ["200"], "{path}: {said}");
        assert!(!said.to_lowercase().contains("\r\nlocation: //"), "{path}: {said}");
    }
    jane.get(CONFIG_MAPS).await.expect(200);
    jane.get("/healthz").await;
}

/// CVE-2022-3162: a continue token does not give access to another resource.
#[tokio::test]
async fn continue_tokens_stay_in_their_resource() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let (_server, jane) = with_secret().await;
    for start in ["/../../secrets/default/", "../secrets/", "default/../../secrets/", "/"] {
        let token =
            URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": -1, "start": start}).to_string());
        let answer = jane.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).await;
        assert!(!answer.text().contains("Secret") && !answer.text().contains(CANARY), "{}", answer.text());
    }
}

/// CVE-2019-11247: cluster-scoped objects are not reachable through a namespace, and the other way round.
#[tokio::test]
async fn scopes_are_kept_apart() {
    let server = RunningServer::shared().await;
    let admin = server.client();
    for (method, path) in [
        ("GET", "/api/v1/namespaces/default/nodes"),
        ("GET", "/api/v1/namespaces/default/nodes/a"),
        ("DELETE", "/api/v1/namespaces/default/nodes/a"),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/clusterroles/cluster-admin"),
        ("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/clusterroles/cluster-admin"),
        ("GET", "/api/v1/configmaps/a"),
    ] {
        let answer = admin.call(method, path).send().await;
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text());
    }
}

/// Headers of an unknown front proxy are ignored.
#[tokio::test]
async fn headers_of_front_proxies_are_nobodys() {
    let server = RunningServer::shared().await;
    let jane = client(&server, "jane", &["devs"]);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    for (who, name) in [(&jane, "jane"), (&server.client(), "kubernetes-admin")] {
        let call = who.call("POST", path).json(&review);
        let call = call.header("x-remote-user", "root").header("X-Remote-Group", "system:masters");
        let call = call.header("x-remote-uid", "0").header("x-remote-extra-scopes", "all");
        let said = call.send().await.expect(201);
        let user = &said["status"]["userInfo"];
        assert_eq!(user["username"], name, "{said}");
        assert_eq!((&user["uid"], &user["extra"]["scopes"]), (&Value::Null, &Value::Null), "{said}");
    }
    let call = jane.call("GET", SECRETS).header("x-remote-group", "system:masters");
    call.send().await.refused(403, "Forbidden");
    let call = server.anonymous().call("GET", SECRETS).header("x-remote-user", "kubernetes-admin");
    call.header("x-remote-group", "system:masters").send().await.refused(403, "Forbidden");
}

/// Impersonation needs the permission for every requested part.
#[tokio::test]
async fn acting_as_others_needs_every_right() {
    let server = RunningServer::shared().await;
    let jane = client(&server, "jane", &["devs"]);
    for headers in [
        &[("impersonate-user", "kubernetes-admin")][..],
        &[("impersonate-user", "jane"), ("impersonate-group", "system:masters")],
        &[("impersonate-user", "jane"), ("impersonate-uid", "0")],
        &[("impersonate-user", "jane"), ("impersonate-extra-scopes", "all")],
        &[("impersonate-user", "system:serviceaccount:kube-system:default")],
        &[("Impersonate-User", "")],
    ] {
        let call =
            headers.iter().fold(jane.call("GET", SECRETS), |call, (name, value)| call.header(name, value));
        let answer = call.send().await;
        assert_eq!(answer.status, 403, "{headers:?}: {}", answer.text());
    }
    // Impersonation headers without a user are an error, not a way around the check.
    for (name, value) in [
        ("impersonate-group", "system:masters"),
        ("impersonate-uid", "0"),
        ("impersonate-extra-scopes", "all"),
    ] {
        let answer = jane.call("GET", SECRETS).header(name, value).send().await;
        assert!(answer.status.is_client_error() || answer.status == 500, "{name}: {}", answer.text());
        assert!(answer.status != 200, "{name}");
    }
}

/// CVE-2018-1002105: what follows a rejected upgrade is an ordinary request.
#[tokio::test]
async fn upgrades_that_are_refused_open_nothing() {
    let (server, _) = with_secret().await;
    let nobody = server.credentials().anonymous();
    let websocket = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let cleartext =
        "upgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
    let spdy = "upgrade: SPDY/3.1\r\nconnection: upgrade\r\n";
    for (path, upgrade) in [
        ("/api/v1/namespaces/default/pods/a/exec?command=ls", websocket),
        ("/api/v1/namespaces/default/pods/a/exec?command=ls", spdy),
        ("/api/v1/namespaces/default/secrets/s", websocket),
        ("/api/v1/namespaces/default/secrets?watch=1", websocket),
        ("/version", cleartext),
        ("/healthz", spdy),
    ] {
        let first = format!("GET {path} HTTP/1.1\r\nhost: a\r\n{upgrade}\r\n");
        let second = format!("GET {SECRETS} HTTP/1.1\r\nhost: a\r\n\r\n");
        let said = say(&server, &nobody, format!("{first}{second}").as_bytes()).await;
        assert!(!said.contains("HTTP/1.1 101"), "{path}: {said}");
        assert!(!said.contains(CANARY) && !said.contains("YzRuNHJ5"), "{path}: {said}");
        let codes = codes(&said);
        assert!(codes.len() <= 2, "{path}: {said}");
        assert!(codes.get(1).is_none_or(|it| *it == "403" || *it == "401" || *it == "400"), "{path}: {said}");
    }
}

/// Two parsers of one connection must not disagree about the end of a request.
#[tokio::test]
async fn requests_cannot_be_smuggled() {
    let (server, _) = with_secret().await;
    let jane = server.credentials().with_identity(server.issue("jane", &["devs"]));
    let inner = format!("GET {SECRETS} HTTP/1.1\r\nhost: a\r\n\r\n");
    let post = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n");
    let length = inner.len();
    for head in [
        format!("content-length: 0\r\ncontent-length: {length}\r\n"),
        format!("content-length: {length}, 0\r\n"),
        format!("content-length: +{length}\r\n"),
        format!("content-length: {length}\r\ntransfer-encoding: xchunked\r\n"),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        "transfer-encoding : chunked\r\n".to_owned(),
        "x: a\r\n folded: b\r\ncontent-length: 0\r\n".to_owned(),
        "content-length: 0x10\r\n".to_owned(),
        "content-length: -1\r\n".to_owned(),
    ] {
        let said = say(&server, &jane, format!("{post}{head}\r\n{inner}").as_bytes()).await;
        assert_eq!(codes(&said), ["400"], "{head}: {said}");
    }
    // Both headers at once: the chunks count, and nothing behind them is read.
    let both = format!("{post}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{inner}");
    let said = say(&server, &jane, both.as_bytes()).await;
    assert!(!said.contains(CANARY) && !codes(&said).contains(&"200"), "{said}");
}

/// A client tries to write into the headers of the response, or into the log.
#[tokio::test]
async fn nothing_of_a_client_gets_into_headers_unchecked() {
    let server = RunningServer::shared().await;
    let admin = server.credentials();
    for asks in [
        "GET /healthz HTTP/1.1\r\nhost: a\r\naudit-id: x\r\n set-cookie: a=b\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /healthz%0d%0aset-cookie:%20a=b HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /api/v1/namespaces/a%0d%0aset-cookie:%20a=b/configmaps HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            .to_owned(),
        format!("GET {CONFIG_MAPS}?fieldSelector=a%0d%0aset-cookie:b HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
        "GET /healthz HTTP/1.1\r\nhost: a\r\norigin: http://evil.example\r\nconnection: close\r\n\r\n".to_owned(),
        "GET http://evil.example/healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".to_owned(),
    ] {
        let said = say(&server, admin, asks.as_bytes()).await;
        let head = said.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
        assert_eq!(codes(&said).len(), 1, "{asks}: {said}");
        assert!(!head.contains("\r\nset-cookie"), "{asks}: {said}");
        assert!(!head.contains("access-control-allow-origin"), "{asks}: {said}");
        assert!(!head.contains("evil.example"), "{asks}: {said}");
    }
}

/// Methods that other servers treat in a special way.
#[tokio::test]
async fn strange_methods_do_nothing() {
    let server = RunningServer::shared().await;
    for (method, target) in [
        ("CONNECT", "127.0.0.1:22"),
        ("TRACE", CONFIG_MAPS),
        ("PROPFIND", CONFIG_MAPS),
        ("get", CONFIG_MAPS),
        ("PRI", "*"),
    ] {
        let asks =
            format!("{method} {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncookie: {CANARY}\r\n\r\n");
        let said = say(&server, server.credentials(), asks.as_bytes()).await;
        assert!(codes(&said).iter().all(|it| it.starts_with('4')), "{method}: {said}");
        assert!(!said.contains(CANARY), "{method}: {said}");
    }
}

/// CVE-2019-11250, CVE-2020-8565: credentials are not written down, however much is written down.
#[tokio::test]
async fn credentials_are_never_logged() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens.csv");
    std::fs::write(&tokens, format!("{CANARY}-good,jane,1,system:masters\n")).expect("a file");
    let options =
        Options::default().argument(format!("--token-auth-file={}", tokens.display())).argument("-v=10");
    let server = RunningServer::start(options).await;
    for token in ["good", "bad"] {
        let credentials = server.credentials().with_token(&format!("{CANARY}-{token}"));
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = server.client_as(&credentials, protocol);
            let call = client.call("GET", CONFIG_MAPS).header("cookie", &format!("a={CANARY}"));
            call.header("x-remote-user", CANARY).send().await;
        }
        let protocol = format!(
            "base64url.bearer.authorization.k8s.io.{}",
            URL_SAFE_NO_PAD.encode(format!("{CANARY}-{token}"))
        );
        let asks = format!(
            "GET {CONFIG_MAPS}?watch=1&timeoutSeconds=1 HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             sec-websocket-protocol: {protocol}, v4.channel.k8s.io\r\n\r\n"
        );
        let said = say(&server, &server.credentials().anonymous(), asks.as_bytes()).await;
        assert!(!said.contains(&protocol), "{said}");
    }
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": format!("{CANARY}-good")},
    });
    server.client().post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201);
    let log = server.log();
    assert!(!log.contains(CANARY), "{log}");
    assert!(!log.contains(&URL_SAFE_NO_PAD.encode(CANARY)[..20]), "{log}");
}

/// CVE-2020-8552: values that clients invent do not become metric labels.
#[tokio::test]
async fn the_number_of_series_does_not_grow_with_what_clients_make_up() {
    let server = RunningServer::start(Options::default()).await;
    let admin = server.client();
    let series = || async { admin.get("/metrics").await.text().lines().count() };
    let ask = async |number: usize| {
        let path = format!("/api/v1/namespaces/n{number}/configmaps/c{number}");
        admin.call("GET", &path).header("user-agent", &format!("agent/{number}")).send().await;
        admin.call("GET", &format!("/nowhere-{number}")).send().await;
        admin.call("GET", &format!("/apis/g{number}.example/v1/things")).send().await;
        admin.call(&format!("METHOD{number}"), CONFIG_MAPS).send().await;
    };
    ask(0).await;
    ask(1).await;
    let before = series().await;
    for number in 2..150 {
        ask(number).await;
    }
    let after = series().await;
    assert!(after <= before + 60, "{before} series before, {after} after");
}

/// CVE-2019-1002100: a patch of very many steps.
#[tokio::test]
async fn patches_have_a_limited_number_of_steps() {
    let server = RunningServer::shared().await;
    let admin = server.client();
    admin.post(CONFIG_MAPS, &fixture::config_map("patched")).await.expect(201);
    let at = format!("{CONFIG_MAPS}/patched");
    let steps =
        |count: usize| Value::from(vec![json!({"op": "test", "path": "/kind", "value": "ConfigMap"}); count]);
    admin.patch(&at, "application/json-patch+json", &steps(10_000)).await.expect(200);
    admin
        .patch(&at, "application/json-patch+json", &steps(10_001))
        .await
        .refused(413, "RequestEntityTooLarge");
    let double = json!({"op": "copy", "from": "/data", "path": "/data/x"});
    let answer = admin.patch(&at, "application/json-patch+json", &Value::from(vec![double; 1000])).await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
    admin.delete(&at).await.expect(200);
}

/// CVE-2021-3121: protobuf that is none.
#[tokio::test]
async fn protobuf_that_is_none_is_refused() {
    let server = RunningServer::shared().await;
    for body in [
        b"k8s\0".to_vec(),
        [b"k8s\0".to_vec(), vec![0xff; 100]].concat(),
        [b"k8s\0".to_vec(), vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(),
        [b"k8s\0".to_vec(), vec![0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]].concat(),
        [b"k8s\0".to_vec(), vec![0x0b; 1 << 20]].concat(),
        vec![0; 1000],
    ] {
        let call = server.client().call("POST", CONFIG_MAPS);
        let answer =
            call.header("content-type", "application/vnd.kubernetes.protobuf").body(body).send().await;
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}

/// CVE-2021-25737, CVE-2017-1002101: addresses and paths that lead out.
#[tokio::test]
async fn addresses_and_paths_do_not_lead_out() {
    let server = RunningServer::shared().await;
    let admin = server.client();
    for address in ["127.0.0.1", "169.254.1.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1"] {
        let family = if address.contains(':') { "IPv6" } else { "IPv4" };
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "a"},
            "addressType": family, "endpoints": [{"addresses": [address]}],
        });
        let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        admin.post(path, &slice).await.refused(422, "Invalid");
        let endpoints = json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"},
            "subsets": [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}],
        });
        admin.post("/api/v1/namespaces/default/endpoints", &endpoints).await.refused(422, "Invalid");
    }
    for path in ["../x", "/abs", "a/../../b"] {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{
                    "name": "c", "image": "registry.example/c:1",
                    "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": path}],
                }],
            },
        });
        admin.post("/api/v1/namespaces/default/pods", &pod).await.refused(422, "Invalid");
    }
}

/// CVE-2021-25740: the role `edit` does not allow writing endpoints.
#[tokio::test]
async fn editors_do_not_write_endpoints() {
    let server = RunningServer::shared().await;
    let admin = server.client();
    for role in ["edit", "admin"] {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}");
        let found = admin.get(&path).await.expect(200);
        for rule in found["rules"].as_array().into_iter().flatten() {
            let has = |field: &str, words: &[&str]| {
                let list = rule[field].as_array().into_iter().flatten();
                list.filter_map(Value::as_str).any(|it| words.contains(&it))
            };
            let writes = has("verbs", &["create", "update", "patch", "delete", "deletecollection", "*"]);
            assert!(!(writes && has("resources", &["endpoints", "endpointslices", "*"])), "{role}: {rule}");
        }
    }
}

/// Tokens, headers and request heads of any size are rejected without being kept.
#[tokio::test]
async fn huge_credentials_are_refused_with_flat_memory() {
    const ALLOWED_GROWTH: u64 = 96 << 20;
    let server = RunningServer::start(Options::default()).await;
    server.client().get("/livez").await;
    let before = server.resident();
    let nobody = server.credentials().anonymous();
    let megabyte = "x".repeat(1 << 20);
    for round in 0..8 {
        let asks = format!(
            "GET {SECRETS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {megabyte}\r\nconnection: close\r\n\r\n"
        );
        let said = say(&server, &nobody, asks.as_bytes()).await;
        assert!(codes(&said).iter().all(|it| matches!(*it, "400" | "401" | "431")), "{said:.200}");
        let many: String = (0..5000).map(|number| format!("x-{round}-{number}: y\r\n")).collect();
        let said =
            say(&server, &nobody, format!("GET {SECRETS} HTTP/1.1\r\nhost: a\r\n{many}\r\n").as_bytes())
                .await;
        assert!(codes(&said).iter().all(|it| matches!(*it, "400" | "431")), "{said:.200}");
        let said =
            say(&server, &nobody, format!("GET /{megabyte} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await;
        assert!(codes(&said).iter().all(|it| it.starts_with('4')), "{said:.200}");
        let token = nobody.with_token(&megabyte[..900_000]);
        let answer = server.client_as(&token, Protocol::Http2).call("GET", SECRETS).try_send().await;
        assert!(answer.is_err() || answer.is_ok_and(|it| matches!(it.status.as_u16(), 401 | 431)));
        let token = nobody.with_token(&megabyte[..300_000]);
        let answer = server.client_as(&token, Protocol::Http1).get(SECRETS).await;
        answer.refused(401, "Unauthorized");
    }
    let after = server.resident();
    assert!(after < before + ALLOWED_GROWTH, "{before} bytes before, {after} after");
    assert_eq!(server.client().get("/livez").await.text(), "ok");
}

/// A body that claims to be small inside.
#[tokio::test]
async fn compressed_bodies_are_not_unpacked() {
    let server = RunningServer::shared().await;
    let call = server.client().call("POST", CONFIG_MAPS).header("content-type", "application/json");
    let answer = call.header("content-encoding", "gzip").body(vec![0x1f, 0x8b, 8, 0]).send().await;
    assert!(matches!(answer.status.as_u16(), 400 | 415), "{}", answer.text());
}

/// Many slow clients do not keep out other clients.
#[tokio::test]
async fn slow_clients_delay_nobody() {
    const ALLOWED_GROWTH: u64 = 128 << 20;
    let server = RunningServer::start(Options::default()).await;
    let admin = server.client();
    admin.get("/livez").await;
    let before = server.resident();
    let nobody = server.credentials().anonymous();
    let (mut silent, mut slow) = (Vec::new(), Vec::new());
    for number in 0..200 {
        let address = ("127.0.0.1", server.port());
        let mut half = tokio::net::TcpStream::connect(address).await.expect("a connection");
        // The beginning of a TLS record, and no more.
        let _ = half.write_all(&[22, 3, 1, 2, 0][..number % 6]).await;
        silent.push(half);
        let mut stream = connect(&server, &nobody).await;
        let begin = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n");
        let _ = stream.write_all(begin.as_bytes()).await;
        slow.push(stream);
    }
    let clock = Clock::real();
    for _ in 0..5 {
        let begun = clock.monotonic();
        let answer = client(&server, "joe", &["system:masters"]).get(CONFIG_MAPS).await;
        answer.expect(200);
        assert!(clock.monotonic() - begun < Duration::from_secs(5), "slow clients are in the way");
    }
    let after = server.resident();
    assert!(after < before + ALLOWED_GROWTH, "{before} bytes before, {after} after");
}

/// Upstream waits for ever; here a body has as long as a request.
#[tokio::test]
async fn bodies_that_never_end_are_given_up() {
    let server = RunningServer::start(Options::default().argument("--request-timeout=2s")).await;
    let mut stream = connect(&server, server.credentials()).await;
    let begin = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(begin.as_bytes()).await.expect("sent");
    let mut first = [0; 13];
    let answered = timeout(Duration::from_secs(20), stream.read(&mut first)).await;
    let count = answered.expect("it is still waited for").unwrap_or(0);
    let said = String::from_utf8_lossy(&first[..count]);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 4") || said.starts_with("HTTP/1.1 5"), "{said}");
}

/// CVE-2023-44487: requests that are reset as soon as they are sent.
#[tokio::test]
async fn requests_that_are_taken_back_cost_little() {
    const ALLOWED_GROWTH: u64 = 128 << 20;
    let server = RunningServer::start(Options::default()).await;
    server.client().get("/livez").await;
    let before = server.resident();
    let connector =
        Connector::new(&server.url(), server.credentials(), Protocol::Http2).expect("a connector");
    for _ in 0..20 {
        let mut connection = connector.http2().await.expect("a connection");
        for _ in 0..500 {
            if connection.ready().await.is_err() {
                break;
            }
            let request = http::Request::get(format!("{}{CONFIG_MAPS}", server.url()))
                .body(Default::default())
                .expect("a request");
            let mut answer = Box::pin(connection.send_request(request));
            // Asked once, so that it is sent, and then dropped, which resets the stream.
            let _ = futures_util::poll!(answer.as_mut());
        }
    }
    let admin = server.client2();
    for _ in 0..5 {
        admin.get(CONFIG_MAPS).await.expect(200);
    }
    let after = server.resident();
    assert!(after < before + ALLOWED_GROWTH, "{before} bytes before, {after} after");
}

/// Profiles and debug switches need the permission for their paths, and are not served with
/// `--profiling=false`.
#[tokio::test]
async fn what_is_served_for_debugging_is_not_for_everybody() {
    let server = RunningServer::shared().await;
    let paths = ["/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/heap", "/debug/flags/v"];
    for path in paths {
        server.anonymous().get(path).await.refused(403, "Forbidden");
    }
    let server = RunningServer::start(Options::default().argument("--profiling=false")).await;
    for path in paths {
        let answer = server.client().get(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
}

/// Anonymous users see the health endpoints, the version, and nothing else.
#[tokio::test]
async fn nobody_in_particular_sees_next_to_nothing() {
    let server = RunningServer::shared().await;
    for path in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
        assert_eq!(server.anonymous().get(path).await.status, 200, "{path}");
    }
    for path in [
        "/api",
        "/apis",
        "/api/v1",
        "/openapi/v2",
        "/openapi/v3",
        "/metrics",
        "/logs",
        "/",
        SECRETS,
        "/readyz/etcd",
    ] {
        server.anonymous().get(path).await.refused(403, "Forbidden");
    }
}
