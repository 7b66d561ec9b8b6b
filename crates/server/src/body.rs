//! The body of a request: bounded in size, and in time by the request's deadline.
//!
//! A request may be answered before its body was read: 401, 404, 413. What is left then comes back to the connection,
//! which reads a little more of it, so that the client gets to read the answer and may go on; see [`Rest`].

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

/// How long a stream of HTTP/2 stays open behind its answer for a client that is still sending.
const LINGER: Duration = Duration::from_secs(1);

/// What a client sends.
#[derive(Debug)]
pub enum RequestBody {
    /// Bytes that are still under way.
    Wire(OnWire),
    /// Bytes that are there.
    Memory(Bytes),
}

/// A body that is still under way. What is left of it when it is dropped goes to its [`Rest`].
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
    /// The client was waited for.
    Waiting,
}

/// Where the connection finds what a request has left of its body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rest(Arc<Mutex<Option<Left>>>);

#[derive(Debug)]
struct Left {
    body: Incoming,
    progress: Progress,
}

impl RequestBody {
    /// A body that comes in, and what will be left of it; `None` if there is nothing to read.
    pub(crate) fn incoming(body: Incoming) -> (RequestBody, Option<Rest>) {
        if body.is_end_stream() {
            return (RequestBody::Memory(Bytes::new()), None);
        }
        let rest = Rest::default();
        let wire = OnWire { body: Some(body), progress: Progress::Untouched, rest: rest.clone() };
        (RequestBody::Wire(wire), Some(rest))
    }

    /// Reads all of it, unless it is longer than `limit`.
    ///
    /// A client that sends slowly is cut by the deadline of its request, because this runs under it. (Upstream waits
    /// for ever.)
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
    /// Reads what is left on a connection of HTTP/1, where the answer comes behind it. Says whether all was read, so
    /// that the connection can go on.
    ///
    /// Upstream: Go's net/http, (*chunkWriter).writeHeader.
    pub(crate) async fn read(&self, clock: &Clock, expects: Expects) -> bool {
        let Some(Left { mut body, progress }) = self.0.lock().take() else { return true };
        match progress {
            // A client that got no `100 Continue` sends either nothing or all of it.
            Progress::Untouched if expects == Expects::Continue => return false,
            // It had its time.
            Progress::Waiting => return false,
            Progress::Untouched | Progress::Begun => {}
        }
        if body.size_hint().lower() >= UNWANTED as u64 {
            return false;
        }
        clock.timeout(PATIENCE, skip(&mut body)).await.unwrap_or(false)
    }

    /// Keeps a stream of HTTP/2 open behind its answer, so that the client reads the answer and not that the stream was
    /// reset. Streams are bounded, and so is what a client may send on a stream that is not read.
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

/// Reads up to the end, but not more than [`UNWANTED`] bytes. Says whether the end was there.
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
