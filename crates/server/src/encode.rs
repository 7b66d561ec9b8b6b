//! From frozen objects to bytes on the wire.
//!
//! Answers are written in pieces of [`CHUNK`] bytes. What is larger than a few pieces is written while it is sent, so
//! that a list of a hundred thousand objects never exists as one text. Indented and YAML answers are made of the
//! compact JSON, for people, who do not read a hundred thousand objects.

pub(crate) mod cbor;
pub(crate) mod compress;
pub(crate) mod frame;
pub(crate) mod list;
pub(crate) mod metadata;
pub(crate) mod object;
pub(crate) mod protobuf;
pub(crate) mod table;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode};
use keelson_codec::{json, yaml};

use crate::negotiate::{Encoding, Layout, Output};
use crate::response::{Body, JSON, Response, with_type};

/// The size of a piece.
pub(crate) const CHUNK: usize = 64 << 10;

/// Above so many bytes an answer is compressed for those who can read that.
pub(crate) const COMPRESS_FROM: usize = 128 << 10;

/// Compact JSON that is made piece by piece. The pieces are what the iterator gives.
pub(crate) trait Pieces: Iterator<Item = Bytes> + Send + 'static {}

impl<I: Iterator<Item = Bytes> + Send + 'static> Pieces for I {}

/// A small document that exists as compact JSON.
pub(crate) fn document(code: StatusCode, compact: &[u8], output: Output) -> Response {
    let body = match (output.encoding, output.layout) {
        (Encoding::Json, Layout::Compact) => {
            let mut text = BytesMut::with_capacity(compact.len() + 1);
            text.extend_from_slice(compact);
            text.extend_from_slice(b"\n");
            text.freeze()
        }
        (Encoding::Json, Layout::Pretty) => pretty(compact),
        (Encoding::Yaml, _) => to_yaml(compact),
        (Encoding::Protobuf, _) => match protobuf::of_json(compact) {
            Some(body) => body,
            // What has no such form is better read as JSON than not at all.
            None => return document(code, compact, Output::JSON),
        },
        (Encoding::Cbor, _) => cbor::of_json(compact),
    };
    with_type(code, media_type(output.encoding), Body::full(body))
}

/// Objects, however many: compact JSON without the last line end, in pieces.
pub(crate) fn pieces(
    code: StatusCode,
    pieces: impl Pieces,
    output: Output,
    gzip: compress::Gzip,
) -> Response {
    let is_plain = output.encoding == Encoding::Json && output.layout == Layout::Compact;
    if !is_plain {
        let whole: Vec<u8> = pieces.flatten().collect();
        let response = document(code, &whole, output);
        return compress::whole(response, gzip);
    }
    ready(code, Encoding::Json, pieces.chain([Bytes::from_static(b"\n")]), gzip)
}

/// An answer that is in its encoding already, in pieces.
pub(crate) fn ready(
    code: StatusCode,
    encoding: Encoding,
    mut pieces: impl Pieces,
    gzip: compress::Gzip,
) -> Response {
    // Decide what to do when it is known whether this is long.
    let mut start = VecDeque::new();
    let mut size = 0;
    while size <= COMPRESS_FROM {
        match pieces.next() {
            Some(piece) => {
                size += piece.len();
                start.push_back(piece);
            }
            None => {
                let body = Body::chunks(join_short(start));
                return compress::whole(with_type(code, media_type(encoding), body), gzip);
            }
        }
    }
    compress::stream(code, media_type(encoding), start.into_iter().chain(pieces), gzip)
}

/// One write for a short answer.
fn join_short(chunks: VecDeque<Bytes>) -> VecDeque<Bytes> {
    let size: usize = chunks.iter().map(Bytes::len).sum();
    if size > CHUNK {
        return chunks;
    }
    let mut joined = BytesMut::with_capacity(size);
    chunks.iter().for_each(|chunk| joined.extend_from_slice(chunk));
    VecDeque::from([joined.freeze()])
}

/// The media type of an encoding.
pub(crate) fn media_type(encoding: Encoding) -> HeaderValue {
    match encoding {
        Encoding::Json => JSON,
        Encoding::Yaml => HeaderValue::from_static("application/yaml"),
        Encoding::Protobuf => HeaderValue::from_static("application/vnd.kubernetes.protobuf"),
        Encoding::Cbor => HeaderValue::from_static("application/cbor"),
    }
}

fn pretty(compact: &[u8]) -> Bytes {
    let mut text = BytesMut::with_capacity(compact.len() * 2);
    json::indent(compact, &mut text);
    text.freeze()
}

fn to_yaml(compact: &[u8]) -> Bytes {
    match json::read(compact) {
        Ok(document) => Bytes::from(yaml::to_text(&document.value)),
        // What we wrote ourselves can be read; a reader that disagrees is better told than surprised.
        Err(error) => Bytes::from(format!("# {error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::BodyExt as _;

    use super::compress::Gzip;
    use super::{CHUNK, document, pieces};
    use crate::negotiate::{Encoding, Layout, Output};

    #[test]
    fn documents_have_three_forms() {
        let check = |encoding, layout, expected: &str| {
            let output = Output { encoding, layout, ..Output::JSON };
            let response = document(StatusCode::OK, br#"{"a":[1],"b":{}}"#, output);
            assert_eq!(response.into_body().into_chunks().unwrap(), [expected]);
        };
        check(Encoding::Json, Layout::Compact, "{\"a\":[1],\"b\":{}}\n");
        check(Encoding::Json, Layout::Pretty, "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
        check(Encoding::Yaml, Layout::Compact, "a:\n- 1\nb: {}\n");
    }

    #[tokio::test]
    async fn long_answers_are_streamed() {
        let piece = Bytes::from(vec![b'x'; CHUNK]);
        let response = pieces(StatusCode::OK, vec![piece; 5].into_iter(), Output::JSON, Gzip::No);
        assert_eq!(response.body().len(), None);
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(bytes.len(), 5 * CHUNK + 1);
        assert!(bytes.ends_with(b"x\n"));
    }

    #[test]
    fn short_answers_have_a_length() {
        let made = ["{", "}"].map(Bytes::from).into_iter();
        let response = pieces(StatusCode::OK, made, Output::JSON, Gzip::No);
        assert_eq!(response.into_body().into_chunks().unwrap(), ["{}\n"]);
    }
}
