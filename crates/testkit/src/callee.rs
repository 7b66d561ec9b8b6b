//! Callee: an HTTPS server of the test that the server calls, with its own CA.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use keelson_stdx::clock::Clock;
use keelson_stdx::task::{self, Tasks};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::pki::Authority;

/// An HTTPS server on loopback; it stops when this is dropped.
pub struct Callee {
    authority: Authority,
    address: SocketAddr,
    asked: Log,
    tasks: Tasks,
}

/// A request to a callee.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `POST`.
    pub method: String,
    /// `/path`.
    pub path: String,
    /// The header `Authorization`; empty if there was none.
    pub authorization: String,
    /// The header `User-Agent`.
    pub agent: String,
    /// The body.
    pub body: String,
}

type Log = Arc<Mutex<Vec<Asked>>>;
type Answer = Arc<dyn Fn(&Asked) -> (u16, String) + Send + Sync>;

impl Callee {
    /// Responds with the result of `answer`: status and body. The body of a redirect is its location.
    pub async fn open(answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Result<Callee> {
        Callee::open_at(0, answer).await
    }

    /// The same on a given port.
    pub async fn open_at(
        port: u16,
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Result<Callee> {
        let authority = Authority::new("callee")?;
        Callee::with_authority(authority, port, answer).await
    }

    /// The same with a CA that others know already.
    pub async fn with_authority(
        authority: Authority,
        port: u16,
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Result<Callee> {
        Callee::listen(authority, port, Manner::default(), answer).await
    }

    /// The same with a certificate for these names.
    pub async fn named(
        names: &[&str],
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Result<Callee> {
        let manner = Manner { names, ..Manner::default() };
        Callee::listen(Authority::new("callee")?, 0, manner, answer).await
    }

    /// The same with a delay before each answer.
    pub async fn slow(
        delay: Duration,
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Result<Callee> {
        let manner = Manner { delay, ..Manner::default() };
        Callee::listen(Authority::new("callee")?, 0, manner, answer).await
    }

    async fn listen(
        authority: Authority,
        port: u16,
        manner: Manner<'_>,
        answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static,
    ) -> Result<Callee> {
        let (acceptor, delay) = (acceptor(&authority, manner.names)?, manner.delay);
        let listener = TcpListener::bind(("127.0.0.1", port)).await.context("a port")?;
        let address = listener.local_addr()?;
        let (asked, tasks): (Log, Tasks) = (Log::default(), Tasks::new());
        let answer: Answer = Arc::new(answer);
        let log = asked.clone();
        tasks.spawn("callee", async move {
            while let Ok((tcp, _)) = listener.accept().await {
                task::spawn(
                    "callee connection",
                    serve(tcp, acceptor.clone(), log.clone(), (answer.clone(), delay)),
                );
            }
        });
        Ok(Callee { authority, address, asked, tasks })
    }

    /// `https://127.0.0.1:port` with a path behind it.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its CA certificate, in PEM.
    pub fn ca(&self) -> &str {
        self.authority.certificate()
    }

    /// A kubeconfig that leads to `path` here with a token.
    pub fn kubeconfig(&self, path: &str, token: &str) -> String {
        let cluster =
            json!({"server": self.url(path), "certificate-authority-data": STANDARD.encode(self.ca())});
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {"token": token}}],
        })
        .to_string()
    }

    /// The requests so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }
}

impl Drop for Callee {
    fn drop(&mut self) {
        self.tasks.cancel();
    }
}

async fn serve(tcp: TcpStream, acceptor: TlsAcceptor, log: Log, (answer, delay): (Answer, Duration)) {
    let Ok(stream) = acceptor.accept(tcp).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|it| it.to_bytes()).unwrap_or_default();
            let header =
                |name| head.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
            let asked = Asked {
                method: head.method.to_string(),
                path: head.uri.path().to_owned(),
                authorization: header("authorization"),
                agent: header("user-agent"),
                body: String::from_utf8_lossy(&body).into_owned(),
            };
            if !delay.is_zero() {
                Clock::real().sleep(delay).await;
            }
            let (status, text) = answer(&asked);
            lock(&log).push(asked);
            let mut response = Response::builder().status(status).header("content-type", "application/json");
            if (300..400).contains(&status) {
                response = response.header("location", text.as_str());
            }
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from(text)).unwrap_or_default())
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// Its names and its delay.
struct Manner<'m> {
    names: &'m [&'m str],
    delay: Duration,
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Manner { names: &["127.0.0.1", "localhost"], delay: Duration::ZERO }
    }
}

fn acceptor(authority: &Authority, names: &[&str]) -> Result<TlsAcceptor> {
    let identity = authority.server(names)?;
    let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn lock(log: &Log) -> MutexGuard<'_, Vec<Asked>> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
