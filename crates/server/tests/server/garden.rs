//! A small test server: namespaced flowers, cluster-scoped meadows, and a few endpoints that misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, StatusCode};
use keelson_authn::{Anonymous, AuthenticatedGroup, Bearer, CaBundle, FailOnError, TokenFile, X509};
use keelson_authz::PrivilegedGroup;
use keelson_authz::rbac::Rbac;
use keelson_authz::rbac::bootstrap::Policy;
use keelson_registry::live::Ground;
use keelson_registry::{CatalogHandle, Column, Group, Resource, Version, catalog};
use keelson_server::body::RequestBody;
use keelson_server::response::text;
use keelson_server::{
    Builder, CertificateSource, Endpoint, Mounted, Peer, PemSource, Response, Server, Settings, Sharing,
    TlsSettings,
};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Layout, MemoryStore};
use keelson_testkit::pki::Authority;
use keelson_testkit::{Client, Credentials, Identity, Protocol};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A server that is not listening.
pub(crate) struct Garden {
    pub(crate) server: Arc<Server>,
}

/// A server that is listening.
pub(crate) struct Running {
    pub(crate) server: Arc<Server>,
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) stop: CancellationToken,
    /// When it is cancelled, `/slow` answers.
    pub(crate) gate: CancellationToken,
    pub(crate) done: JoinHandle<std::io::Result<()>>,
}

impl Garden {
    pub(crate) async fn new() -> Garden {
        Garden::with(Settings::default(), Clock::real()).await
    }

    pub(crate) async fn with(settings: Settings, clock: Clock) -> Garden {
        let gate = CancellationToken::new();
        Garden::built(builder(settings, clock, &gate).await)
    }

    /// A server with these groups.
    pub(crate) async fn of(groups: Vec<Group>) -> Garden {
        let clock = Clock::real();
        Garden::built(serving(groups, Settings::default(), clock).await)
    }

    fn built(builder: Builder) -> Garden {
        let builder = builder.authenticator(tokens());
        let server = builder.build().unwrap();
        server.moments().mux_and_discovery_complete.happen();
        Garden { server }
    }

