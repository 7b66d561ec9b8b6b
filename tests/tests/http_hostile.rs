//! Hostile input: clear errors, bounded memory, nothing stored.

use keelson_testkit::{Options, RunningServer, fixture};
use keelson_tests::place::names;
use serde_json::Value;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

async fn check(server: &RunningServer, media_type: &str, body: Vec<u8>) {
    let begin: String = String::from_utf8_lossy(&body).chars().take(60).collect();
    let call = server.client().call("POST", PATH).header("content-type", media_type);
    let answer = call.body(body).send().await;
    assert!(answer.status.is_client_error(), "{begin}: {} {}", answer.status, answer.text());
    let status = answer.json();
    assert_eq!(status["kind"], "Status", "{begin}");
    assert!(answer.body.len() < 20_000, "{begin}: an answer of {} bytes", answer.body.len());
}

async fn stored(server: &RunningServer) -> Vec<String> {
    let list: Value = server.client().get(PATH).await.expect(200);
    names(&list).into_iter().filter(|name| name != "kube-root-ca.crt").collect()
}

fn with(field: &str) -> Vec<u8> {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"hostile"}},{field}}}"#)
        .into_bytes()
}

#[tokio::test]
async fn hostile_bodies_are_refused_with_flat_memory() {
    const ALLOWED_GROWTH: u64 = 64 << 20;
    let server = RunningServer::start(Options::default()).await;
    check(&server, "application/json", b"{".to_vec()).await;
    let before = server.resident();
    for round in 0..10 {
        let deep = |open: &str| open.repeat(100_000).into_bytes();
        check(&server, "application/json", deep("[")).await;
        check(&server, "application/json", deep(r#"{"a":"#)).await;
        check(&server, "application/json", with(&format!(r#""data":{}"#, "[".repeat(100_000)))).await;
        check(&server, "application/yaml", deep("[")).await;
        check(&server, "application/yaml", deep("- ")).await;
        let digits = "9".repeat(400);
        check(&server, "application/json", with(&format!(r#""immutable":{digits}"#))).await;
        check(&server, "application/json", with(r#""immutable":1e999"#)).await;
        check(&server, "application/json", with(&format!(r#""data":{{"a":{digits}}}"#))).await;
        let laughs = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                      c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                      e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
                      g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";
        check(&server, "application/yaml", laughs.as_bytes().to_vec()).await;
        if round == 0 {
            assert_eq!(stored(&server).await, [""; 0]);
        }
    }
    let after = server.resident();
    assert!(after < before + ALLOWED_GROWTH, "{before} bytes before, {after} after");
    assert_eq!(stored(&server).await, [""; 0]);
    assert_eq!(server.client().get("/livez").await.text(), "ok");
}

/// Upstream's decoder replaces what is not UTF-8; so nothing that is not UTF-8 is ever sent back.
#[tokio::test]
async fn bytes_that_are_not_text_never_come_back() {
    let server = RunningServer::start(Options::default()).await;
    let mut body = with(r#""data":{"a":"?"}"#);
    let at = body.iter().position(|byte| *byte == b'?').expect("it is there");
    body[at] = 0xff;
    let call = server.client().call("POST", PATH).header("content-type", "application/json");
    let answer = call.body(body).send().await;
    match answer.status.as_u16() {
        201 => assert_eq!(answer.json()["data"]["a"], "\u{fffd}"),
        _ => drop(answer.refused(400, "BadRequest")),
    }
}

#[tokio::test]
async fn hangups_in_the_middle_leave_the_server_well() {
    use tokio::io::AsyncWriteExt;
    let server = RunningServer::start(Options::default()).await;
    let connector = keelson_testkit::Connector::new(
        &server.url(),
        server.credentials(),
        keelson_testkit::Protocol::Http1,
    )
    .expect("the server wrote usable credentials");
    for round in 0..200_usize {
        let begin = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"a\"";
        let mut stream = connector.tls().await.expect("a connection");
        let _ = stream.write_all(&begin[..begin.len() * (round % 10) / 10]).await;
        let _ = stream.flush().await;
    }
    let answer = server.client().post(PATH, &fixture::config_map("after")).await;
    answer.expect(201);
}
