//! Connection: handshake, HTTP with its limits, idle and header deadlines, graceful shutdown.

use std::convert::Infallible;
use std::future::{self, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use keelson_stdx::clock::Clock;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::body::RequestBody;
use crate::listen::head::{self, objection};
use crate::listen::tls::Tls;
use crate::response::Response;

use pulse::{Pulse, Step, Wire};

mod pulse;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request of a peer.
    fn handle(
        self: Arc<Self>,
        request: Request<RequestBody>,
        peer: Arc<Peer>,
    ) -> BoxFuture<'static, Response>;

    /// The handshake of a client failed.
    fn handshake_failed(&self) {}
}

/// The client of a connection.
#[derive(Debug)]
pub struct Peer {
    /// The address of the client.
    pub address: SocketAddr,
    /// The chain of its client certificate, leaf first. The client has proved that it holds the leaf's key;
    /// the chain is not verified yet.
    pub certificates: Vec<CertificateDer<'static>>,
    /// When its client certificate expires, in seconds since 1970.
    expires: OnceLock<Option<i64>>,
    go_away: Notify,
}

impl Peer {
    /// A client that has not sent a request yet.
    pub fn new(address: SocketAddr, certificates: Vec<CertificateDer<'static>>) -> Peer {
        Peer { address, certificates, expires: OnceLock::new(), go_away: Notify::new() }
    }

    /// When the client's certificate expires, in seconds since 1970; `None` without one, or when it cannot be read.
    pub fn expires(&self) -> Option<i64> {
        *self.expires.get_or_init(|| {
            let (_, parsed) = X509Certificate::from_der(self.certificates.first()?).ok()?;
            Some(parsed.validity().not_after.timestamp())
        })
    }

    /// Asks the client to open a new connection for its next requests; those in flight are finished.
    pub fn go_away(&self) {
        self.go_away.notify_one();
    }
}

/// The limits of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all headers of a request; more is answered with 431.
    pub header_bytes: usize,
    /// How long a client may take for the TLS handshake, and then for the headers of a request.
    pub header_time: Duration,
    /// How long a connection stays open without requests.
    pub idle_time: Duration,
    /// The maximum number of concurrent HTTP/2 requests on one connection.
    pub streams: u32,
    /// The HTTP/2 window and frame size of a request.
    pub stream_bytes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            header_bytes: 1 << 20,
            header_time: Duration::from_secs(32),
            idle_time: Duration::from_secs(90),
            streams: 100,
            stream_bytes: 256 << 10,
        }
    }
}

/// What all connections of a listener share.
pub struct Shared<H> {
    /// Answers requests.
    pub handler: Arc<H>,
    /// The current TLS configuration.
    pub tls: Arc<Tls>,
    /// The limits of a connection.
    pub limits: Limits,
    /// The clock for the deadlines.
    pub clock: Clock,
    /// Stops new requests: those in flight are finished, then the connection ends.
    pub draining: CancellationToken,
}

/// Extra buffer, so that the limit of the header size applies first.
const BUFFER_SLACK: usize = 64 << 10;
/// More header lines than any client sends, impersonation with many groups included.
const HEADER_LINES: usize = 1000;

/// Serves one connection from handshake to end.
pub async fn serve<H: Handler>(shared: Arc<Shared<H>>, stream: TcpStream, address: SocketAddr) {
    let handshake = shake_hands(&shared.tls, stream);
    let established = tokio::select! {
        established = shared.clock.timeout(shared.limits.header_time, handshake) => established,
        () = shared.draining.cancelled() => return,
    };
    match established {
        Some(Ok(stream)) => serve_http(&shared, stream, address).await,
        Some(Err(error)) => {
            shared.handler.handshake_failed();
            debug!(%address, %error, "TLS handshake error");
        }
        None => {
            shared.handler.handshake_failed();
            debug!(%address, "TLS handshake timed out");
        }
    }
}

async fn shake_hands(tls: &Tls, mut stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    let local = stream.local_addr()?.ip().to_canonical();
    let mut start = [0; 5];
    let peeked = stream.peek(&mut start).await?;
    if looks_like_http(&start[..peeked]) {
        let answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a plain HTTP request"));
    }
    TlsAcceptor::from(tls.config(local)).accept(stream).await
}

fn looks_like_http(start: &[u8]) -> bool {
    [&b"GET /"[..], b"HEAD ", b"POST ", b"PUT /", b"OPTIO"].contains(&start)
}

