//! TLS, certificates, protocols.

use std::sync::Arc;
use std::time::Duration;

use keelson_server::openapi::Offered;
use keelson_server::{CertificateSource, NamedCertificate, Protocols, Settings};
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::Authority;
use keelson_testkit::{Connector, Protocol};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::garden::Running;

#[tokio::test]
async fn both_protocols_answer() {
    let running = Running::new().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let answer = running.admin(protocol).get("/api/v1/meadows").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    running.end().await;
}

#[tokio::test]
async fn a_certificate_nobody_signed_leads_to_401() {
    let running = Running::new().await;
    let foreign = Authority::new("foreign").unwrap().client("admin", &["system:masters"]).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = running.client(&running.credentials().with_identity(foreign.clone()), protocol);
        client.get("/api/v1/meadows").await.refused(401, "Unauthorized");
    }
    let wrong = running.client(&running.credentials().with_token("nobody"), Protocol::Http1);
    wrong.get("/healthz").await.refused(401, "Unauthorized");
    running.end().await;
}

#[tokio::test]
async fn without_credentials_one_is_anonymous() {
    let running = Running::new().await;
    let client = running.anonymous(Protocol::Http1);
    assert_eq!(client.get("/healthz").await.text(), "ok");
    client.get("/api/v1/meadows").await.refused(403, "Forbidden");
    running.end().await;
}

#[tokio::test]
async fn http2_without_credentials_is_good_for_one_request() {
    let running = Running::new().await;
    let connector = Connector::new(&running.url(), &running.credentials(), Protocol::Http2).unwrap();
    let mut sender = connector.http2().await.unwrap();
    let request = || {
        let uri = format!("{}/healthz", running.url());
        http::Request::get(uri).body(keelson_testkit::connect::RequestBody::default()).unwrap()
    };
    assert_eq!(sender.send_request(request()).await.unwrap().status(), 200);
    // GOAWAY: eventually the connection accepts no more requests.
    let refused = async {
        while sender.ready().await.is_ok() && sender.send_request(request()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.expect("the connection is closed");
    running.end().await;
}

#[tokio::test]
async fn http2_without_credentials_may_be_good_for_many() {
    let settings = Settings { http2_mitigation: Offered::No, ..Settings::default() };
    let running = Running::with(settings, Clock::real(), |tls| tls).await;
    let connector = Connector::new(&running.url(), &running.credentials(), Protocol::Http2).unwrap();
    let mut sender = connector.http2().await.unwrap();
    for _ in 0..100 {
        let uri = format!("{}/healthz", running.url());
        let request = http::Request::get(uri).body(keelson_testkit::connect::RequestBody::default()).unwrap();
        sender.ready().await.expect("the connection stays");
        assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    }
    running.end().await;
}

#[tokio::test]
async fn http2_can_be_turned_off() {
    let running = Running::with(Settings::default(), Clock::real(), |mut tls| {
        tls.protocols = Protocols::Http1;
        tls
    })
    .await;
    let connector = Connector::new(&running.url(), &running.credentials(), Protocol::Http2).unwrap();
    assert!(connector.http2().await.is_err());
    assert_eq!(running.admin(Protocol::Http1).get("/healthz").await.status, 200);
    running.end().await;
}

#[tokio::test]
async fn plain_http_is_told_what_is_wrong() {
    let running = Running::new().await;
    let mut stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    let text = running.admin(Protocol::Http1).get("/metrics").await.text();
    assert!(text.contains("apiserver_tls_handshake_errors_total 1\n"), "{text}");
    running.end().await;
}

/// The certificate that a client gets for `host`; `None` if the client does not trust it.
async fn certificate_for(running: &Running, host: &str) -> Option<CertificateDer<'static>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(running.authority.certificate().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(running.address).await.unwrap();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    Some(stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned())
}

#[tokio::test]
async fn names_choose_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("a.crt"), folder.path().join("a.key"));
    let filler = Authority::new("filler").unwrap().server(&["rose.example.com"]).unwrap();
    std::fs::write(&certificate, &filler.certificate).unwrap();
    std::fs::write(&key, &filler.key).unwrap();
    let settings = Settings { certificate_poll: Duration::from_millis(20), ..Settings::default() };
    let named = NamedCertificate { source: CertificateSource::files(&certificate, &key), names: Vec::new() };
    let running = Running::with(settings, Clock::real(), move |mut tls| {
        tls.named = vec![named];
        tls
    })
    .await;

    // Reload: the new pair is signed by a CA that the client trusts.
    let real = running.authority.server(&["rose.example.com", "*.tulip.example.com"]).unwrap();
    std::fs::write(&key, &real.key).unwrap();
    std::fs::write(&certificate, &real.certificate).unwrap();
    let expected = Some(CertificateDer::from_pem_slice(real.certificate.as_bytes()).unwrap());
    let believed = async {
        while certificate_for(&running, "rose.example.com").await.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), believed).await.expect("the new certificate is served");
    assert_eq!(certificate_for(&running, "rose.example.com").await, expected);
    assert_eq!(certificate_for(&running, "red.tulip.example.com").await, expected);
    assert_ne!(certificate_for(&running, "localhost").await, expected);
    running.end().await;
}
