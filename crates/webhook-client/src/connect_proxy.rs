//! HTTP CONNECT proxies: the client first asks for a tunnel, which then connects both ends.
//!
//! ```text
//! us ── TCP, TLS or a Unix socket ──> proxy    CONNECT 10.0.0.7:8443 HTTP/1.1
//!                                    proxy ──> 10.0.0.7:8443
//! us <────────────────────────────── proxy     HTTP/1.1 200 OK
//! us <── whatever both ends speak, mostly TLS ──> 10.0.0.7:8443
//! ```
//!
//! Upstream: apiserver/pkg/server/egressselector/egress_selector.go, tunnelHTTPConnect (v1.36.4).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use http::Uri;
use keelson_object::scalar::quote;
use keelson_stdx::clock::Clock;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::client::tls;
use crate::dials::Dials;
use crate::{Error, Failure, Target, error};

/// The limit of what is read from a proxy before the tunnel is open.
///
/// Upstream: apiserver/pkg/server/egressselector/egress_selector.go, tunnelHTTPConnect (v1.36.4).
const MOST_HEAD: usize = 1 << 20;

/// A connection, whatever its transport.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A proxy that opens tunnels.
pub struct Proxy {
    way: Way,
    /// The name in messages.
    name: String,
    clock: Clock,
}

impl PartialEq for Proxy {
    fn eq(&self, other: &Proxy) -> bool {
        self.name == other.name
    }
}

impl Eq for Proxy {}

enum Way {
    Tcp { address: String, tls: Option<(Arc<ClientConfig>, ServerName<'static>)> },
    Unix(PathBuf),
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.name).finish()
    }
}

impl Proxy {
    /// A proxy that listens on a socket of this machine.
    pub fn unix(path: impl Into<PathBuf>) -> Proxy {
        let path = path.into();
        Proxy { name: path.display().to_string(), way: Way::Unix(path), clock: Clock::real() }
    }

    /// A proxy at the URL of `target`, with its trust and identity if it is https.
    pub fn tcp(target: &Target, clock: &Clock) -> Result<Proxy, Error> {
        let bad = |reason: String| Error::BadTarget { field: "url", reason };
        let uri: Uri =
            target.url.parse().map_err(|error| bad(format!("parse \"{}\": {error}", target.url)))?;
        let is_tls = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or_else(|| bad(format!("\"{}\" names no host", target.url)))?;
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let tls = if is_tls {
            let mut config = tls(target, clock)?;
            config.alpn_protocols.clear();
            let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = target.server_name.clone().filter(|it| !it.is_empty()).unwrap_or(bare);
            let name = ServerName::try_from(name).map_err(|error| bad(error.to_string()))?;
            Some((Arc::new(config), name))
        } else {
            None
        };
        let address = format!("{host}:{port}");
        Ok(Proxy { name: address.clone(), way: Way::Tcp { address, tls }, clock: clock.clone() })
    }

    /// A tunnel to `address`.
    pub(crate) async fn open(&self, address: &str) -> Result<Box<dyn Wire>, Failure> {
        let dials = match &self.way {
            Way::Tcp { .. } => Dials::over_tcp(),
            Way::Unix(_) => Dials::over_unix(),
        };
        dials.start();
        let begun = self.clock.monotonic();
        let wire = self.connect().await.inspect_err(|_| dials.not_connected())?;
        let wire = self.tunnel(wire, address).await.inspect_err(|_| dials.not_proxied())?;
        dials.took(self.clock.monotonic().saturating_sub(begun));
        Ok(wire)
    }

