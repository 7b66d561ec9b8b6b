//! gzip of long responses, at the fastest level: networks are slow, CPUs are busy.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, header};

use super::pace::{Paced, Pieces, broken};
use super::{CHUNK, COMPRESS_FROM};
use crate::negotiate::text;
use crate::response::{Body, Response};

/// Whether the client accepts gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gzip {
    /// It does.
    Yes,
    /// It does not, or does not say.
    No,
}

impl Gzip {
    /// Reads `Accept-Encoding`.
    pub(crate) fn of(headers: &HeaderMap) -> Gzip {
        let accepted = text(headers, header::ACCEPT_ENCODING);
        if accepted.split(',').any(|it| it.trim() == "gzip") { Gzip::Yes } else { Gzip::No }
    }
}

/// Upstream's level: half the size for a tenth of the time.
const LEVEL: u32 = 1;

/// Compresses a complete response, if it is long.
pub(crate) fn whole(response: Response, gzip: Gzip) -> Response {
    let is_long = response.body().len().is_some_and(|size| size > COMPRESS_FROM as u64);
    if gzip == Gzip::No || !is_long {
        return response;
    }
    let (parts, body) = response.into_parts();
    let chunks = body.into_chunks().unwrap_or_default().into_iter().map(Ok);
    stream(Response::from_parts(parts, Body::empty()), Paced::new(chunks), gzip)
}

/// A long response that is produced while it is sent. `response` has no body yet.
pub(super) fn stream(mut response: Response, pieces: Paced<impl Pieces>, gzip: Gzip) -> Response {
    if gzip == Gzip::No {
        *response.body_mut() = Body::stream(pieces.stream());
        return response;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    *response.body_mut() = Body::stream(Compressed::new(pieces).stream());
    response
}

/// The pieces of a response, compressed.
struct Compressed<P> {
    pieces: Paced<P>,
    /// The rest of the last piece.
    rest: Bytes,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<P: Pieces> Compressed<P> {
    fn new(pieces: Paced<P>) -> Compressed<P> {
        let encoder = Some(GzEncoder::new(Vec::new(), Compression::new(LEVEL)));
        Compressed { pieces, rest: Bytes::new(), encoder }
    }

    /// The compressed bytes after the next piece. A large piece is compressed in steps.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let encoder = self.encoder.as_mut()?;
            if self.rest.is_empty() {
                match self.pieces.next().await {
                    Some(Ok(piece)) => self.rest = piece,
                    Some(Err(error)) => return Some(Err(broken(error))),
                    None => {
                        let rest = self.encoder.take()?.finish().map(Bytes::from);
                        return Some(rest).filter(|it| !it.as_ref().is_ok_and(Bytes::is_empty));
                    }
                }
            } else {
                tokio::task::yield_now().await;
            }
            let step = self.rest.split_to(CHUNK.min(self.rest.len()));
            if let Err(error) = encoder.write_all(&step) {
                return Some(Err(error));
            }
            if !encoder.get_ref().is_empty() {
                return Some(Ok(Bytes::from(std::mem::take(encoder.get_mut()))));
            }
        }
    }

    fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        futures_util::stream::unfold(self, |mut pieces| async move {
            let piece = pieces.next().await?;
            Some((piece, pieces))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use http_body_util::BodyExt as _;

    use super::Gzip;
    use crate::encode::{CHUNK, one};
    use crate::negotiate::{Layout, Output};

    async fn check(output: Output, expected: &[u8]) {
        let compact = Bytes::from(vec![b'1'; 4 * CHUNK]);
        let response = one(StatusCode::OK, compact, output, Gzip::Yes).await.unwrap();
        assert_eq!(response.headers()["content-encoding"], "gzip");
        assert_eq!(response.headers()["vary"], "Accept-Encoding");
        let compressed = response.into_body().collect().await.unwrap().to_bytes();
        assert!(compressed.len() < CHUNK);
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut plain).unwrap();
        assert!(plain == expected);
    }

    #[tokio::test]
    async fn long_answers_are_compressed() {
        let mut expected = vec![b'1'; 4 * CHUNK];
        check(Output { layout: Layout::Pretty, ..Output::JSON }, &expected).await;
        expected.push(b'\n');
        check(Output::JSON, &expected).await;
    }

    #[tokio::test]
    async fn short_answers_are_not() {
        let response = one(StatusCode::OK, Bytes::from("{}"), Output::JSON, Gzip::Yes).await.unwrap();
        assert!(!response.headers().contains_key("content-encoding"));
    }

    #[test]
    fn clients_say_what_they_read() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept-encoding", text.parse().unwrap());
            Gzip::of(&headers)
        };
        assert_eq!(of("gzip"), Gzip::Yes);
        assert_eq!(of("br, gzip"), Gzip::Yes);
        assert_eq!(of("br"), Gzip::No);
        assert_eq!(Gzip::of(&HeaderMap::new()), Gzip::No);
    }
}
