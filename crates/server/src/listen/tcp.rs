//! TCP: the listening socket and what every accepted socket gets.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use keelson_stdx::backoff::Backoff;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tracing::warn;

/// Dead peers are noticed by the kernel after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(3 * 60);

/// Connections that wait to be accepted. The kernel caps it with `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// How a listening socket shares its address with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Several processes may listen on the port (`SO_REUSEPORT`).
    pub port: bool,
    /// A wildcard address and a specific one may use the same port (`SO_REUSEADDR`).
    pub address: bool,
}

/// Opens a listening socket. Port 0 takes a free one.
pub fn bind(address: SocketAddr, sharing: Sharing) -> io::Result<TcpListener> {
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // `::` also takes IPv4 connections, as Go's listener does.
        socket.set_only_v6(false)?;
    }
    // On Unix this only allows a quick restart; two listeners still conflict.
    socket.set_reuse_address(cfg!(unix) || sharing.address)?;
    #[cfg(unix)]
    if sharing.port {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Accepts the next connection. After an error, for example because of too many open files, it waits and
/// tries again.
pub async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                prepare(&stream);
                return (stream, peer);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                let delay = backoff.delay();
                warn!(%error, retry_in_ms = delay.as_millis() as u64, "cannot accept a connection");
                tokio::time::sleep(delay).await;
            }
        }
    }
}

/// A failure to set a socket option does not refuse the client.
fn prepare(stream: &TcpStream) {
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_keepalive(&keep_alive);
    let _ = socket.set_tcp_nodelay(true);
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

#[cfg(test)]
mod tests {
    use socket2::SockRef;

    use super::{KEEP_ALIVE, Sharing, accept, bind};

    #[tokio::test]
    async fn accepted_sockets_keep_alive_and_do_not_delay() {
        let listener = bind("127.0.0.1:0".parse().unwrap(), Sharing::default()).unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = accept(&listener).await;
        assert_eq!(peer, client.local_addr().unwrap());
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE);
        assert!(socket.tcp_nodelay().unwrap());
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error() {
        let listener = bind("127.0.0.1:0".parse().unwrap(), Sharing::default()).unwrap();
        let taken = listener.local_addr().unwrap();
        let error = bind(taken, Sharing::default()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    }
}
