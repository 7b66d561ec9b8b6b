//! gzip for long answers, as fast as it gets: networks are slow, CPUs are busy.

use std::collections::VecDeque;
use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{COMPRESS_FROM, Pieces};
use crate::negotiate::text;
use crate::response::{Body, Response, with_type};

/// Whether the client reads gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gzip {
    /// It does.
    Yes,
    /// It does not, or did not say.
    No,
}

impl Gzip {
    /// What the client says.
    pub(crate) fn of(headers: &HeaderMap) -> Gzip {
        let accepted = text(headers, header::ACCEPT_ENCODING);
        if accepted.split(',').any(|it| it.trim() == "gzip") { Gzip::Yes } else { Gzip::No }
    }
}

/// Upstream's level: half the size for a tenth of the time.
const LEVEL: u32 = 1;

/// Compresses an answer that is all there, if it is long.
pub(crate) fn whole(response: Response, gzip: Gzip) -> Response {
    let is_long = response.body().len().is_some_and(|size| size > COMPRESS_FROM as u64);
    if gzip == Gzip::No || !is_long {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Some(chunks) = body.into_chunks() else { return Response::from_parts(parts, Body::empty()) };
    mark(&mut parts.headers);
    let compressed: VecDeque<Bytes> = Compressed::new(chunks.into_iter()).collect();
    Response::from_parts(parts, Body::chunks(compressed))
}

/// A long answer that is made while it is sent.
pub(super) fn stream(code: StatusCode, media_type: HeaderValue, pieces: impl Pieces, gzip: Gzip) -> Response {
    let body = match gzip {
        Gzip::Yes => Body::stream(futures_util::stream::iter(Compressed::new(pieces).map(Ok))),
        Gzip::No => Body::stream(futures_util::stream::iter(pieces.map(Ok))),
    };
    let mut response = with_type(code, media_type, body);
    if gzip == Gzip::Yes {
        mark(response.headers_mut());
    }
    response
}

fn mark(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// The pieces of another iterator, compressed. Gives whatever is ready after each piece.
struct Compressed<I> {
    pieces: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I: Iterator<Item = Bytes>> Compressed<I> {
    fn new(pieces: I) -> Compressed<I> {
        Compressed { pieces, encoder: Some(GzEncoder::new(Vec::new(), Compression::new(LEVEL))) }
    }
}

impl<I: Iterator<Item = Bytes>> Iterator for Compressed<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let Some(piece) = self.pieces.next() else {
                let rest = self.encoder.take()?.finish();
                return rest.ok().map(Bytes::from).filter(|it| !it.is_empty());
            };
            encoder.write_all(&piece).expect("writing to memory does not fail");
            if !encoder.get_ref().is_empty() {
                return Some(Bytes::from(std::mem::take(encoder.get_mut())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use http_body_util::BodyExt as _;

    use super::Gzip;
    use crate::encode::{CHUNK, pieces};
    use crate::negotiate::{Layout, Output};

    async fn check(output: Output, expected: &[u8]) {
        let made: Vec<Bytes> = vec![Bytes::from(vec![b'1'; CHUNK]); 4];
        let response = pieces(StatusCode::OK, made.into_iter(), output, Gzip::Yes);
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

    #[test]
    fn short_answers_are_not() {
        let response = pieces(StatusCode::OK, [Bytes::from("{}")].into_iter(), Output::JSON, Gzip::Yes);
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
