//! Access: certificates, anonymous clients, unknown CAs; and what every client may see.

use keelson_testkit::pki::Authority;
use keelson_testkit::{Client, Credentials, Identity, Options, Protocol, RunningServer};
use keelson_tests::raw::say;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn client(server: &RunningServer, user: &str, groups: &[&str]) -> Client {
    let credentials = server.credentials().with_identity(server.issue(user, groups));
    server.client_as(&credentials, Protocol::Http1)
}

#[tokio::test]
async fn a_user_outside_of_the_masters_is_forbidden() {
    let server = RunningServer::shared().await;
    let jane = client(&server, "jane", &["devs"]);
    for (method, path, message) in [
        (
            "GET",
            CONFIG_MAPS,
            "configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/secrets/a",
            "secrets \"a\" is forbidden: User \"jane\" cannot get resource \"secrets\" in API group \"\" in the namespace \"default\"",
        ),
        (
            "GET",
            "/api/v1/nodes",
            "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        ("GET", "/metrics", "forbidden: User \"jane\" cannot get path \"/metrics\""),
    ] {
        let status = jane.call(method, path).send().await.refused(403, "Forbidden");
        assert_eq!(status["message"], message);
    }
    let masters = client(&server, "joe", &["system:masters"]);
    masters.get(CONFIG_MAPS).await.expect(200);
}

#[tokio::test]
async fn nobody_is_anonymous() {
    let server = RunningServer::shared().await;
    let status = server.anonymous().get(CONFIG_MAPS).await.refused(403, "Forbidden");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("User \"system:anonymous\" cannot list"), "{message}");
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = server.anonymous().get(path).await;
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, "ok"), "{path}");
    }
    server.anonymous().get("/version").await.expect(200);
}

async fn check_unauthorized(server: &RunningServer, credentials: &Credentials) {
    let client = server.client_as(credentials, Protocol::Http1);
    let status = client.get(CONFIG_MAPS).await.refused(401, "Unauthorized");
    assert_eq!(status["message"], "Unauthorized");
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_unauthorized() {
    let server = RunningServer::shared().await;
    let stranger = Authority::new("somebody else").unwrap().client("eve", &["system:masters"]).unwrap();
    check_unauthorized(&server, &server.credentials().with_identity(stranger)).await;
}

#[tokio::test]
async fn a_token_that_nobody_knows_is_unauthorized() {
    let server = RunningServer::shared().await;
    check_unauthorized(&server, &server.credentials().with_token("nope")).await;
}

#[tokio::test]
async fn tokens_of_a_file_log_in() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.csv");
    std::fs::write(&tokens, "admin-token,admin,1,\"system:masters\"\nuser-token,plain-user,2,\"a,b\"\n")
        .unwrap();
    let server =
        RunningServer::start(Options::default().argument(format!("--token-auth-file={}", tokens.display())))
            .await;
    let client = |token: &str| server.client_as(&server.credentials().with_token(token), Protocol::Http2);
    client("admin-token").get(CONFIG_MAPS).await.expect(200);
    let status = client("user-token").get(CONFIG_MAPS).await.refused(403, "Forbidden");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("User \"plain-user\" cannot list"), "{message}");
    client("other").get(CONFIG_MAPS).await.refused(401, "Unauthorized");
}

/// What `openssl x509 -req` makes when it is given no extensions.
const VERSION_1: (&str, &str, &str) = (
    include_str!("../../crates/x509/testdata/version1/authority.crt"),
    include_str!("../../crates/x509/testdata/version1/client.crt"),
    include_str!("../../crates/x509/testdata/version1/client.key"),
);

#[tokio::test]
async fn a_client_certificate_of_version_1_logs_in_and_does_not_stand_in_the_way_of_a_token() {
    let (authority, certificate, key) = VERSION_1;
    let identity = Identity { certificate: certificate.to_owned(), key: key.to_owned() };
    let folder = tempfile::tempdir().unwrap();
    let (ca, tokens) = (folder.path().join("ca.crt"), folder.path().join("tokens.csv"));
    std::fs::write(&ca, authority).unwrap();
    std::fs::write(&tokens, "good,admin,1,\"system:masters\"\n").unwrap();
    let options = || Options::default().argument(format!("--token-auth-file={}", tokens.display()));
    let trusting = options().argument(format!("--client-ca-file={}", ca.display()));
    for (options, expected) in [(trusting, 200), (options(), 401)] {
        let server = RunningServer::start(options).await;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let plain = Credentials { ca: None, identity: Some(identity.clone()), token: None };
            let answer = server.client_as(&plain, protocol).get(CONFIG_MAPS).await;
            assert_eq!(answer.status, expected, "{}", answer.text());
            let with_token = Credentials { token: Some("good".to_owned()), ..plain };
            server.client_as(&with_token, protocol).get(CONFIG_MAPS).await.expect(200);
        }
    }
}