async fn serve_http<H: Handler>(shared: &Arc<Shared<H>>, stream: TlsStream<TcpStream>, address: SocketAddr) {
    let session = stream.get_ref().1;
    let is_http2 = session.alpn_protocol() == Some(b"h2");
    let certificates = session.peer_certificates().unwrap_or_default();
    let peer = Arc::new(Peer::new(address, certificates.iter().map(|it| it.clone().into_owned()).collect()));
    let pulse = Arc::new(if is_http2 {
        Pulse::http2(shared.clock.clone(), &shared.limits)
    } else {
        Pulse::http1(shared.clock.clone(), &shared.limits)
    });
    let io = TokioIo::new(Wire::new(stream, Arc::clone(&pulse)));
    let service = service_fn({
        let (shared, peer, pulse) = (Arc::clone(shared), Arc::clone(&peer), Arc::clone(&pulse));
        move |request: Request<Incoming>| {
            let busy = pulse::Busy::new(&pulse);
            let refusal = if is_http2 { None } else { objection(&request) };
            let expects = head::expects(request.headers());
            let (answer, rest) = match refusal {
                Some(refusal) => {
                    pulse.linger();
                    (future::ready(refusal).boxed(), None)
                }
                None => {
                    let (parts, body) = request.into_parts();
                    let (body, rest) = RequestBody::incoming(body);
                    let request = Request::from_parts(parts, body);
                    (Arc::clone(&shared.handler).handle(request, Arc::clone(&peer)), rest)
                }
            };
            let (clock, pulse) = (shared.clock.clone(), Arc::clone(&pulse));
            async move {
                let mut response = answer.await;
                if let Some(rest) = rest {
                    if is_http2 {
                        rest.linger(&clock);
                    } else if !rest.read(&clock, expects).await {
                        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                        pulse.linger();
                    }
                }
                response.body_mut().hold(busy);
                if let Some(phrase) = go_reason(response.status()).filter(|_| !is_http2) {
                    response.extensions_mut().insert(ReasonPhrase::from_static(phrase));
                }
                Ok::<_, Infallible>(response)
            }
        }
    });
    let result = if is_http2 {
        drive(http2_builder(&shared.limits).serve_connection(io, service), shared, &peer, &pulse).await
    } else {
        let connection = http1_builder(&shared.limits).serve_connection(io, service).with_upgrades();
        drive(connection, shared, &peer, &pulse).await
    };
    if let Err(error) = result {
        debug!(%address, %error, "connection ended");
    }
}

/// Go's reason phrase of a status, if it differs from today's.
///
/// Origin: Go, net/http/status.go, StatusText.
fn go_reason(status: StatusCode) -> Option<&'static [u8]> {
    match status {
        StatusCode::NON_AUTHORITATIVE_INFORMATION => Some(b"Non-Authoritative Information"),
        StatusCode::PAYLOAD_TOO_LARGE => Some(b"Request Entity Too Large"),
        StatusCode::URI_TOO_LONG => Some(b"Request URI Too Long"),
        StatusCode::RANGE_NOT_SATISFIABLE => Some(b"Requested Range Not Satisfiable"),
        _ => None,
    }
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // As Go writes them: `Content-Type`, `Audit-Id`.
        .title_case_headers(true)
        // The pulse enforces the deadline: hyper's own would also run while the connection is idle.
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes + BUFFER_SLACK)
        .max_header_size(limits.header_bytes)
        .max_headers(HEADER_LINES);
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<Spawn> {
    let mut builder = http2::Builder::new(Spawn);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(limits.stream_bytes)
        .initial_connection_window_size(limits.stream_bytes.saturating_mul(limits.streams))
        .max_frame_size(limits.stream_bytes)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    builder
}

/// Runs the streams of HTTP/2 as named tasks.
#[derive(Clone, Copy, Debug)]
struct Spawn;

impl<F> hyper::rt::Executor<F> for Spawn
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        keelson_stdx::task::spawn("http2 stream", future);
    }
}

/// Both kinds of connection, as the driver sees them.
trait Connection: Future<Output = hyper::Result<()>> {
    fn finish(self: Pin<&mut Self>);
}

impl<I, S> Connection for http1::UpgradeableConnection<I, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = crate::response::Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S> Connection for http2::Connection<I, S, Spawn>
where
    S: hyper::service::HttpService<Incoming, ResBody = crate::response::Body>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    Spawn: hyper::rt::bounds::Http2ServerConnExec<S::Future, crate::response::Body>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Polls the connection, and between polls checks whether it must be finished or cut.
async fn drive<H: Handler>(
    connection: impl Connection,
    shared: &Shared<H>,
    peer: &Peer,
    pulse: &Pulse,
) -> hyper::Result<()> {
    let mut connection = std::pin::pin!(connection);
    let mut wanted = std::pin::pin!(async {
        tokio::select! {
            () = shared.draining.cancelled() => {}
            () = peer.go_away.notified() => {}
        }
    });
    let mut is_finishing = false;
    let mut timer = pulse.timer();
    poll_fn(|context| {
        loop {
            if let Poll::Ready(result) = connection.as_mut().poll(context) {
                return Poll::Ready(result);
            }
            let mut finish = !is_finishing && wanted.as_mut().poll(context).is_ready();
            if !finish {
                match ready!(timer.poll(pulse, context)) {
                    Step::Cut => return Poll::Ready(Ok(())),
                    Step::Finish => finish = !is_finishing,
                }
            }
            if finish {
                is_finishing = true;
                pulse.finish();
                connection.as_mut().finish();
            }
        }
    })
    .await
}

impl<S: tokio::io::AsyncRead + Unpin> tokio::io::AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.pulse.heard();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: tokio::io::AsyncWrite + Unpin> tokio::io::AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Waits a moment if the client may still be sending: the system answers bytes that arrive at a closed
    /// socket with a reset, which may overtake the response.
    ///
    /// Upstream: Go's net/http, (*conn).closeWriteAndWait.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        self.poll_linger(context).map(Ok)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
