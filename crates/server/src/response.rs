//! Response: a head and a body. The body holds everything that must live until the last byte is sent.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use http::{HeaderValue, StatusCode, header};
use http_body::{Frame, SizeHint};

/// The response of the server.
pub type Response = http::Response<Body>;

/// The bytes of a response. Dropping it, sent or not, drops the guards that it holds.
pub struct Body {
    content: Content,
    /// Guards: seats, in-flight counts, metrics. A watch may hold them for an hour.
    held: Vec<Box<dyn Any + Send>>,
}

enum Content {
    Chunks(VecDeque<Bytes>),
    Stream(BoxStream<'static, io::Result<Bytes>>),
}

impl Body {
    /// An empty body.
    pub fn empty() -> Body {
        Body::chunks(VecDeque::new())
    }

    /// One piece.
    pub fn full(bytes: impl Into<Bytes>) -> Body {
        let bytes = bytes.into();
        let chunks = if bytes.is_empty() { VecDeque::new() } else { VecDeque::from([bytes]) };
        Body::chunks(chunks)
    }

    /// Several pieces in memory.
    pub fn chunks(chunks: VecDeque<Bytes>) -> Body {
        Body { content: Content::Chunks(chunks), held: Vec::new() }
    }

    /// Pieces that are produced while they are sent. An error breaks the connection off.
    pub fn stream(stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
        Body { content: Content::Stream(Box::pin(stream)), held: Vec::new() }
    }

    /// Holds `guard` until the last byte is sent or the client is gone.
    pub fn hold(&mut self, guard: impl Any + Send) {
        self.held.push(Box::new(guard));
    }

    /// The length, if it is known.
    pub fn len(&self) -> Option<u64> {
        match &self.content {
            Content::Chunks(chunks) => Some(chunks.iter().map(|chunk| chunk.len() as u64).sum()),
            Content::Stream(_) => None,
        }
    }

    /// Whether the body is known to be empty.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Calls `look` for every piece that is sent.
    #[must_use]
    pub fn inspect(mut self, mut look: impl FnMut(&Bytes) + Send + 'static) -> Body {
        use futures_util::StreamExt as _;
        self.content = match self.content {
            Content::Chunks(chunks) => {
                chunks.iter().for_each(&mut look);
                Content::Chunks(chunks)
            }
            Content::Stream(stream) => Content::Stream(Box::pin(stream.inspect(move |chunk| {
                if let Ok(chunk) = chunk {
                    look(chunk);
                }
            }))),
        };
        self
    }

    /// Drops the bytes and keeps the guards: the response to HEAD.
    pub fn clear(&mut self) {
        self.content = Content::Chunks(VecDeque::new());
    }

    /// The pieces, if all are in memory; for tests and for small responses.
    pub fn into_chunks(self) -> Option<VecDeque<Bytes>> {
        match self.content {
            Content::Chunks(chunks) => Some(chunks),
            Content::Stream(_) => None,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("len", &self.len()).field("held", &self.held.len()).finish()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.content {
            Content::Chunks(chunks) => Poll::Ready(chunks.pop_front().map(|chunk| Ok(Frame::data(chunk)))),
            Content::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|chunk| chunk.map(|it| it.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Chunks(chunks) if chunks.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        self.len().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The media type of plain texts.
pub const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
/// The media type of JSON.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Tells browsers to trust the media type.
pub const NOSNIFF: (header::HeaderName, HeaderValue) =
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

/// A response with a body and a media type.
pub fn with_type(code: StatusCode, media_type: HeaderValue, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}

/// A plain text, as it is.
pub fn text(code: StatusCode, text: impl Into<Bytes>) -> Response {
    with_type(code, TEXT, Body::full(text))
}

/// A plain error, which is not a Status: one line of text.
pub fn text_error(code: StatusCode, message: &str) -> Response {
    let mut response = text(code, format!("{message}\n"));
    response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
    response
}

/// JSON that is already encoded.
pub fn json(code: StatusCode, bytes: impl Into<Bytes>) -> Response {
    with_type(code, JSON, Body::full(bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::BodyExt;

    use super::{Body, text_error};

    #[tokio::test]
    async fn guards_live_as_long_as_the_body() {
        let guard = Arc::new(());
        let mut body = Body::full("abc");
        body.hold(Arc::clone(&guard));
        assert_eq!((body.len(), Arc::strong_count(&guard)), (Some(3), 2));
        assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
        assert_eq!(Arc::strong_count(&guard), 1);
    }

    #[tokio::test]
    async fn every_piece_is_looked_at() {
        let seen = Arc::new(AtomicUsize::new(0));
        for body in [
            Body::chunks([Bytes::from("ab"), Bytes::from("cde")].into()),
            Body::stream(futures_util::stream::iter([Ok(Bytes::from("ab")), Ok(Bytes::from("cde"))])),
        ] {
            seen.store(0, Ordering::Relaxed);
            let counter = Arc::clone(&seen);
            let body = body.inspect(move |chunk| {
                counter.fetch_add(chunk.len(), Ordering::Relaxed);
            });
            assert_eq!(body.collect().await.unwrap().to_bytes(), "abcde");
            assert_eq!(seen.load(Ordering::Relaxed), 5);
        }
    }

    #[test]
    fn plain_failures_are_one_line() {
        let response = text_error(StatusCode::INTERNAL_SERVER_ERROR, "no");
        assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert_eq!(response.into_body().into_chunks().unwrap(), ["no\n"]);
    }
}
