//! The body of a request: bounded in size, and in time by the request's deadline.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::error::{Error, Result};

/// How many times the limit is read from a client that sends too much.
const DRAINED_LIMITS: usize = 4;
/// How much of a body is read that nobody asked for, as Go's server does.
const DISCARDED: usize = 256 * 1024;

/// What a client sends.
#[derive(Debug)]
pub enum RequestBody {
    /// Bytes that are still under way.
    Wire(Incoming),
    /// Bytes that are there.
    Memory(Bytes),
}

impl RequestBody {
    /// Reads all of it, unless it is longer than `limit`.
    ///
    /// A client that sends slowly is cut by the deadline of its request, because this runs under it. (Upstream waits
    /// for ever.)
    pub async fn read(self, limit: usize) -> Result<Bytes> {
        let too_large = Error::BodyTooLarge { limit };
        let mut body = match self {
            RequestBody::Memory(bytes) if bytes.len() > limit => return Err(too_large),
            RequestBody::Memory(bytes) => return Ok(bytes),
            RequestBody::Wire(body) => body,
        };
        let announced = http_body::Body::size_hint(&body).lower();
        if announced > limit as u64 {
            drain(&mut body, limit).await;
            return Err(too_large);
        }
        let mut first: Option<Bytes> = None;
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(Error::BodyBroken)?.into_data() else { continue };
            if first.as_ref().map_or(all.len(), Bytes::len) + chunk.len() > limit {
                drain(&mut body, limit).await;
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

    /// Reads what nobody asked for, so that the connection can go on. A long one ends it.
    pub async fn discard(self) {
        if let RequestBody::Wire(mut body) = self {
            drain(&mut body, DISCARDED / DRAINED_LIMITS).await;
        }
    }
}

/// Reads a few more bytes and forgets them: a client that is still writing when the connection closes never reads
/// why it was refused.
async fn drain(body: &mut Incoming, limit: usize) {
    let mut left = DRAINED_LIMITS * limit;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
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