    async fn tunnel(&self, mut wire: Box<dyn Wire>, address: &str) -> Result<Box<dyn Wire>, Failure> {
        let ask = format!("CONNECT {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        // If this fails, the response shows it.
        let _ = wire.write_all(ask.as_bytes()).await;
        let _ = wire.flush().await;
        let mut lines = Lines::new(&mut wire);
        let status = status(&mut lines).await.map_err(|why| Failure::Proxy {
            reason: format!(
                "reading HTTP response from CONNECT to {address} via proxy {} failed: {why}",
                self.name
            ),
        })?;
        let rest = lines.rest();
        match status.split(' ').next().unwrap_or_default() {
            "200" if rest == 0 => Ok(wire),
            // The server behind the tunnel waits for the client to speak first.
            "200" => Err(Failure::Proxy {
                reason: format!(
                    "unexpected {rest} bytes of buffered data from CONNECT proxy {}",
                    quote(&self.name)
                ),
            }),
            code => Err(Failure::Proxy {
                reason: format!(
                    "proxy error from {} while dialing {address}, code {code}: {status}",
                    self.name
                ),
            }),
        }
    }

    async fn connect(&self) -> Result<Box<dyn Wire>, Failure> {
        let failed = |network: &str, error: &std::io::Error| Failure::Proxy {
            reason: format!("dial {network} {}: connect: {}", self.name, error::in_words(error)),
        };
        match &self.way {
            Way::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|error| failed("unix", &error))?;
                Ok(Box::new(stream))
            }
            Way::Tcp { address, tls } => {
                let tcp = TcpStream::connect(address).await.map_err(|error| failed("tcp", &error))?;
                let _ = tcp.set_nodelay(true);
                let Some((config, name)) = tls else { return Ok(Box::new(tcp)) };
                let stream = TlsConnector::from(config.clone()).connect(name.clone(), tcp).await;
                Ok(Box::new(stream.map_err(|error| crate::connect::of_handshake(&error))?))
            }
        }
    }
}

/// `200 OK`: the status in the first line of a response. The other lines are read and ignored.
///
/// Origin: Go, net/http/response.go, ReadResponse.
async fn status(lines: &mut Lines<'_>) -> Result<String, String> {
    let first = lines.next().await?;
    let (version, status) =
        first.split_once(' ').ok_or_else(|| format!("malformed HTTP response {}", quote(&first)))?;
    let status = status.trim_start_matches(' ');
    let code = status.split(' ').next().unwrap_or_default();
    if code.len() != 3 || !code.bytes().all(|it| it.is_ascii_digit()) {
        return Err(format!("malformed HTTP status code {}", quote(code)));
    }
    let number = version.strip_prefix("HTTP/").map(str::as_bytes);
    if !matches!(number, Some([major, b'.', minor]) if major.is_ascii_digit() && minor.is_ascii_digit()) {
        return Err(format!("malformed HTTP version {}", quote(version)));
    }
    loop {
        let line = lines.next().await?;
        if line.is_empty() {
            return Ok(status.to_owned());
        }
        if !line.starts_with([' ', '\t']) && !line.contains(':') {
            return Err(format!("malformed MIME header: missing colon: {}", quote(&line)));
        }
    }
}

/// Lines from a proxy.
struct Lines<'w> {
    wire: &'w mut Box<dyn Wire>,
    read: Vec<u8>,
    /// The beginning of the next line.
    next: usize,
}

impl<'w> Lines<'w> {
    fn new(wire: &'w mut Box<dyn Wire>) -> Lines<'w> {
        Lines { wire, read: Vec::new(), next: 0 }
    }

    /// The next line, or why there is none. Text before the end of the stream counts as a line, too.
    async fn next(&mut self) -> Result<String, String> {
        let mut seen = self.next;
        loop {
            if let Some(length) = self.read[seen..].iter().position(|it| *it == b'\n') {
                return Ok(self.take(seen + length, 1));
            }
            seen = self.read.len();
            let mut more = [0; 4096];
            let most = more.len().min(MOST_HEAD - self.read.len());
            match self.wire.read(&mut more[..most]).await {
                Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                    return Err(crate::connect::broken(&error));
                }
                Ok(length @ 1..) => self.read.extend_from_slice(&more[..length]),
                _ if seen > self.next => return Ok(self.take(seen, 0)),
                _ => return Err("unexpected EOF".to_owned()),
            }
        }
    }

    /// The text before `end`; the `skipped` bytes after it are dropped.
    fn take(&mut self, end: usize, skipped: usize) -> String {
        let line = String::from_utf8_lossy(&self.read[self.next..end]);
        let line = line.strip_suffix('\r').unwrap_or(&line).to_owned();
        self.next = end + skipped;
        line
    }

    /// The number of bytes after the last line.
    fn rest(&self) -> usize {
        self.read.len() - self.next
    }
}

#[cfg(test)]
mod tests;
