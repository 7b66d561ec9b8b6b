//! The endpoints: which document, in which encoding, and whether the client has it already.
//!
//! Upstream: kube-openapi/pkg/{handler,handler3}/handler.go and
//! kube-aggregator/pkg/controllers/openapiv3/aggregator/aggregator.go (v1.36.4).

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use keelson_codec::media_type::parse_accept;
use keelson_registry::{Catalog, CatalogHandle};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use super::document::{self, Served, Subject};
use super::write::Members;
use super::{Settings, protobuf};
use crate::plain::{Endpoint, Mounted};
use crate::response::{Body, Response};

/// The OpenAPI endpoints of one server.
pub struct OpenApi {
    settings: Settings,
    catalog: CatalogHandle,
    clock: Clock,
    memo: Mutex<Memo>,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// `/openapi/v3/apis/apps/v1`.
    pub path: &'a str,
    /// What follows the question mark, as it came.
    pub query: &'a str,
    /// The headers of the request.
    pub headers: &'a HeaderMap,
}

/// What was made from one generation of the catalog.
#[derive(Default)]
struct Memo {
    generation: Option<u64>,
    index: Option<Document>,
    /// Hashes by path: the index needs them and not the documents.
    hashes: BTreeMap<String, String>,
    v3: BTreeMap<String, Document>,
    v2: Option<Document>,
    v2_protobuf: Option<Document>,
}

/// A document that is ready to be sent.
#[derive(Clone)]
struct Document {
    body: Bytes,
    hash: String,
    made: SystemTime,
}

/// An encoding of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Json,
    Protobuf,
}

/// A year: a document that is named with its hash never changes.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V3: &str = "/openapi/v3";

impl OpenApi {
    /// Endpoints that describe what `catalog` serves at the time of the request.
    pub fn new(settings: Settings, catalog: CatalogHandle, clock: Clock) -> OpenApi {
        OpenApi { settings, catalog, clock, memo: Mutex::new(Memo::default()) }
    }

    /// The endpoints, each at its path.
    pub fn mounted(self) -> [Mounted; 3] {
        let endpoint: Arc<dyn Endpoint> = Arc::new(self);
        ["/openapi/v2", "/openapi/v3", "/openapi/v3/"]
            .map(|path| Mounted { path: path.to_owned(), endpoint: endpoint.clone() })
    }

    /// The answer to a GET; `None` if the path is none of OpenAPI's.
    pub fn answer(&self, ask: Ask<'_>) -> Option<http::Response<Bytes>> {
        let catalog = &*self.catalog.load();
        let mut memo = self.memo.lock();
        if memo.generation != Some(catalog.generation()) {
            *memo = Memo { generation: Some(catalog.generation()), ..Memo::default() };
        }
        match ask.path {
            "/openapi/v2" => Some(self.v2(&mut memo, catalog, ask)),
            V3 => Some(self.index(&mut memo, catalog, ask)),
            path => {
                let name = path.strip_prefix(V3)?.strip_prefix('/')?;
                Some(self.v3(&mut memo, catalog, name, ask))
            }
        }
    }

    fn v2(&self, memo: &mut Memo, catalog: &Catalog, ask: Ask<'_>) -> http::Response<Bytes> {
        let protobuf = [
            "com.github.proto-openapi.spec.v2@v1.0+protobuf",
            "com.github.proto-openapi.spec.v2.v1.0+protobuf",
        ];
        let Some(encoding) = negotiate(ask.headers, &protobuf) else {
            return empty(StatusCode::NOT_ACCEPTABLE, vary());
        };
        let document =
            memo.v2.get_or_insert_with(|| self.made(document::v2(&Served::all(catalog), &self.settings)));
        let (media_type, document) = match encoding {
            Encoding::Json => ("application/json", &*document),
            Encoding::Protobuf => {
                let json = &*document;
                let made = memo.v2_protobuf.get_or_insert_with(|| Document {
                    body: protobuf::v2(&json.body).into(),
                    ..json.clone()
                });
                (V2_PROTOBUF, &*made)
            }
        };
        let mut headers = vary();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::ETAG, quoted(&document.hash));
        serve(document, headers, ask.headers)
    }

    /// The index is plain text without an ETag, because upstream's is.
    fn index(&self, memo: &mut Memo, catalog: &Catalog, ask: Ask<'_>) -> http::Response<Bytes> {
        if memo.index.is_none() {
            let served = Served::all(catalog);
            for subject in Subject::all(&served) {
                memo.hashes.entry(subject.path()).or_insert_with(|| hash(&subject.v3(&self.settings)));
            }
            memo.index = Some(self.made(index(&memo.hashes)));
        }
        let document = memo.index.as_ref().expect("it was made above");
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        serve(document, headers, ask.headers)
    }

    fn v3(&self, memo: &mut Memo, catalog: &Catalog, name: &str, ask: Ask<'_>) -> http::Response<Bytes> {
        if !memo.v3.contains_key(name) {
            let served = Served::all(catalog);
            let Some(subject) = Subject::all(&served).into_iter().find(|it| it.path() == name) else {
                return empty(StatusCode::NOT_FOUND, HeaderMap::new());
            };
            let document = self.made(subject.v3(&self.settings));
            memo.hashes.insert(name.to_owned(), document.hash.clone());
            memo.v3.insert(name.to_owned(), document);
        }
        let document = &memo.v3[name];
        let mut headers = vary();
        if negotiate(ask.headers, &[]).is_none() {
            return empty(StatusCode::NOT_ACCEPTABLE, headers);
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ETAG, quoted(&document.hash));
        match asked_hash(ask.query) {
            None => {}
            Some(asked) if asked == document.hash => {
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
                headers.insert(header::EXPIRES, date(self.clock.now() + FOR_EVER));
            }
            Some(_) => {
                set(&mut headers, header::LOCATION, &address(name, &document.hash));
                return empty(StatusCode::MOVED_PERMANENTLY, headers);
            }
        }
        serve(document, headers, ask.headers)
    }

    fn made(&self, body: Vec<u8>) -> Document {
        Document { hash: hash(&body), body: body.into(), made: self.clock.now() }
    }
}

