//! Tests with proxies on loopback, with TLS and without, that open tunnels or do not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::{Proxy, Wire};
use crate::client::tests::{Authority, Place, ask, client, server_config};
use crate::dials::Dials;
use crate::{Failure, Identity, Target, Trust};

/// The behaviour of a proxy after a CONNECT.
#[derive(Clone, Copy)]
enum Manner {
    /// Opens a tunnel to this address.
    Leads(SocketAddr),
    /// Sends this and closes the connection.
    Says(&'static str),
    /// Sends this and nothing more.
    Hangs(&'static str),
}

/// Opens one tunnel after the other on `wire`, and returns the requests.
async fn serve(mut wire: impl Wire + 'static, manner: Manner) -> String {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let Ok(byte) = wire.read_u8().await else { return String::new() };
        asked.push(byte);
    }
    match manner {
        Manner::Leads(place) => {
            let mut behind = TcpStream::connect(place).await.expect("somebody is there");
            wire.write_all(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n").await.expect("sent");
            let _ = tokio::io::copy_bidirectional(&mut wire, &mut behind).await;
        }
        Manner::Says(text) | Manner::Hangs(text) => {
            wire.write_all(text.as_bytes()).await.expect("sent");
            wire.flush().await.expect("sent");
            if let Manner::Hangs(_) = manner {
                std::future::pending::<()>().await;
            }
            let _ = wire.shutdown().await;
        }
    }
    String::from_utf8_lossy(&asked).into_owned()
}

/// A proxy with TLS, for clients with a certificate of `clients`.
struct Secure {
    authority: Authority,
    clients: Authority,
    address: SocketAddr,
}

impl Secure {
    async fn open(manner: Manner) -> Secure {
        let (authority, clients) = (Authority::new(), Authority::new());
        let config = server_config(&authority, "proxy.example", Some(&clients));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        task::spawn("proxy", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                task::spawn("tunnel", async move {
                    if let Ok(stream) = acceptor.accept(tcp).await {
                        serve(stream, manner).await;
                    }
                });
            }
        });
        Secure { authority, clients, address }
    }

    /// A target that trusts the proxy, with a certificate that the proxy trusts.
    fn target(&self) -> Target {
        Target {
            trust: Trust::Bundle(self.authority.pem.clone().into_bytes()),
            identity: Some(identity(&self.clients)),
            server_name: Some("proxy.example".to_owned()),
            ..Target::new(format!("https://{}", self.address))
        }
    }
}

fn identity(authority: &Authority) -> Identity {
    let (certificate, key) = authority.issue("client");
    Identity::Pem { certificate: certificate.into_bytes(), key: key.into_bytes() }
}

fn proxy(target: &Target) -> Proxy {
    Proxy::tcp(target, &Clock::real()).expect("a proxy")
}

/// Why there is no tunnel.
async fn refusal(target: &Target) -> String {
    match proxy(target).open("a:1").await {
        Ok(_) => "a tunnel".to_owned(),
        Err(failure) => failure.to_string(),
    }
}

#[tokio::test]
async fn a_webhook_is_asked_through_a_tunnel_in_tls() {
    let place = Place::open("localhost", None, &["h2"]).await;
    let tunnels = Secure::open(Manner::Leads(place.address)).await;
    let through = Some(Arc::new(proxy(&tunnels.target())));
    // The proxy knows the real address.
    let target = Target { url: "https://localhost:1/base".to_owned(), proxy: through, ..place.target() };
    assert_eq!(ask(&client(target), "/echo").await, "200 POST HTTP/2.0 application/json - {}");
}

#[tokio::test]
async fn whom_a_proxy_must_be_and_whom_it_takes_is_said_as_go_does() {
    let tunnels = Secure::open(Manner::Hangs("")).await;
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because \
                   of \"x509: ECDSA verification failure\" while trying to verify candidate authority certificate \
                   \"authority\")";
    let stranger = Trust::Bundle(Authority::new().pem.into_bytes());
    assert_eq!(refusal(&Target { trust: stranger, ..tunnels.target() }).await, unknown);
    let other_name = "tls: failed to verify certificate: x509: cannot validate certificate for 127.0.0.1 because it \
                      doesn't contain any IP SANs";
    assert_eq!(refusal(&Target { server_name: None, ..tunnels.target() }).await, other_name);
    let at = tunnels.address;
    let read = format!("reading HTTP response from CONNECT to a:1 via proxy {at} failed: remote error: tls:");
    let nobody = refusal(&Target { identity: None, ..tunnels.target() }).await;
    assert_eq!(nobody, format!("{read} certificate required"));
    let foreign = Some(identity(&Authority::new()));
    let foreign = refusal(&Target { identity: foreign, ..tunnels.target() }).await;
    assert!(foreign.starts_with(&read), "{foreign}");
}

