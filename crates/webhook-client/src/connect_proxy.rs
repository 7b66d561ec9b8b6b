//! Proxies on the way: a tunnel is asked for first, and what comes then goes from one end to the other.
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
use keelson_stdx::clock::Clock;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::client::tls;
use crate::{Error, Failure, Target, error};

/// So much of what a proxy says before the tunnel is read, as Go does.
const MOST_HEAD: usize = 1 << 20;

/// A connection, whatever is below it.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Somebody who opens tunnels.
pub struct Proxy {
    way: Way,
    /// What messages call it.
    name: String,
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
        Proxy { name: path.display().to_string(), way: Way::Unix(path) }
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
            let name = ServerName::try_from(bare).map_err(|error| bad(error.to_string()))?;
            Some((Arc::new(config), name))
        } else {
            None
        };
        let address = format!("{host}:{port}");
        Ok(Proxy { name: address.clone(), way: Way::Tcp { address, tls } })
    }

    /// A tunnel to `address`.
    pub(crate) async fn open(&self, address: &str) -> Result<Box<dyn Wire>, Failure> {
        let mut wire = self.connect().await?;
        let ask = format!("CONNECT {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        let read = async {
            wire.write_all(ask.as_bytes()).await?;
            wire.flush().await?;
            head(&mut wire).await
        };
        let head = read.await.map_err(|error| Failure::Broken {
            reason: format!(
                "reading HTTP response from CONNECT to {address} via proxy {} failed: {}",
                self.name,
                error::in_words(&error)
            ),
        })?;
        let status =
            head.lines().next().and_then(|it| it.split_once(' ')).map_or("", |(_, status)| status.trim());
        match status.split(' ').next() {
            Some("200") => Ok(wire),
            code => Err(Failure::Broken {
                reason: format!(
                    "proxy error from {} while dialing {address}, code {}: {status}",
                    self.name,
                    code.unwrap_or_default()
                ),
            }),
        }
    }

    async fn connect(&self) -> Result<Box<dyn Wire>, Failure> {
        let failed = |error: &std::io::Error| Failure::Connect {
            address: self.name.clone(),
            reason: format!("connect: {}", error::in_words(error)),
        };
        match &self.way {
            Way::Unix(path) => Ok(Box::new(UnixStream::connect(path).await.map_err(|error| failed(&error))?)),
            Way::Tcp { address, tls } => {
                let tcp = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
                let _ = tcp.set_nodelay(true);
                let Some((config, name)) = tls else { return Ok(Box::new(tcp)) };
                let stream = TlsConnector::from(config.clone()).connect(name.clone(), tcp).await;
                Ok(Box::new(stream.map_err(|error| crate::connect::of_handshake(&error))?))
            }
        }
    }
}

/// What a proxy says up to the empty line. Byte by byte: what comes then is not ours to read.
async fn head(wire: &mut Box<dyn Wire>) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MOST_HEAD {
            return Err(std::io::Error::other("the head of the response is too long"));
        }
        head.push(wire.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use keelson_stdx::clock::Clock;
    use keelson_stdx::task;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, UnixListener};

    use super::{Proxy, Wire};
    use crate::Target;

    /// Takes one connection, notes the question, says `answer` and repeats what comes then.
    async fn repeat(mut wire: impl Wire, answer: &'static str) -> String {
        let mut asked = vec![0; 1024];
        let length = wire.read(&mut asked).await.expect("a question");
        wire.write_all(answer.as_bytes()).await.expect("an answer");
        let mut word = [0; 4];
        if wire.read_exact(&mut word).await.is_ok() {
            wire.write_all(&word).await.expect("an echo");
        }
        String::from_utf8_lossy(&asked[..length]).into_owned()
    }

    #[tokio::test]
    async fn a_tunnel_is_asked_for_and_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("proxy.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let proxy = task::spawn("proxy", async move {
            let (wire, _) = listener.accept().await.expect("a connection");
            repeat(wire, "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n").await
        });
        let mut wire = Proxy::unix(&path).open("10.0.0.7:8443").await.expect("a tunnel");
        wire.write_all(b"ping").await.expect("sent");
        let mut word = [0; 4];
        wire.read_exact(&mut word).await.expect("an echo");
        assert_eq!(&word, b"ping");
        let asked = proxy.await.expect("it ends");
        assert_eq!(asked, "CONNECT 10.0.0.7:8443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    }

    #[tokio::test]
    async fn a_proxy_may_refuse() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let proxy = task::spawn("proxy", async move {
            let (wire, _) = listener.accept().await.expect("a connection");
            repeat(wire, "HTTP/1.1 503 Service Unavailable\r\n\r\n").await
        });
        let target = Target::new(format!("http://{at}"));
        let refused = Proxy::tcp(&target, &Clock::real()).expect("a proxy").open("a:1").await.err();
        let text = refused.expect("no tunnel").to_string();
        assert_eq!(
            text,
            format!("proxy error from {at} while dialing a:1, code 503: 503 Service Unavailable")
        );
        drop(proxy);
    }
}
