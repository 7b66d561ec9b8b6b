//! A client and a server with certificates of their own, over loopback.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::{Bearer, Client, Identity, Resolver, Target, Trust};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("signed").pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Certificate and key in PEM.
    pub(crate) fn issue(&self, name: &str) -> (String, String) {
        self.issue_as("somebody", &[name])
    }

    /// The same with several names, or with only a common name.
    pub(crate) fn issue_as(&self, common: &str, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().copied().map(String::from).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.distinguished_name.push(DnType::CommonName, common);
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.issuer).expect("signed").pem(), key.serialize_pem())
    }
}

pub(crate) struct Place {
    authority: Authority,
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Place {
    /// Listens on loopback as `name`; clients must present a certificate of `clients`, if given.
    pub(crate) async fn open(name: &str, clients: Option<&Authority>, protocols: &[&str]) -> Place {
        let authority = Authority::new();
        let mut config = server_config(&authority, name, clients);
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        Place::serve(authority, config).await
    }

    /// Presents this certificate, with its key.
    pub(crate) async fn showing(authority: Authority, pair: &(String, String)) -> Place {
        Place::serve(authority, config_with(pair, None)).await
    }

    async fn serve(authority: Authority, config: ServerConfig) -> Place {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        task::spawn("place", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                task::spawn("connection", async move {
                    let Ok(stream) = acceptor.accept(tcp).await else { return };
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
                });
            }
        });
        Place { authority, address, connections }
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            trust: Trust::Bundle(self.authority.pem.clone().into_bytes()),
            ..Target::new(format!("https://localhost:{}/base", self.address.port()))
        }
    }
}

pub(crate) fn server_config(authority: &Authority, name: &str, clients: Option<&Authority>) -> ServerConfig {
    config_with(&authority.issue(name), clients)
}

fn config_with((certificate, key): &(String, String), clients: Option<&Authority>) -> ServerConfig {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut store = RootCertStore::empty();
            store.add(CertificateDer::from_pem_slice(clients.pem.as_bytes()).expect("pem")).expect("added");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
    };
    builder.with_single_cert(chain, key).expect("a pair")
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let header =
        |name: &str| head.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or("-").to_owned();
    let body = body.collect().await.expect("a body").to_bytes();
    Ok(match head.uri.path() {
        "/base/echo" => {
            let body = String::from_utf8_lossy(&body);
            let (version, kind, who) = (head.version, header("content-type"), header("authorization"));
            Response::new(Full::from(format!("{} {version:?} {kind} {who} {body}", head.method)))
        }
        "/base/large" => Response::new(Full::from(vec![b'x'; 1001])),
        "/base/elsewhere" => {
            let response = Response::builder().status(302).header("location", "/base/echo");
            response.body(Full::default()).expect("a response")
        }
        "/base/busy" => {
            let response = Response::builder().status(429).header("retry-after", "7");
            response.body(Full::default()).expect("a response")
        }
        _ => std::future::pending().await,
    })
}

pub(crate) fn client(target: Target) -> Client {
    Client::new(target, &Clock::real()).expect("a client")
}

/// Status and body, or the failure.
pub(crate) async fn ask(client: &Client, path: &str) -> String {
    match client.post_json(path, "{}", Some(Duration::from_secs(20))).await {
        Ok(reply) => format!("{} {}", reply.status, String::from_utf8_lossy(&reply.body)),
        Err(error) => error.failure().map_or_else(|| error.to_string(), ToString::to_string),
    }
}

#[tokio::test]
async fn the_newest_protocol_that_both_speak_is_spoken() {
    for (protocols, expected) in
        [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let place = Place::open("localhost", None, protocols).await;
        let answer = ask(&client(place.target()), "/echo").await;
        assert_eq!(answer, format!("200 POST {expected} application/json - {{}}"));
    }
}