#[tokio::test]
async fn what_a_proxy_says_instead_of_yes_is_passed_on() {
    for (says, expected) in [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "proxy error from AT while dialing a:1, code 403: 403 Forbidden"),
        ("HTTP/1.0 503  \n\n", "proxy error from AT while dialing a:1, code 503: 503  "),
        ("", "reading HTTP response from CONNECT to a:1 via proxy AT failed: unexpected EOF"),
        (
            "HTTP/1.1 200 OK\r\nVia: x\r\n",
            "reading HTTP response from CONNECT to a:1 via proxy AT failed: unexpected EOF",
        ),
        (
            "hello",
            "reading HTTP response from CONNECT to a:1 via proxy AT failed: malformed HTTP response \"hello\"",
        ),
        (
            "HTTP/1.1 20 OK\r\n",
            "reading HTTP response from CONNECT to a:1 via proxy AT failed: malformed HTTP status code \"20\"",
        ),
        (
            "HTTP/x 200 OK\r\n",
            "reading HTTP response from CONNECT to a:1 via proxy AT failed: malformed HTTP version \"HTTP/x\"",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nSSH-2.0", "unexpected 7 bytes of buffered data from CONNECT proxy \"AT\""),
    ] {
        let tunnels = Secure::open(Manner::Says(says)).await;
        let found = refusal(&tunnels.target()).await.replace(&tunnels.address.to_string(), "AT");
        assert_eq!(found, expected, "{says:?}");
    }
}

#[tokio::test]
async fn a_proxy_that_hangs_is_waited_for_as_long_as_the_call_may_take() {
    let place = Place::open("localhost", None, &["h2"]).await;
    for says in ["", "HTTP/1.1 200 OK\r\n"] {
        let tunnels = Secure::open(Manner::Hangs(says)).await;
        let through = Some(Arc::new(proxy(&tunnels.target())));
        let client = client(Target { proxy: through, ..place.target() });
        let error = client.get("/echo", Some(Duration::from_millis(50))).await.expect_err("nobody answers");
        assert_eq!(error.failure(), Some(&Failure::Timeout), "{says:?}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.sock");
    let missing = Proxy::unix(&path).open("a:1").await.err().expect("nobody listens").to_string();
    assert_eq!(missing, format!("dial unix {}: connect: no such file or directory", path.display()));
    let at = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("bound");
    let missing = refusal(&Target::new(format!("http://{at}"))).await;
    assert_eq!(missing, format!("dial tcp {at}: connect: connection refused"));
}

#[tokio::test]
async fn a_tunnel_from_a_socket_is_asked_for_and_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.sock");
    let (listener, behind) = (
        UnixListener::bind(&path).expect("a socket"),
        TcpListener::bind("127.0.0.1:0").await.expect("a port"),
    );
    let place = behind.local_addr().expect("bound");
    let proxy = task::spawn("proxy", async move {
        let (wire, _) = listener.accept().await.expect("a connection");
        serve(wire, Manner::Leads(place)).await
    });
    let mut wire = Proxy::unix(&path).open("10.0.0.7:8443").await.expect("a tunnel");
    let (mut far, _) = behind.accept().await.expect("a connection");
    wire.write_all(b"ping").await.expect("sent");
    let mut word = [0; 4];
    far.read_exact(&mut word).await.expect("it comes out");
    assert_eq!(&word, b"ping");
    drop((wire, far));
    let asked = proxy.await.expect("it ends");
    assert_eq!(asked, "CONNECT 10.0.0.7:8443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

/// Dials are counted for the whole process: other tests may increase the counters, but never decrease them.
#[tokio::test]
async fn dials_are_counted_by_how_they_end() {
    let dials = Dials::over_unix();
    let numbers = || {
        let [(_, not_connected), (_, not_proxied)] = dials.failures();
        [dials.started(), not_connected, not_proxied, dials.seconds().count()]
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.sock");
    let before = numbers();
    assert!(Proxy::unix(&path).open("a:1").await.is_err(), "nobody listens");
    let [started, not_connected, ..] = numbers();
    assert!(started > before[0] && not_connected > before[1], "{before:?}");

    let listener = UnixListener::bind(&path).expect("a socket");
    let proxy = task::spawn("proxy", async move {
        for answer in ["HTTP/1.1 403 Forbidden\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            let (wire, _) = listener.accept().await.expect("a connection");
            serve(wire, Manner::Says(answer)).await;
        }
    });
    assert!(Proxy::unix(&path).open("a:1").await.is_err(), "it is refused");
    assert!(numbers()[2] > before[2], "{before:?}");
    assert!(Proxy::unix(&path).open("a:1").await.is_ok(), "it is a tunnel");
    assert!(numbers()[3] > before[3], "{before:?}");
    proxy.await.expect("it ends");
}
