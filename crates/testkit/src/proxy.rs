//! Proxy: a TCP proxy on loopback that can be cut, made slow, or swallow everything.
//!
//! ```text
//! client ──▶ Proxy ──▶ etcd      Clear: bytes pass      Slow: late, and few at a time
//!                                Cut: connections end   Hole: connections stay, nothing comes out
//! ```

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What the proxy does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bytes pass.
    Clear,
    /// Connections end at once, new ones as well.
    Cut,
    /// Connections are taken and stay open, and nothing comes out of them until the way is clear again.
    Hole,
    /// Bytes are delayed, and the rate is limited.
    Slow {
        /// The delay of each portion.
        latency: Duration,
        /// The rate in bytes per second.
        bytes_per_second: u32,
    },
}

/// Takes connections until it is dropped.
pub struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
    listener: AbortHandle,
}

/// The size of a portion.
const PORTION: usize = 16 * 1024;

impl Proxy {
    /// A clear way to `endpoint`, such as `http://127.0.0.1:2379`.
    pub async fn to(endpoint: &str) -> Result<Proxy> {
        let (_, target) = endpoint.split_once("://").unwrap_or(("", endpoint));
        let target: SocketAddr = target.parse().with_context(|| format!("{endpoint} is no address"))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (way, seen) = watch::channel(Way::Clear);
        let listener = task::spawn("proxy", async move {
            // Connections end with their proxy.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(connect(stream, target, seen.clone()));
            }
        })
        .abort_handle();
        Ok(Proxy { address, way, listener })
    }

    /// Its address: `http://127.0.0.1:port`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address: `https://127.0.0.1:port`, for TLS through the proxy.
    pub fn tls_endpoint(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Sets the behaviour from now on.
    pub fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn connect(stream: TcpStream, target: SocketAddr, way: watch::Receiver<Way>) {
    let work = async {
        let Some(()) = pass(&mut way.clone(), 0).await else { return };
        let Ok(other) = TcpStream::connect(target).await else { return };
        for it in [&stream, &other] {
            let _ = it.set_nodelay(true);
        }
        let ((from, to), (back_from, back_to)) = (stream.into_split(), other.into_split());
        let there = pump(from, back_to, way.clone());
        let back = pump(back_from, to, way.clone());
        tokio::join!(there, back);
    };
    let mut cut = way.clone();
    tokio::select! {
        () = work => {}
        // What is dropped in the middle is closed on both sides.
        _ = cut.wait_for(|it| *it == Way::Cut) => {}
    }
}

/// Carries bytes from one side to the other until one of them ends.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut buffer = vec![0; PORTION];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if pass(&mut way, count).await.is_none() || to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// Waits until so many bytes may pass; `None` when the proxy has been dropped.
async fn pass(way: &mut watch::Receiver<Way>, count: usize) -> Option<()> {
    let now = *way.wait_for(|it| *it != Way::Hole).await.ok()?;
    if let Way::Slow { latency, bytes_per_second } = now {
        let seconds = count as f64 / f64::from(bytes_per_second.max(1));
        Clock::real().sleep(latency + Duration::from_secs_f64(seconds)).await;
    }
    Some(())
}
