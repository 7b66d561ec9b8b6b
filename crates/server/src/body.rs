//! Request bodies: limited in size, and in time by the deadline of the request.
//!
//! A request may be answered before its body was read: 401, 404, 413. The unread rest then goes back to the
//! connection, which reads a little more of it, so that the client can read the response and use the
//! connection again; see [`Rest`].

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use parking_lot::Mutex;

use crate::error::{Error, Result};

/// How much of an unread body is read after the response is known.
///
/// Upstream: Go's net/http, maxPostHandlerReadBytes.
const UNWANTED: usize = 256 << 10;

/// How long a client may take to send the rest of an unread body. (Upstream waits for ever.)
const PATIENCE: Duration = Duration::from_secs(5);

/// How long an HTTP/2 stream stays open after its response for a client that is still sending.
const LINGER: Duration = Duration::from_secs(1);

/// The body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// A body that is still being received.
    Wire(OnWire),
    /// A body in memory.
    Memory(Bytes),
}

/// A body that is still being received. The rest that is unread when it is dropped goes to its [`Rest`].
#[derive(Debug)]
pub struct OnWire {
    body: Option<Incoming>,
    progress: Progress,
    rest: Rest,
}

/// How far a body was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Untouched,
    Begun,
    /// The server is waiting for the client.
    Waiting,
}

/// Where the connection finds the unread rest of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest(Arc<Mutex<Option<Left>>>);

#[derive(Debug)]
struct Left {
    body: Incoming,
    progress: Progress,
}

impl RequestBody {
    /// A body that is received, and its future rest; `None` if there is nothing to read.
    pub(crate) fn incoming(body: Incoming) -> (RequestBody, Option<Rest>) {
        if body.is_end_stream() {
            return (RequestBody::Memory(Bytes::new()), None);
        }
        let rest = Rest::default();
        let wire = OnWire { body: Some(body), progress: Progress::Untouched, rest: rest.clone() };
        (RequestBody::Wire(wire), Some(rest))
    }

    /// Reads the whole body, unless it is longer than `limit`.
    ///
    /// A client that sends slowly is cut off by the deadline of its request, because this runs under it.
    /// (Upstream waits for ever.)
    pub async fn read(self, limit: usize) -> Result<Bytes> {
        let too_large = Error::BodyTooLarge { limit };
        let mut wire = match self {
            RequestBody::Memory(bytes) if bytes.len() > limit => return Err(too_large),
            RequestBody::Memory(bytes) => return Ok(bytes),
            RequestBody::Wire(wire) => wire,
        };
        let announced = wire.body.as_ref().map_or(0, |body| body.size_hint().lower());
        if announced > limit as u64 {
            return Err(too_large);
        }
        let mut first: Option<Bytes> = None;
        let mut all = BytesMut::new();
        while let Some(chunk) = wire.next().await? {
            if first.as_ref().map_or(all.len(), Bytes::len) + chunk.len() > limit {
                return Err(too_large);
            }
            // Most bodies are one chunk and need no copy.
            match first.take() {
                None if all.is_empty() => first = Some(chunk),
                None => all.extend_from_slice(&chunk),
                Some(start) => {
                    all.reserve(usize::try_from(announced).unwrap_or(0).max(start.len() + chunk.len()));
                    all.extend_from_slice(&start);
                    all.extend_from_slice(&chunk);
                }
            }
        }
        Ok(first.unwrap_or_else(|| all.freeze()))
    }
}

impl OnWire {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let Some(body) = &mut self.body else { return Ok(None) };
        self.progress = Progress::Waiting;
        while let Some(frame) = body.frame().await {
            self.progress = Progress::Begun;
            if let Ok(chunk) = frame.map_err(Error::BodyBroken)?.into_data() {
                return Ok(Some(chunk));
            }
            self.progress = Progress::Waiting;
        }
        self.body = None;
        Ok(None)
    }
}

impl Drop for OnWire {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.rest.0.lock() = Some(Left { body, progress: self.progress });
        }
    }
}

/// Whether the client expects `100 Continue` before it sends a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    Continue,
    Nothing,
}

impl Rest {
    /// Reads the rest on an HTTP/1 connection, where the response comes after it. Returns whether everything
    /// was read, so that the connection can be reused.
    ///
    /// Upstream: Go's net/http, (*chunkWriter).writeHeader.
    pub(crate) async fn read(&self, clock: &Clock, expects: Expects) -> bool {
        let Some(Left { mut body, progress }) = self.0.lock().take() else { return true };
        match progress {
            // A client that got no `100 Continue` sends either nothing or all of it.
            Progress::Untouched if expects == Expects::Continue => return false,
            // The client had its time.
            Progress::Waiting => return false,
            Progress::Untouched | Progress::Begun => {}
        }
        if body.size_hint().lower() >= UNWANTED as u64 {
            return false;
        }
        clock.timeout(PATIENCE, skip(&mut body)).await.unwrap_or(false)
    }

    /// Keeps an HTTP/2 stream open after its response, so that the client reads the response and not a reset.
    /// The number of streams is limited, and so is what a client may send on a stream that is not read.
    pub(crate) fn linger(&self, clock: &Clock) {
        let Some(Left { mut body, .. }) = self.0.lock().take() else { return };
        let clock = clock.clone();
        task::spawn("rest of a body", async move {
            let rest = async {
                if !skip(&mut body).await {
                    std::future::pending::<()>().await;
                }
            };
            clock.timeout(LINGER, rest).await;
        });
    }
}

/// Reads up to the end, but not more than [`UNWANTED`] bytes. Returns whether it reached the end.
async fn skip(body: &mut Incoming) -> bool {
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > UNWANTED {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::RequestBody;

    #[tokio::test]
    async fn bodies_are_bounded() {
        let body = |size: usize| RequestBody::Memory(Bytes::from(vec![b'x'; size]));
        assert_eq!(body(10).read(10).await.unwrap().len(), 10);
        let error = body(11).read(10).await.unwrap_err();
        assert_eq!(error.to_string(), "the body is over the limit of 10 bytes");
    }
}
