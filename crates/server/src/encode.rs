//! Encoding of responses: from frozen objects to bytes on the wire.
//!
//! Responses are produced in pieces of about [`CHUNK`] bytes, whatever their encoding, and the next piece is
//! produced when the client has taken the last one: a list of a hundred thousand objects never exists as one
//! text, and other requests do not wait for it. See [`pace`].

pub(crate) mod cbor;
pub(crate) mod compress;
pub(crate) mod frame;
mod indented;
pub(crate) mod list;
pub(crate) mod metadata;
pub(crate) mod object;
pub(crate) mod pace;
pub(crate) mod protobuf;
pub(crate) mod table;
mod yaml;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode};
use keelson_codec::json;
use keelson_schema::Schema;
use keelson_stdx::offload;

use self::compress::Gzip;
use self::list::{Items, List};
use self::pace::{Paced, Pieces};
use crate::error::Result;
use crate::negotiate::{Encoding, Layout, Output};
use crate::response::{Body, JSON, Response, with_type};

/// The size of a piece.
pub(crate) const CHUNK: usize = 64 << 10;

/// Longer responses are compressed, if the client accepts gzip.
pub(crate) const COMPRESS_FROM: usize = 128 << 10;

/// A short document that exists as compact JSON: a status, discovery.
pub(crate) fn document(code: StatusCode, compact: &[u8], output: Output) -> Response {
    let body = match (output.encoding, output.layout) {
        (Encoding::Json, Layout::Compact) => {
            let mut text = BytesMut::with_capacity(compact.len() + 1);
            text.extend_from_slice(compact);
            text.extend_from_slice(b"\n");
            text.freeze()
        }
        (Encoding::Json, Layout::Pretty) => {
            let mut text = BytesMut::with_capacity(compact.len() * 2);
            json::indent(compact, &mut text);
            text.freeze()
        }
        (Encoding::Yaml, _) => yaml::short(compact),
        (Encoding::Protobuf, _) => match protobuf::of_json(compact) {
            Some(body) => body,
            // A document without this form is sent as JSON, which is better than an error.
            None => return document(code, compact, Output::JSON),
        },
        (Encoding::Cbor, _) => cbor::of_json(compact),
    };
    with_type(code, media_type(output.encoding), Body::full(body))
}

/// One object that exists as compact JSON.
pub(crate) async fn one(code: StatusCode, compact: Bytes, output: Output, gzip: Gzip) -> Result<Response> {
    match (output.encoding, output.layout) {
        (Encoding::Json, Layout::Compact) => {
            let pieces = [Ok(compact), Ok(Bytes::from_static(b"\n"))].into_iter();
            ready(code, Encoding::Json, pieces, gzip).await
        }
        (Encoding::Json, Layout::Pretty) => {
            ready(code, Encoding::Json, indented::indented(std::iter::once(Ok(compact))), gzip).await
        }
        (Encoding::Yaml, _) => ready(code, Encoding::Yaml, yaml::document(compact), gzip).await,
        (Encoding::Protobuf | Encoding::Cbor, _) => {
            let response = offload::run(compact.len(), || document(code, &compact, output)).await;
            Ok(compress::whole(response, gzip))
        }
    }
}

/// Many objects. `schema` is that of the items, if they have one.
pub(crate) async fn many<I: Items>(
    list: List<I>,
    schema: Option<Schema>,
    output: Output,
    gzip: Gzip,
) -> Result<Response> {
    let code = StatusCode::OK;
    match (output.encoding, output.layout) {
        (Encoding::Json, Layout::Pretty) => {
            ready(code, Encoding::Json, indented::indented(list.json(b"]}")), gzip).await
        }
        (Encoding::Yaml, _) => ready(code, Encoding::Yaml, yaml::list(list), gzip).await,
        (Encoding::Cbor, _) => ready(code, Encoding::Cbor, cbor::list(list, schema), gzip).await,
        // Lists in protobuf are written elsewhere; a list without this form is sent as JSON, which is better
        // than an error.
        (Encoding::Json, Layout::Compact) | (Encoding::Protobuf, _) => {
            ready(code, Encoding::Json, list.json(b"]}\n"), gzip).await
        }
    }
}

/// A response that is already encoded, in pieces.
async fn ready(code: StatusCode, encoding: Encoding, pieces: impl Pieces, gzip: Gzip) -> Result<Response> {
    // Decide when it is known whether the response is long.
    let mut pieces = Paced::new(pieces);
    let mut start = VecDeque::new();
    let mut size = 0;
    while size <= COMPRESS_FROM {
        match pieces.next().await {
            Some(piece) => {
                let piece = piece?;
                size += piece.len();
                start.push_back(piece);
            }
            None => return Ok(with_type(code, media_type(encoding), Body::chunks(join_short(start)))),
        }
    }
    let response = with_type(code, media_type(encoding), Body::empty());
    Ok(compress::stream(response, pieces.after(start), gzip))
}

/// Joins a short response, so that it is sent in one write.
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;
    use http_body_util::BodyExt as _;

    use super::compress::Gzip;
    use super::{CHUNK, document, one};
    use crate::negotiate::{Encoding, Layout, Output};

    const FORMS: [(Encoding, Layout, &str); 3] = [
        (Encoding::Json, Layout::Compact, "{\"a\":[1],\"b\":{}}\n"),
        (Encoding::Json, Layout::Pretty, "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}"),
        (Encoding::Yaml, Layout::Compact, "a:\n- 1\nb: {}\n"),
    ];

    #[tokio::test]
    async fn documents_have_three_forms() {
        for (encoding, layout, expected) in FORMS {
            let output = Output { encoding, layout, ..Output::JSON };
            let compact = Bytes::from_static(br#"{"a":[1],"b":{}}"#);
            let short = document(StatusCode::OK, &compact, output);
            assert_eq!(short.into_body().into_chunks().unwrap(), [expected]);
            let any = one(StatusCode::OK, compact, output, Gzip::No).await.unwrap();
            assert_eq!(any.into_body().into_chunks().unwrap(), [expected]);
        }
    }

    #[tokio::test]
    async fn long_answers_are_streamed() {
        let text = Bytes::from(format!("\"{}\"", "x".repeat(5 * CHUNK)));
        for (encoding, layout, _) in FORMS {
            let output = Output { encoding, layout, ..Output::JSON };
            let response = one(StatusCode::OK, text.clone(), output, Gzip::No).await.unwrap();
            assert_eq!(response.body().len(), None);
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(bytes.iter().filter(|it| **it == b'x').count(), 5 * CHUNK);
        }
    }
}
