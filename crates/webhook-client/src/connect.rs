//! Connector: from a URL to a stream for HTTP.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::Failure;
use crate::certificate::Flaws;
use crate::connect_proxy::{Proxy, Wire};
use crate::error;
use crate::trust;

/// Resolves a host to addresses; a webhook may be a service whose addresses only the server knows.
pub trait Resolver: Send + Sync {
    /// All addresses, the best first, or why there are none.
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, String>>;
}

/// Makes connections for the pool.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) resolver: Option<Arc<dyn Resolver>>,
    pub(crate) proxy: Option<Arc<Proxy>>,
    pub(crate) server_name: Option<ServerName<'static>>,
}

impl Connector {
    async fn connect(self, uri: Uri) -> Result<Stream, Failure> {
        let is_tls = uri.scheme() != Some(&Scheme::HTTP);
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let tcp = self.wire(host, port).await?;
        if !is_tls {
            return Ok(Stream::Plain(TokioIo::new(tcp)));
        }
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned())
                .map_err(|_| Failure::Tls { reason: format!("tls: {host} is no name of a server") })?,
        };
        let stream = TlsConnector::from(self.tls.clone()).connect(name, tcp).await;
        stream.map(|it| Stream::Tls(TokioIo::new(Box::new(it)))).map_err(|error| of_handshake(&error))
    }

    async fn wire(&self, host: &str, port: u16) -> Result<Box<dyn Wire>, Failure> {
        let Some(proxy) = &self.proxy else { return Ok(Box::new(self.tcp(host, port).await?)) };
        // The proxy resolves names, unless there is a resolver.
        match &self.resolver {
            Some(_) => match self.addresses(host, port).await?.first() {
                Some(address) => proxy.open(&address.to_string()).await,
                None => Err(Failure::Resolve { host: host.to_owned(), reason: "no such host".to_owned() }),
            },
            None if host.contains(':') => proxy.open(&format!("[{host}]:{port}")).await,
            None => proxy.open(&format!("{host}:{port}")).await,
        }
    }

    async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, Failure> {
        let mut last = Failure::Resolve { host: host.to_owned(), reason: "no such host".to_owned() };
        for address in self.addresses(host, port).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // Send small requests without delay.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => {
                    let reason = format!("connect: {}", error::in_words(&error));
                    last = Failure::Connect { address: address.to_string(), reason };
                }
            }
        }
        Err(last)
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let failed = |reason| Failure::Resolve { host: host.to_owned(), reason };
        match &self.resolver {
            // A resolver words its own errors.
            Some(resolver) => {
                resolver.resolve(host, port).await.map_err(|reason| Failure::Unresolved { reason })
            }
            None => match tokio::net::lookup_host((host, port)).await {
                Ok(found) => Ok(found.collect()),
                Err(_) => Err(failed("no such host".to_owned())),
            },
        }
    }
}

pub(crate) fn of_handshake(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
        Some(error) => Failure::Tls { reason: trust::in_words(error) },
        None => Failure::Broken { reason: broken(error) },
    }
}

/// Go's message for a connection that ended.
pub(crate) fn broken(error: &io::Error) -> String {
    if let Some(error) = error.get_ref().and_then(|it| it.downcast_ref::<rustls::Error>()) {
        return trust::in_words(error);
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        io::ErrorKind::ConnectionReset => "read: connection reset by peer".to_owned(),
        _ => error::in_words(error),
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Stream, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        self.clone().connect(uri).boxed()
    }
}

/// A connection, with TLS or without.
pub(crate) enum Stream {
    Plain(TokioIo<Box<dyn Wire>>),
    Tls(TokioIo<Box<TlsStream<Box<dyn Wire>>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Stream::Tls(stream) => {
                let session = stream.inner().get_ref().1;
                let connected =
                    Connected::new().extra(Flaws::of(session.peer_certificates().unwrap_or_default()));
                if session.alpn_protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
            }
            Stream::Plain(_) => Connected::new(),
        }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
