//! Raw HTTP/1.1, byte by byte, for requests that no client would send.

use std::time::Duration;

use keelson_testkit::{Connector, Credentials, Protocol, RunningServer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

/// A response is taken as complete after this time without data.
const SILENCE: Duration = Duration::from_millis(700);

/// A new connection on which nothing was sent yet.
pub async fn connect(
    server: &RunningServer,
    credentials: &Credentials,
) -> impl AsyncRead + AsyncWrite + Unpin + use<> {
    let connector = Connector::new(&server.url(), credentials, Protocol::Http1).expect("a connector");
    connector.tls().await.expect("a connection")
}

/// Sends bytes, and reads until the other side closes the connection or sends nothing for a while.
pub async fn say(server: &RunningServer, credentials: &Credentials, bytes: &[u8]) -> String {
    let mut stream = connect(server, credentials).await;
    exchange(&mut stream, bytes, SILENCE).await
}

/// The same on an open connection, with another patience.
pub async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    bytes: &[u8],
    silence: Duration,
) -> String {
    // A server that rejects early does not read to the end; its response still counts.
    let _ = stream.write_all(bytes).await;
    let mut said = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(Ok(count)) = timeout(silence, stream.read(&mut buffer)).await {
        if count == 0 {
            break;
        }
        said.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// The status codes in a response. A body need not end with a line break.
pub fn codes(said: &str) -> Vec<&str> {
    said.split("HTTP/1.1 ").skip(1).filter_map(|rest| rest.get(..3)).collect()
}
