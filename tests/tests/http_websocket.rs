//! Watches by websocket.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_testkit::{Connector, Credentials, Options, Protocol, RunningServer};
use keelson_tests::Place;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// The headers of a websocket handshake.
const ASKS: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: http://localhost\r\n";

/// A connection on which a watch was asked for, and the head of the answer.
async fn ask(
    server: &RunningServer,
    credentials: &Credentials,
    path: &str,
    headers: &str,
) -> (impl AsyncRead + tokio::io::AsyncWrite + Unpin, String) {
    let connector = Connector::new(&server.url(), credentials, Protocol::Http1).expect("a connector");
    let mut stream = connector.tls().await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("an answer"));
    }
    (stream, String::from_utf8(head).expect("text").to_lowercase())
}

/// The first byte of a frame and its payload.
async fn frame(stream: &mut (impl AsyncRead + Unpin)) -> (u8, Vec<u8>) {
    let (first, length) =
        (stream.read_u8().await.expect("a frame"), stream.read_u8().await.expect("a length"));
    let length = match length {
        126 => usize::from(stream.read_u16().await.expect("a length")),
        127 => usize::try_from(stream.read_u64().await.expect("a length")).expect("it fits"),
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.expect("all of it");
    (first, payload)
}

#[tokio::test]
async fn every_event_is_a_message() {
    let place = Place::new("websocket-events").await;
    place.config_map("a", "1").await;
    let path = place.path("configmaps?watch=1");
    let (mut stream, head) = ask(&place.server, place.server.credentials(), &path, ASKS).await;
    assert!(head.starts_with("http/1.1 101 switching protocols\r\n"), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{head}");
    place.config_map("b", "1").await;
    for expected in ["a", "b"] {
        let (first, payload) = frame(&mut stream).await;
        let event: Value = serde_json::from_slice(&payload).expect("an event");
        assert_eq!((first, &event["type"]), (0x81, &"ADDED".into()));
        assert_eq!(event["object"]["metadata"]["name"], expected);
    }
    // A ping is answered with its payload; the mask here is zero.
    stream.write_all(b"\x89\x82\0\0\0\0hi").await.expect("a ping");
    assert_eq!(frame(&mut stream).await, (0x8a, b"hi".to_vec()));
    stream.write_all(b"\x88\x80\0\0\0\0").await.expect("the end");
    assert_eq!(frame(&mut stream).await, (0x88, b"\x03\xe8".to_vec()));
}

#[tokio::test]
async fn a_watch_by_websocket_ends_when_its_time_is_up() {
    let place = Place::new("websocket-time").await;
    let path = place.path("configmaps?watch=1&timeoutSeconds=1");
    let (mut stream, _) = ask(&place.server, place.server.credentials(), &path, ASKS).await;
    assert_eq!(frame(&mut stream).await, (0x88, b"\x03\xe8".to_vec()));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.expect("a clean end");
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn protobuf_comes_in_binary_messages() {
    let place = Place::new("websocket-protobuf").await;
    place.config_map("a", "1").await;
    let headers = format!("{ASKS}Accept: application/vnd.kubernetes.protobuf\r\n");
    let path = place.path("configmaps?watch=1");
    let (mut stream, _) = ask(&place.server, place.server.credentials(), &path, &headers).await;
    let (first, payload) = frame(&mut stream).await;
    assert_eq!((first, &payload[..7]), (0x82, &b"\x0a\x05ADDED"[..]));
}

#[tokio::test]
async fn what_is_no_handshake_is_refused() {
    let place = Place::new("websocket-refused").await;
    let path = place.path("configmaps?watch=1");
    for (left_out, expected) in
        [("Origin", "403"), ("Sec-WebSocket-Key", "400"), ("Sec-WebSocket-Version", "400")]
    {
        let headers: String =
            ASKS.split_inclusive("\r\n").filter(|line| !line.starts_with(left_out)).collect();
        let (_, head) = ask(&place.server, place.server.credentials(), &path, &headers).await;
        assert!(head.starts_with(&format!("http/1.1 {expected}")), "without {left_out}: {head}");
    }
    let headers = format!("{ASKS}Sec-WebSocket-Protocol: a, b\r\n");
    let (_, head) = ask(&place.server, place.server.credentials(), &path, &headers).await;
    assert!(head.starts_with("http/1.1 400"), "{head}");
}

#[tokio::test]
async fn a_token_may_be_a_protocol() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens.csv");
    std::fs::write(&tokens, "secret,admin,1,system:masters\n").expect("tokens");
    let options = Options::default().argument(format!("--token-auth-file={}", tokens.display()));
    let server = RunningServer::start(options).await;
    let nobody = server.credentials().anonymous();
    let path = "/api/v1/namespaces?watch=1&timeoutSeconds=1";
    let token =
        |text: &str| format!("base64url.bearer.authorization.k8s.io.{}", URL_SAFE_NO_PAD.encode(text));
    for (protocols, expected) in [
        (format!("{}, mine", token("secret")), "http/1.1 101"),
        (format!("{}, mine", token("wrong")), "http/1.1 401"),
        (token("secret"), "http/1.1 401"),
    ] {
        let headers = format!("{ASKS}Sec-WebSocket-Protocol: {protocols}\r\n");
        let (_, head) = ask(&server, &nobody, path, &headers).await;
        assert!(head.starts_with(expected), "{protocols}: {head}");
        assert_eq!(head.contains("sec-websocket-protocol: mine\r\n"), expected.ends_with("101"), "{head}");
    }
}
