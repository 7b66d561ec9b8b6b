//! Request smuggling: requests that two parsers could read in two ways, sent byte by byte to us and to
//! upstream's server. Each is followed by another request, which must get one response or none.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use keelson_testkit::{Connector, Options, Protocol, RunningServer};
use keelson_tests::raw::{codes, connect, exchange};
use keelson_tests::upstream::Upstream;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BODY: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"smuggled-"}}"#;

/// All requests end with one that closes the connection; only a server that waits for more data takes so
/// long.
const PATIENCE: Duration = Duration::from_secs(5);
const AT_ONCE: usize = 8;
/// A connection that is silent for this long after a response stays open.
const SILENCE: Duration = Duration::from_millis(700);

/// The bytes that are sent, and the status codes of the responses.
struct Case {
    said: Vec<u8>,
    upstream: &'static str,
    ours: &'static str,
}

/// The request behind.
fn behind() -> String {
    format!("GET {MAPS} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
}

fn case(said: impl Into<Vec<u8>>, upstream: &'static str, ours: &'static str) -> Case {
    let said = [said.into(), behind().into_bytes()].concat();
    Case { said, upstream, ours: if ours.is_empty() { upstream } else { ours } }
}

/// A POST with these headers and this body.
fn post(headers: &str, body: &str, upstream: &'static str, ours: &'static str) -> Case {
    let head = format!("POST {MAPS} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n");
    case(format!("{head}{headers}\r\n\r\n{body}"), upstream, ours)
}

fn chunked(body: &str, upstream: &'static str, ours: &'static str) -> Case {
    post("transfer-encoding: chunked", body, upstream, ours)
}

/// A GET with these headers, which may be wrong.
fn get(headers: &[u8], upstream: &'static str, ours: &'static str) -> Case {
    let head = format!("GET {MAPS} HTTP/1.1\r\nhost: a\r\n");
    case([head.as_bytes(), headers, b"\r\n\r\n"].concat(), upstream, ours)
}

/// Any first line.
fn line(line: &str, upstream: &'static str, ours: &'static str) -> Case {
    case(format!("{line}\r\nhost: a\r\n\r\n"), upstream, ours)
}

/// Headers that define the length of a body.
fn lengths() -> Vec<Case> {
    let size = BODY.len();
    let chunks = format!("{size:x}\r\n{BODY}\r\n0\r\n\r\n");
    let length = |text: String| post(&format!("content-length: {text}"), BODY, "400", "");
    let encoded = |text: &str| post(&format!("transfer-encoding: {text}"), &chunks, "501", "");
    vec![
        // In both ways at once: the chunks count, and we end the connection behind them.
        post("content-length: 5\r\ntransfer-encoding: chunked", &chunks, "201 200", "201"),
        post(&format!("transfer-encoding: chunked\r\ncontent-length: {size}"), &chunks, "201 200", "201"),
        post(&format!("content-length: {size}\r\ncontent-length: {size}"), BODY, "201 200", ""),
        post(&format!("content-length: 0{size}"), BODY, "201 200", ""),
        post(&format!("content-length: {size}\r\ncontent-length: 0"), BODY, "400", ""),
        length(format!("{size}, {size}")),
        length(String::new()),
        length(format!("+{size}")),
        length(format!("-{size}")),
        length(format!("0x{size:x}")),
        length(format!("{size} 0")),
        length("99999999999999999999".to_owned()),
        post("transfer-encoding: Chunked", &chunks, "201 200", ""),
        post("transfer-encoding:\tchunked", &chunks, "201 200", ""),
        post("transfer-encoding: chunked\r\ntransfer-encoding: chunked", &chunks, "501", ""),
        encoded("chunked, chunked"),
        encoded("gzip, chunked"),
        // What hyper finds first is the client's fault.
        post("transfer-encoding: identity", &chunks, "501", "400"),
        post("transfer-encoding: chunked, identity", &chunks, "501", "400"),
        post("transfer-encoding: xchunked", &chunks, "501", "400"),
        post("transfer-encoding: ", &chunks, "501", "400"),
        post("transfer-encoding: \u{b}chunked", &chunks, "400", ""),
        post("transfer-encoding : chunked", &chunks, "400", ""),
        post(&format!("expect: 100-continue\r\ncontent-length: {size}"), BODY, "100 201 200", ""),
        post(&format!("expect: 200-ok\r\ncontent-length: {size}"), BODY, "417", ""),
    ]
}

/// Bodies in chunks.
fn chunks() -> Vec<Case> {
    let size = BODY.len();
    let sized = |text: String| chunked(&format!("{text}\r\n{BODY}\r\n0\r\n\r\n"), "500", "");
    let ended = |text: &str| format!("{size:x}\r\n{BODY}{text}");
    vec![
        chunked(&format!("{size:x};a=b\r\n{BODY}\r\n0\r\n\r\n"), "201 200", ""),
        chunked(&format!("{size:x} \r\n{BODY}\r\n0\r\n\r\n"), "201 200", ""),
        chunked(&ended("\r\n0\r\ncontent-length: 3\r\n\r\n"), "201 200", ""),
        sized(format!("0x{size:x}")),
        sized(format!("-{size:x}")),
        sized(format!("+{size:x}")),
        sized(format!(" {size:x}")),
        sized("fffffffffffffffff".to_owned()),
        sized(String::new()),
        sized(format!("{size:x};a\nxx")),
        sized(format!("{size:x};a\rxx")),
        chunked(&format!("{size:x}\n{BODY}\r\n0\r\n\r\n"), "500", ""),
        chunked(&ended("XX0\r\n\r\n"), "500", ""),
        chunked(&ended("\n0\r\n\r\n"), "500", ""),
        chunked(&ended("\r\n0\r\nfoo bar\r\n\r\n"), "500", ""),
        // More than there is: waited for.
        chunked(&format!("ffffffffffffffff\r\n{BODY}\r\n0\r\n\r\n"), "", ""),
    ]
}

/// Names and values.
fn headers() -> Vec<Case> {
    let host = |text: &str, upstream| case(format!("GET {MAPS} HTTP/1.1\r\n{text}\r\n"), upstream, "");
    vec![
        get(b"x : y", "400", ""),
        get(b"x y: z", "400", ""),
        get(b"xyz", "400", ""),
        get(b": y", "400", ""),
        get(b"x: a\rb", "400", ""),
        get(b"x: a\ry: b", "400", ""),
        get(b"x: a\0b", "400", ""),
        get(b"x\xff: a", "400", ""),
        get(b"x: a\xffb", "200 200", ""),
        // Lines that go on in the next have long been forbidden.
        get(b"x: a\r\n b", "200 200", "400"),
        get(b"x: a\r\n\tb", "200 200", "400"),
        get(b"host: b", "400", ""),
        host("host: a b\r\n", "400"),
        host("host: a/b\r\n", "400"),
        host("host: a@b\r\n", "400"),
        host("", "400"),
        host(" host: a\r\n", "400"),
        case(format!("GET {MAPS} HTTP/1.1\nhost: a\n\n"), "200 200", ""),
    ]
}

/// First lines.
fn lines() -> Vec<Case> {
    vec![
        // Only a proxy uses the host of a URL.
        line(&format!("GET https://evil.example{MAPS} HTTP/1.1"), "200 200", ""),
        line("GET http://evil.example/version HTTP/1.1", "200 200", ""),
        line("GET evil.example:443 HTTP/1.1", "404 200", "400"),
        line("GET version HTTP/1.1", "400", ""),
        line("GET * HTTP/1.1", "404 200", ""),
        line("GET  HTTP/1.1", "400", ""),
        line("GET\t/version\tHTTP/1.1", "400", ""),
        line("GET  /version HTTP/1.1", "400", ""),
        line("GET /ver sion HTTP/1.1", "400", ""),
        line("GET /version HTTP/1.2", "200 200", "400"),
        line("GET /version HTTP/2.0", "505", "400"),
        line("GET /version http/1.1", "400", ""),
        line("GET /version", "400", ""),
        line(&format!("get {MAPS} HTTP/1.1"), "405 200", ""),
        line(&format!("G@T {MAPS} HTTP/1.1"), "400", ""),
        line("GET //api/v1 HTTP/1.1", "404 200", ""),
        line("GET /api//v1 HTTP/1.1", "404 200", ""),
        line("GET //evil.example/%2e%2e HTTP/1.1", "404 200", ""),
        line("GET /api/v1/../../version HTTP/1.1", "404 200", ""),
        line("GET /api/v1/%2e%2e/%2e%2e/version HTTP/1.1", "404 200", ""),
        line("GET /api%2fv1 HTTP/1.1", "200 200", ""),
        line("GET /api/v1/namespaces/default%2fconfigmaps HTTP/1.1", "200 200", ""),
        line(&format!("GET {MAPS}/a%2fb HTTP/1.1"), "404 200", ""),
        line(&format!("GET {MAPS}/a%00b HTTP/1.1"), "404 200", ""),
        line("GET /API/V1 HTTP/1.1", "404 200", ""),
        line("GET /version\\..\\x HTTP/1.1", "404 200", ""),
        line("GET /version\u{1} HTTP/1.1", "400", ""),
        line("GET /version?\u{1} HTTP/1.1", "400", ""),
    ]
}

/// Requests that are answered before their body is read. A short rest is skipped, a long one ends the connection.
fn unwanted() -> Vec<Case> {
    let nowhere = |headers: &str, body: &str, codes| {
        case(format!("POST /nowhere HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n{body}"), codes, "")
    };
    let sized = |size: usize, codes| nowhere(&format!("content-length: {size}"), &"x".repeat(size), codes);
    let chunked = |size: usize, codes| {
        let body = format!("{size:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(size));
        nowhere("transfer-encoding: chunked", &body, codes)
    };
    let too_large = "x".repeat(4_000_000);
    vec![
        sized(10, "404 200"),
        sized(262_143, "404 200"),
        sized(262_144, "404"),
        sized(1_000_000, "404"),
        chunked(10, "404 200"),
        chunked(200_000, "404 200"),
        chunked(300_000, "404"),
        nowhere("content-length: 1000000000", "", "404"),
        // The client sent the body without a `100 Continue`.
        nowhere("expect: 100-continue\r\ncontent-length: 10", "0123456789", "404"),
        post(&format!("content-length: {}", too_large.len()), &too_large, "413", ""),
    ]
}

fn cases() -> Vec<Case> {
    [lengths(), chunks(), headers(), lines(), unwanted()].into_iter().flatten().collect()
}

/// Sends every case on its own connection, a few at once.
async fn answers(connector: &Connector, cases: &[Case]) -> Vec<String> {
    let say = |case: &Case| {
        let (connector, said) = (connector.clone(), case.said.clone());
        async move {
            let mut stream = connector.tls().await.expect("a connection");
            codes(&exchange(&mut stream, &said, PATIENCE).await).join(" ")
        }
    };
    stream::iter(cases.iter().map(say).collect::<Vec<_>>()).buffered(AT_ONCE).collect().await
}

fn compare(cases: &[Case], seen: &[String], expected: impl Fn(&Case) -> &'static str) {
    let mut wrong = Vec::new();
    for (case, seen) in cases.iter().zip(seen) {
        if seen != expected(case) {
            let start = &case.said[..case.said.len().min(300)];
            let said = String::from_utf8_lossy(start).escape_debug().to_string();
            wrong.push(format!("{seen:?} and not {:?}: {said}", expected(case)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn every_request_has_one_meaning() {
    let server = RunningServer::start(Options::default()).await;
    let connector =
        Connector::new(&server.url(), server.credentials(), Protocol::Http1).expect("a connector");
    let cases = cases();
    compare(&cases, &answers(&connector, &cases).await, |it| it.ours);
}

/// A client that is rejected before its body has arrived gets the status, and whether the connection stays
/// open.
#[tokio::test]
async fn refusals_are_read_whatever_is_still_being_sent() {
    let server = RunningServer::start(Options::default()).await;
    let stranger = server.credentials().anonymous().with_token("unknown");
    let head = |size: usize| {
        let token = "authorization: Bearer unknown\r\ncontent-type: application/json";
        format!("POST {MAPS} HTTP/1.1\r\nhost: a\r\n{token}\r\ncontent-length: {size}\r\n\r\n")
    };
    for (sent, size, is_closed) in [(1000, 1000, false), (1 << 20, 1 << 20, true), (0, 1000, true)] {
        let mut stream = connect(&server, &server.credentials().anonymous()).await;
        let said = head(size) + &"x".repeat(sent);
        // What never comes is waited for, but not for ever.
        let heard =
            exchange(&mut stream, said.as_bytes(), if is_closed { 4 * PATIENCE } else { SILENCE }).await;
        assert_eq!(codes(&heard), ["401"], "{sent} of {size}");
        let says_so = heard.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
        assert_eq!(says_so, is_closed, "{sent} of {size}: {heard}");
    }
    for size in [1000, 100_000, 1 << 20, 8 << 20] {
        for _ in 0..5 {
            let client = server.client_as(&stranger, Protocol::Http2);
            let call = client.call("POST", MAPS).header("content-type", "application/json");
            assert_eq!(call.body("x".repeat(size)).send().await.status, 401, "{size} bytes");
        }
    }
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn upstream_reads_requests_as_it_is_written() {
    let Some(upstream) = Upstream::for_test("upstream_reads_requests_as_it_is_written").await else { return };
    let cases = cases();
    compare(&cases, &answers(upstream.connector(), &cases).await, |it| it.upstream);
}
