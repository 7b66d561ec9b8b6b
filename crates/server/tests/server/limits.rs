//! Sizes, times, counts.

use std::time::Duration;

use keelson_server::Settings;
use keelson_stdx::clock::Clock;
use keelson_testkit::Protocol;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::garden::{Running, advance_until};

async fn read_all(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_mebibyte_of_headers_is_too_much() {
    let running = Running::new().await;
    let mut stream = running.connect().await;
    let head =
        format!("GET /healthz HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n", "x".repeat((1 << 20) + 10_000));
    // The server may close before it has read everything.
    let _ = stream.write_all(head.as_bytes()).await;
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");

    let mut stream = running.connect().await;
    let head = format!(
        "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-large: {}\r\n\r\n",
        "x".repeat(900_000)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    running.end().await;
}

#[tokio::test]
async fn three_mebibytes_of_body_are_enough() {
    let running = Running::new().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let body = vec![b'x'; 3 * 1024 * 1024 + 1];
        let call = running
            .admin(protocol)
            .call("POST", "/api/v1/meadows")
            .header("content-type", "application/json");
        let status = call.body(body).send().await.refused(413, "RequestEntityTooLarge");
        assert_eq!(status["message"], "Request entity too large: limit is 3145728");
    }
    running.end().await;
}

#[tokio::test]
async fn a_slow_body_ends_with_the_deadline() {
    let (running, hand) = Running::at_standstill(Settings::default()).await;
    let mut stream = running.connect().await;
    let head = "POST /api/v1/meadows HTTP/1.1\r\nhost: x\r\nauthorization: Bearer admin-token\r\n\
                content-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (answer, passed) = advance_until(&hand, read_all(&mut stream)).await;
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert!(answer.contains("Timeout: request did not complete within the allotted timeout"), "{answer}");
    assert!(passed >= Duration::from_secs(60), "{passed:?}");
}

#[tokio::test]
async fn a_slow_handler_ends_with_the_deadline_of_the_client() {
    let (running, hand) = Running::at_standstill(Settings::default()).await;
    let client = running.admin(Protocol::Http2);
    let (answer, passed) = Box::pin(advance_until(&hand, client.get("/slow?timeout=5s"))).await;
    answer.refused(504, "Timeout");
    // The path may be made up by the client, as far as is known here.
    let counted = "apiserver_request_terminations_total{verb=\"GET\",group=\"\",version=\"\",resource=\"\",\
                   subresource=\"\",scope=\"\",component=\"apiserver\",code=\"504\"} 1\n";
    assert!(client.get("/metrics").await.text().contains(counted));
    assert!(passed >= Duration::from_secs(5) && passed < Duration::from_secs(30), "{passed:?}");
}

#[tokio::test]
async fn slow_headers_are_cut() {
    let (running, hand) = Running::at_standstill(Settings::default()).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
    let (answer, passed) = advance_until(&hand, read_all(&mut stream)).await;
    assert_eq!(answer, "");
    assert!(passed >= Duration::from_secs(31) && passed < Duration::from_secs(60), "{passed:?}");
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let (running, hand) = Running::at_standstill(Settings::default()).await;
    let mut stream = running.connect().await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let (answer, passed) = advance_until(&hand, read_all(&mut stream)).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(passed >= Duration::from_secs(89) && passed < Duration::from_secs(150), "{passed:?}");
}

#[tokio::test]
async fn silent_clients_do_not_finish_the_handshake() {
    let (running, hand) = Running::at_standstill(Settings::default()).await;
    let mut stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
    let (answer, passed) = advance_until(&hand, read_all(&mut stream)).await;
    assert_eq!(answer, "");
    assert!(passed >= Duration::from_secs(31), "{passed:?}");
}

#[tokio::test]
async fn too_many_at_once_are_sent_away() {
    let settings = Settings { max_read_only: 1, max_mutating: 1, ..Settings::default() };
    let running = Running::with(settings, Clock::real(), |tls| tls).await;
    let jane = running.client(&running.credentials().with_token("jane-token"), Protocol::Http1);
    let admin = running.admin(Protocol::Http1);
    let slow = keelson_stdx::task::spawn("slow", {
        let admin = admin.clone();
        async move { admin.get("/slow").await }
    });
    let full = async {
        loop {
            let answer = jane.get("/version").await;
            if answer.status == 429 {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), full).await.expect("the room is full");
    assert_eq!(answer.header("retry-after"), "1");
    assert_eq!(answer.text(), "Too many requests, please try again later.\n");
    // Refused requests are counted, under names that are served.
    assert_eq!(jane.get("/api/v1/meadows/a").await.status, 429);
    assert_eq!(jane.get("/api/v1/made-up/a").await.status, 429);
    let text = admin.get("/metrics").await.text();
    let labels = "group=\"\",version=\"v1\",resource=\"meadows\",subresource=\"\",scope=\"resource\",\
                  component=\"apiserver\",code=\"429\"} 1\n";
    for counted in [
        format!("apiserver_request_terminations_total{{verb=\"GET\",{labels}"),
        format!("apiserver_request_total{{verb=\"GET\",dry_run=\"\",{labels}"),
    ] {
        assert!(text.contains(&counted), "{counted} in {text}");
    }
    assert!(!text.contains("made-up"));
    // Administrators are not limited.
    assert_eq!(admin.get("/version").await.status, 200);
    running.gate.cancel();
    assert_eq!(slow.await.unwrap().text(), "at last");
    assert_eq!(jane.get("/version").await.status, 200);
    running.end().await;
}

/// Requests that two parsers could understand differently are refused.
#[tokio::test]
async fn ambiguous_requests_are_refused() {
    let running = Running::new().await;
    for head in [
        "POST /version HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n0\r\n\r\n",
        "POST /version HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST /version HTTP/1.0\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: x\r\nfolded: a\r\n b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost: x\r\nbad name: a\r\n\r\n",
    ] {
        let mut stream = running.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        let _ = stream.read_exact(&mut start).await;
        let start = String::from_utf8_lossy(&start);
        assert!(start.ends_with(" 400"), "{start} {head}");
    }
    running.end().await;
}