    /// `GET /path` with headers as `name: value`; the user is an administrator unless a header says
    /// otherwise.
    pub(crate) async fn ask(&self, line: &str, headers: &[&str], body: &str) -> (u16, Head, String) {
        let (method, uri) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(uri);
        if !headers.iter().any(|it| it.to_ascii_lowercase().starts_with("authorization:")) {
            request = request.header("authorization", "Bearer admin-token");
        }
        for header in headers {
            let (name, value) = header.split_once(':').unwrap();
            request = request.header(name, value.trim());
        }
        let body = RequestBody::Memory(Bytes::from(body.to_owned()));
        let peer = Arc::new(Peer::new("127.0.0.1:1".parse().unwrap(), Vec::new()));
        let response = self.server.answer(request.body(body).unwrap(), peer).await;
        let (parts, body) = response.into_parts();
        let bytes = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        (parts.status.as_u16(), parts, String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The head of an answer.
pub(crate) type Head = http::response::Parts;

impl Running {
    pub(crate) async fn new() -> Running {
        Running::with(Settings::default(), Clock::real(), |tls| tls).await
    }

    /// A server on a manual clock.
    pub(crate) async fn at_standstill(settings: Settings) -> (Running, ManualClock) {
        let (clock, hand) = Clock::manual();
        (Running::with(settings, clock, |tls| tls).await, hand)
    }

    pub(crate) async fn with(
        settings: Settings,
        clock: Clock,
        change: impl FnOnce(TlsSettings) -> TlsSettings,
    ) -> Running {
        let authority = Authority::new("garden").unwrap();
        let serving = authority.server(&["localhost", "127.0.0.1"]).unwrap();
        let mut tls = TlsSettings::new(CertificateSource::memory(serving.certificate, serving.key));
        tls.client_cas = vec![PemSource::Memory(Bytes::from(authority.certificate().to_owned()))];
        let gate = CancellationToken::new();
        let ca: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(authority.certificate().as_bytes()).map(Result::unwrap).collect();
        // Certificates are checked against real time, even if the server's clock stands still.
        let x509 = Arc::new(X509::new(CaBundle::new(&ca).unwrap(), Clock::real()));
        let known = Arc::new(AuthenticatedGroup::new(Arc::new(FailOnError::new(vec![x509, tokens()]))));
        let builder = builder(settings, clock, &gate)
            .await
            .authenticator(Arc::new(FailOnError::new(vec![known, Arc::new(Anonymous)])))
            .tls(change(tls));
        let server = builder.build().unwrap();
        let listener = keelson_server::bind("127.0.0.1:0".parse().unwrap(), Sharing::default()).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let done = keelson_stdx::task::spawn("server", {
            let (server, stop) = (Arc::clone(&server), stop.clone());
            async move { server.serve(listener, stop.cancelled()).await }
        });
        Running { server, address, authority, stop, gate, done }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    pub(crate) fn credentials(&self) -> Credentials {
        Credentials { ca: Some(self.authority.certificate().to_owned()), ..Credentials::default() }
    }

    pub(crate) fn client(&self, credentials: &Credentials, protocol: Protocol) -> Client {
        Client::new(&self.url(), credentials, protocol).unwrap()
    }

    /// An administrator by certificate.
    pub(crate) fn admin(&self, protocol: Protocol) -> Client {
        let identity: Identity = self.authority.client("admin", &["system:masters"]).unwrap();
        self.client(&self.credentials().with_identity(identity), protocol)
    }

    pub(crate) fn anonymous(&self, protocol: Protocol) -> Client {
        self.client(&self.credentials(), protocol)
    }

    /// A TLS connection on which nothing was sent yet.
    pub(crate) async fn connect(&self) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
        let connector =
            keelson_testkit::Connector::new(&self.url(), &self.credentials(), Protocol::Http1).unwrap();
        connector.tls().await.unwrap()
    }

    /// Shuts the server down and waits for the end.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(30), self.done).await;
        ended.expect("the server ends").unwrap().unwrap();
    }
}

/// Advances a manual clock until `work` is done; gives up after an hour of its time.
pub(crate) async fn advance_until<T>(hand: &ManualClock, work: impl Future<Output = T>) -> (T, Duration) {
    let mut work = std::pin::pin!(work);
    let mut passed = Duration::ZERO;
    while passed < Duration::from_secs(3600) {
        // Real time for real sockets, then a second of the server's.
        if let Ok(done) = tokio::time::timeout(Duration::from_millis(20), work.as_mut()).await {
            return (done, passed);
        }
        hand.advance(Duration::from_secs(1));
        passed += Duration::from_secs(1);
    }
    panic!("an hour passed");
}

fn tokens() -> Arc<Bearer> {
    let file = "admin-token,admin,1,system:masters\njane-token,jane,2,gardeners\n";
    Arc::new(Bearer::new(Arc::new(TokenFile::parse(file).unwrap()), &[]))
}

async fn builder(settings: Settings, clock: Clock, gate: &CancellationToken) -> Builder {
    let group = Group::new("example.com").serve(
        Resource::namespaced("Flower", "flowers")
            .short_name("fl")
            .category("all")
            .version(Version::stored("v1").columns([
                Column::name(),
                Column::integer("Petals", "spec.petals"),
                Column::age(),
            ]))
            .version(Version::served("v1beta1"))
            .with_status(),
    );
    let core = Group::new("").serve(Resource::cluster("Meadow", "meadows").version(Version::stored("v1")));
    serving(vec![core, group], settings, clock)
        .await
        .endpoint(Mounted { path: "/panic".to_owned(), endpoint: Arc::new(Panics) })
        .endpoint(Mounted { path: "/slow".to_owned(), endpoint: Arc::new(Waits(gate.clone())) })
}

async fn serving(groups: Vec<Group>, settings: Settings, clock: Clock) -> Builder {
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let ground = Ground::new(store, Layout::default(), clock.clone());
    let catalog = catalog::load(groups, &ground).await.unwrap();
    Server::builder().settings(settings).clock(clock).catalog(CatalogHandle::new(catalog)).authorizer(
        Arc::new(keelson_authz::Union::new(vec![
            Arc::new(PrivilegedGroup::masters()),
            Arc::new(usual_roles()),
        ])),
    )
}

struct Panics;

impl Endpoint for Panics {
    fn answer<'a>(&'a self, path: &'a str, _: &'a Parts) -> BoxFuture<'a, Response> {
        async move { panic!("{path}") }.boxed()
    }
}

struct Waits(CancellationToken);

impl Endpoint for Waits {
    fn answer<'a>(&'a self, _: &'a str, _: &'a Parts) -> BoxFuture<'a, Response> {
        async move {
            self.0.cancelled().await;
            text(StatusCode::OK, "at last")
        }
        .boxed()
    }
}

/// The default RBAC roles and bindings.
fn usual_roles() -> Rbac {
    let (rbac, policy) = (Rbac::default(), Policy::new(|_| true));
    rbac.change(|tables| {
        policy.cluster_roles.iter().for_each(|it| tables.put_role(it));
        policy.cluster_role_bindings.iter().for_each(|it| tables.put_binding(it));
    });
    rbac
}