#[tokio::test]
async fn connections_are_kept() {
    let place = Place::open("localhost", None, &["http/1.1"]).await;
    let client = client(place.target());
    for _ in 0..5 {
        assert!(ask(&client, "/echo").await.starts_with("200"));
    }
    assert_eq!(place.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn tokens_are_shown_to_the_target_alone() {
    let place = Place::open("localhost", None, &["h2"]).await;
    let mut target = place.target();
    target.bearer = Bearer::Fixed("secret".to_owned());
    let client = client(target);
    assert_eq!(ask(&client, "/echo").await, "200 POST HTTP/2.0 application/json Bearer secret {}");
    let other = format!("https://127.0.0.1:{}/base/echo", place.address.port());
    let outcome = client.get_url(&other, None).await.expect_err("another name");
    assert!(
        outcome.to_string().contains(
            "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        ),
        "{outcome}"
    );
}

#[tokio::test]
async fn whom_nobody_vouches_for_is_not_asked() {
    let place = Place::open("localhost", None, &["h2"]).await;
    let stranger = Authority::new();
    let trust = Trust::Bundle(stranger.pem.into_bytes());
    assert_eq!(
        ask(&client(Target { trust, ..place.target() }), "/echo").await,
        "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of \
         \"x509: ECDSA verification failure\" while trying to verify candidate authority certificate \"authority\")"
    );
    let answer = ask(&client(Target { trust: Trust::Anybody, ..place.target() }), "/echo").await;
    assert!(answer.starts_with("200"), "{answer}");
}

#[tokio::test]
async fn names_are_checked_and_can_be_chosen() {
    let place = Place::open("webhook.example", None, &["h2"]).await;
    assert_eq!(
        ask(&client(place.target()), "/echo").await,
        "tls: failed to verify certificate: x509: certificate is valid for webhook.example, not localhost"
    );
    let server_name = Some("webhook.example".to_owned());
    let answer = ask(&client(Target { server_name, ..place.target() }), "/echo").await;
    assert!(answer.starts_with("200"), "{answer}");
}

#[tokio::test]
async fn certificates_are_shown() {
    let clients = Authority::new();
    let place = Place::open("localhost", Some(&clients), &["h2"]).await;
    let refusal = ask(&client(place.target()), "/echo").await;
    assert!(!refusal.starts_with("200"), "{refusal}");
    let (certificate, key) = clients.issue("client");
    let identity = Identity::Pem { certificate: certificate.into_bytes(), key: key.into_bytes() };
    let answer = ask(&client(Target { identity: Some(identity), ..place.target() }), "/echo").await;
    assert!(answer.starts_with("200"), "{answer}");
}

#[tokio::test]
async fn replies_have_limits_of_size_and_time() {
    let place = Place::open("localhost", None, &["h2"]).await;
    let small = client(Target { max_reply: 1000, ..place.target() });
    assert_eq!(ask(&small, "/large").await, "reply is larger than 1000 bytes");
    let large = client(Target { max_reply: 1001, ..place.target() });
    assert!(ask(&large, "/large").await.starts_with("200 xxx"));
    let patience = Some(Duration::from_millis(50));
    let error = large.get("/never", patience).await.expect_err("must not wait");
    let url = format!("https://localhost:{}/base/never", place.address.port());
    assert_eq!(error.to_string(), format!("Get \"{url}\": context deadline exceeded"));
}

#[tokio::test]
async fn redirects_are_answers() {
    let place = Place::open("localhost", None, &["h2"]).await;
    let client = client(place.target());
    assert_eq!(ask(&client, "/elsewhere").await, "302 ");
    let busy = client.get("/busy", None).await.expect("a reply").ok().expect_err("busy");
    assert!(busy.is_transient());
    assert_eq!(
        busy.to_string(),
        "the server has received too many requests and has asked us to try again later"
    );
}

#[tokio::test]
async fn nobody_there_is_said() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let answer = ask(&client(Target::new(format!("http://{address}"))), "/x").await;
    assert_eq!(answer, format!("dial tcp {address}: connect: connection refused"));
    for (url, expected) in [
        ("ftp://a", "server: \"ftp://a\" is neither http nor https"),
        ("a/b", "server: parse \"a/b\": invalid format"),
    ] {
        let refusal = Client::new(Target::new(url), &Clock::real()).err().map(|it| it.to_string());
        assert_eq!(refusal.as_deref(), Some(expected));
    }
}

struct Fixed(SocketAddr);

impl Resolver for Fixed {
    fn resolve<'a>(&'a self, host: &'a str, _: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, String>> {
        let found =
            if host == "hook.default.svc" { Ok(vec![self.0]) } else { Err("no endpoints".to_owned()) };
        std::future::ready(found).boxed()
    }
}

#[tokio::test]
async fn somebody_else_may_know_the_addresses() {
    let place = Place::open("hook.default.svc", None, &["h2"]).await;
    let resolver: Arc<dyn Resolver> = Arc::new(Fixed(place.address));
    let url = "https://hook.default.svc:443/base".to_owned();
    let target = Target { url, resolver: Some(resolver.clone()), ..place.target() };
    assert!(ask(&client(target), "/echo").await.starts_with("200"));
    let url = "https://other.default.svc".to_owned();
    let target = Target { url, resolver: Some(resolver), ..place.target() };
    assert_eq!(ask(&client(target), "/echo").await, "no endpoints");
}