/// Some clients compare names of headers and reasons byte by byte.
#[tokio::test]
async fn headers_and_reasons_of_http1_are_spelled_as_go_spells_them() {
    let server = RunningServer::shared().await;
    let ask = async |request: &str| {
        let request = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        let said =
            say(&server, server.credentials(), format!("{request}content-length: 0\r\n\r\n").as_bytes())
                .await;
        said.split("\r\n\r\n").next().unwrap_or_default().to_owned()
    };
    let head = ask(&format!("GET {CONFIG_MAPS}")).await;
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("HTTP/1.1 200 OK"));
    let names: Vec<&str> = lines.filter_map(|it| it.split_once(": ")).map(|(name, _)| name).collect();
    for name in ["Audit-Id", "Cache-Control", "Content-Type", "Date", "Content-Length"] {
        assert!(names.contains(&name), "{name} in {head}");
    }
    let is_title = |it: &&str| it.split('-').all(|part| part.starts_with(|it: char| it.is_ascii_uppercase()));
    assert!(names.iter().all(is_title), "{head}");

    let request = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        4 << 20
    );
    let body = vec![b' '; 4 << 20];
    let said = say(&server, server.credentials(), &[request.as_bytes(), &body].concat()).await;
    assert!(said.starts_with("HTTP/1.1 413 Request Entity Too Large\r\n"), "{said:.200}");
}

#[tokio::test]
async fn who_acts_as_somebody_else_has_their_rights() {
    let server = RunningServer::shared().await;
    let call = server.client().call("GET", CONFIG_MAPS).header("impersonate-user", "jane");
    let status = call.send().await.refused(403, "Forbidden");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(message.contains("User \"jane\" cannot list"), "{message}");
}

#[tokio::test]
async fn health_shows_its_checks() {
    let server = RunningServer::shared().await;
    let client = server.client();
    for path in ["/healthz", "/livez", "/readyz"] {
        let verbose = client.get(&format!("{path}?verbose")).await;
        assert_eq!(verbose.status, 200, "{}", verbose.text());
        let text = verbose.text();
        assert!(text.starts_with("[+]ping ok\n"), "{text}");
        let check = &path[1..];
        assert!(text.ends_with(&format!("{check} check passed\n")), "{text}");
        let without = client.get(&format!("{path}?verbose&exclude=ping")).await.text();
        assert!(without.contains("[+]ping excluded: ok\n"), "{without}");
        let unknown = client.get(&format!("{path}?verbose&exclude=nope")).await.text();
        assert!(
            unknown.contains("warn: some health checks cannot be excluded: no matches for \"nope\"\n"),
            "{unknown}"
        );
        assert_eq!(client.get(&format!("{path}/ping")).await.text(), "ok");
    }
}

#[tokio::test]
async fn the_version_is_that_of_upstream() {
    let server = RunningServer::shared().await;
    let version: Value = server.client().get("/version").await.expect(200);
    assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!("36")));
    let git = version["gitVersion"].as_str().unwrap_or_default();
    assert!(git.starts_with("v1.36.4"), "{git}");
    for field in ["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"] {
        assert!(version[field].is_string(), "{field}");
    }
}

#[tokio::test]
async fn metrics_have_the_names_that_dashboards_know() {
    let server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.get(CONFIG_MAPS).await.expect(200);
    client.get("/api/v1/namespaces/default/configmaps/nope").await.refused(404, "NotFound");
    let _watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    let answer = client.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert!(
        answer.header("content-type").starts_with("text/plain; version=0.0.4"),
        "{}",
        answer.header("content-type")
    );
    let text = answer.text();
    for line in [
        "# TYPE apiserver_request_total counter",
        "# TYPE apiserver_request_duration_seconds histogram",
        "# TYPE apiserver_response_sizes histogram",
        "# TYPE apiserver_current_inflight_requests gauge",
        "# TYPE apiserver_longrunning_requests gauge",
        "# TYPE apiserver_storage_objects gauge",
        "# TYPE authentication_attempts counter",
        "# TYPE process_resident_memory_bytes gauge",
    ] {
        assert!(text.contains(line), "{line} is missing");
    }
    let listed = text.lines().find(|line| {
        line.starts_with("apiserver_request_total{")
            && line.contains("verb=\"LIST\"")
            && line.contains("resource=\"configmaps\"")
            && line.contains("code=\"200\"")
    });
    assert!(listed.is_some(), "no LIST of configmaps is counted");
    let watching = text.lines().find(|line| {
        line.starts_with("apiserver_longrunning_requests{")
            && line.contains("verb=\"WATCH\"")
            && line.ends_with(" 1")
    });
    assert!(watching.is_some(), "no WATCH is counted");
}