impl Endpoint for OpenApi {
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        let ask = Ask { path, query: parts.uri.query().unwrap_or_default(), headers: &parts.headers };
        let answer = OpenApi::answer(self, ask);
        let answer = answer.unwrap_or_else(|| empty(StatusCode::NOT_FOUND, HeaderMap::new()));
        Box::pin(ready(answer.map(Body::full)))
    }
}

/// The body, unless the client has it.
fn serve(document: &Document, mut headers: HeaderMap, asked: &HeaderMap) -> http::Response<Bytes> {
    let etag = headers.get(header::ETAG).and_then(|it| it.to_str().ok());
    if etag.is_some_and(|etag| has_already(asked, etag)) {
        headers.remove(header::CONTENT_TYPE);
        return empty(StatusCode::NOT_MODIFIED, headers);
    }
    headers.insert(header::LAST_MODIFIED, date(document.made));
    let mut response = http::Response::new(document.body.clone());
    *response.headers_mut() = headers;
    response
}

fn empty(status: StatusCode, headers: HeaderMap) -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::new());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The best encoding that the client takes. `protobuf` are the subtypes of protobuf.
fn negotiate(headers: &HeaderMap, protobuf: &[&str]) -> Option<Encoding> {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).filter(|it| !it.is_empty());
    let Some(accept) = accept else {
        return Some(Encoding::Json);
    };
    parse_accept(accept).iter().find_map(|clause| {
        if !matches!(&*clause.main, "application" | "*") {
            return None;
        }
        match &*clause.sub {
            "json" | "*" => Some(Encoding::Json),
            sub if protobuf.contains(&sub) => Some(Encoding::Protobuf),
            _ => None,
        }
    })
}

/// Whether `If-None-Match` names this document, strongly or weakly.
fn has_already(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    values
        .flat_map(|it| it.split(','))
        .map(str::trim)
        .any(|it| it == "*" || it.trim_start_matches("W/") == etag)
}

/// The value of `hash` in a query.
fn asked_hash(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("hash=")).filter(|it| !it.is_empty())
}

/// `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=…"}}}`.
fn index(hashes: &BTreeMap<String, String>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut document = Members::open(&mut out);
    let mut paths = Members::open(document.key("paths"));
    for (name, hash) in hashes {
        let mut entry = Members::open(paths.key(name));
        entry.set("serverRelativeURL", address(name, hash));
        entry.close();
    }
    paths.close();
    document.close();
    out
}

fn address(name: &str, hash: &str) -> String {
    format!("{V3}/{name}?hash={hash}")
}

/// SHA-512 in upper-case hexadecimal digits.
fn hash(body: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digest = digest::digest(&digest::SHA512, body);
    let digits = digest.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn vary() -> HeaderMap {
    HeaderMap::from_iter([(header::VARY, HeaderValue::from_static("Accept"))])
}

fn quoted(hash: &str) -> HeaderValue {
    HeaderValue::try_from(format!("\"{hash}\"")).expect("digits and quotes are fit for a header")
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// `Sun, 15 Nov 2026 21:07:16 GMT`.
fn date(time: SystemTime) -> HeaderValue {
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    let text =
        jiff::Timestamp::try_from(time).ok().and_then(|it| printer.timestamp_to_rfc9110_string(&it).ok());
    HeaderValue::try_from(text.unwrap_or_default()).expect("a date is fit for a header")
}
