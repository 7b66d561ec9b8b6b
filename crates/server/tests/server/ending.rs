//! Graceful shutdown.

use std::time::Duration;

use keelson_server::{LateClients, Settings};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::spawn;
use keelson_testkit::Protocol;

use crate::garden::{Running, advance_until};

#[tokio::test]
async fn requests_that_are_under_way_are_answered() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let running = Running::new().await;
        let admin = running.admin(protocol);
        let slow = spawn("slow", {
            let admin = admin.clone();
            async move { admin.get("/slow").await }
        });
        while !running.admin(protocol).get("/metrics").await.text().contains("kind=\"readOnly\"} 2\n") {
            tokio::task::yield_now().await;
        }
        running.stop.cancel();
        running.server.moments().http_server_stopped_listening.wait().await;
        assert!(tokio::net::TcpStream::connect(running.address).await.is_err());
        assert!(!running.server.moments().in_flight_requests_drained.has_happened());
        running.gate.cancel();
        assert_eq!(slow.await.unwrap().text(), "at last");
        running.end().await;
    }
}

#[tokio::test]
async fn the_delay_gives_balancers_time() {
    let settings = Settings { shutdown_delay: Duration::from_secs(10), ..Settings::default() };
    let (running, hand) = Running::at_standstill(settings).await;
    let admin = running.admin(Protocol::Http1);
    assert_eq!(admin.get("/readyz").await.status, 200);
    running.stop.cancel();
    running.server.moments().shutdown_initiated.wait().await;

    let ready = admin.get("/readyz").await;
    assert_eq!(ready.status, 500);
    assert!(ready.text().contains("[-]shutdown failed: reason withheld\n"), "{}", ready.text());
    assert_eq!(admin.get("/livez").await.status, 200);
    assert_eq!(admin.get("/api/v1/meadows").await.status, 200);
    assert!(!running.server.moments().not_accepting_new_request.has_happened());

    let ((), passed) = advance_until(&hand, running.server.moments().not_accepting_new_request.wait()).await;
    assert!(passed >= Duration::from_secs(9), "{passed:?}");
    let (ended, _) = advance_until(&hand, running.done).await;
    ended.unwrap().unwrap();
}

#[tokio::test]
async fn late_clients_are_told_to_come_back() {
    let settings = Settings { late_clients: LateClients::ToldToComeBack, ..Settings::default() };
    let running = Running::with(settings, Clock::real(), |tls| tls).await;
    let admin = running.admin(Protocol::Http1);
    let slow = spawn("slow", {
        let admin = admin.clone();
        async move { admin.get("/slow").await }
    });
    while !admin.get("/metrics").await.text().contains("kind=\"readOnly\"} 2\n") {
        tokio::task::yield_now().await;
    }
    running.stop.cancel();
    running.server.moments().not_accepting_new_request.wait().await;

    let late = running.admin(Protocol::Http1).get("/api/v1/meadows").await;
    assert_eq!(late.status, 429);
    assert_eq!((late.header("retry-after"), late.header("connection")), ("5", "close"));
    assert_eq!(late.text(), "The apiserver is shutting down, please try again later.\n");
    assert_eq!(running.admin(Protocol::Http1).get("/livez").await.status, 200);

    running.gate.cancel();
    assert_eq!(slow.await.unwrap().text(), "at last");
    running.end().await;
}

#[tokio::test]
async fn watches_end_with_the_server() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let running = Running::new().await;
        let mut watch = running.admin(protocol).watch("/api/v1/meadows?watch=true").await;
        running.stop.cancel();
        watch.end().await;
        running.end().await;
    }
}
