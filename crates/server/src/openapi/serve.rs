//! OpenAPI endpoints: selects the document and the encoding, and handles conditional requests.
//!
//! Upstream: kube-openapi/pkg/{handler,handler3}/handler.go and
//! kube-aggregator/pkg/controllers/openapiv3/aggregator/aggregator.go (v1.36.4).

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use keelson_codec::media_type::parse_accept;
use keelson_registry::{Catalog, CatalogHandle};
use keelson_schema::openapi::Descriptions;
use keelson_stdx::clock::Clock;
use keelson_stdx::offload;
use parking_lot::Mutex;

use super::Settings;
use super::document::{self, Subject};
use super::kept_documents::{Bodies, Document, Encoding, Hashed, Hashes};
use super::write::Members;
use crate::encode::compress::{self, Gzip};
use crate::plain::{Endpoint, Mounted};
use crate::response::{Body, Response};

/// The OpenAPI endpoints of one server.
#[derive(Clone)]
pub struct OpenApi(Arc<Documents>);

struct Documents {
    settings: Settings,
    catalog: CatalogHandle,
    clock: Clock,
    hashes: Hashes,
    bodies: Bodies,
    /// The index, with the generation of the catalog that it was made from.
    index: Mutex<Option<(u64, Document)>>,
    v2: Mutex<V2Memo>,
}

/// A request for a document.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// `/openapi/v3/apis/apps/v1`.
    pub path: &'a str,
    /// The query string, undecoded.
    pub query: &'a str,
    /// The headers of the request.
    pub headers: &'a HeaderMap,
}

/// The v2 document of one generation of the catalog, in the encodings that were requested.
#[derive(Default)]
struct V2Memo {
    generation: Option<u64>,
    json: Option<Document>,
    protobuf: Option<Document>,
}

/// A year: a document that is named with its hash never changes.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The second is the old name, which client-go still uses.
const V2_SUBTYPES: [&str; 2] =
    ["com.github.proto-openapi.spec.v2.v1.0+protobuf", "com.github.proto-openapi.spec.v2@v1.0+protobuf"];
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const V3_SUBTYPES: [&str; 2] =
    ["com.github.proto-openapi.spec.v3.v1.0+protobuf", "com.github.proto-openapi.spec.v3@v1.0+protobuf"];
/// How many bytes of v3 documents are kept: more than all built-in ones have.
const KEPT: usize = 32 << 20;
const V2: &str = "/openapi/v2";
const V3: &str = "/openapi/v3";

impl OpenApi {
    /// Endpoints that describe what `catalog` serves at the time of the request.
    pub fn new(settings: Settings, catalog: CatalogHandle, clock: Clock) -> OpenApi {
        OpenApi(Arc::new(Documents {
            settings,
            catalog,
            clock,
            hashes: Hashes::default(),
            bodies: Bodies::new(KEPT),
            index: Mutex::default(),
            v2: Mutex::default(),
        }))
    }

    /// The endpoints, each at its path.
    pub fn mounted(self) -> [Mounted; 3] {
        let endpoint: Arc<dyn Endpoint> = Arc::new(self);
        [V2, V3, "/openapi/v3/"].map(|path| Mounted { path: path.to_owned(), endpoint: endpoint.clone() })
    }

    /// The response to a GET; `None` if the path is not an OpenAPI endpoint. The first request for a document
    /// makes it, which takes a while.
    pub fn answer(&self, ask: Ask<'_>) -> Option<http::Response<Bytes>> {
        self.0.answer(ask)
    }
}

impl Documents {
    fn answer(&self, ask: Ask<'_>) -> Option<http::Response<Bytes>> {
        let catalog = &*self.catalog.load();
        match ask.path {
            V2 => Some(self.v2(catalog, ask)),
            V3 => Some(self.index(catalog, ask)),
            path => {
                let name = path.strip_prefix(V3)?.strip_prefix('/')?;
                Some(self.v3(catalog, name, ask))
            }
        }
    }

    /// The v2 document. Only one is made at a time, because it is large: concurrent requests wait for it.
    fn v2(&self, catalog: &Catalog, ask: Ask<'_>) -> http::Response<Bytes> {
        let Some(encoding) = negotiate(ask.headers, &V2_SUBTYPES) else {
            return empty(StatusCode::NOT_ACCEPTABLE, vary());
        };
        let mut memo = self.v2.lock();
        if memo.generation != Some(catalog.generation()) {
            *memo = V2Memo { generation: Some(catalog.generation()), ..V2Memo::default() };
        }
        let make = || self.made(document::v2(catalog, &self.settings));
        let (media_type, document) = match encoding {
            Encoding::Json => ("application/json", memo.json.get_or_insert_with(make).clone()),
            Encoding::Protobuf => {
                // Both encodings have the hash of the JSON.
                let json = memo.json.clone();
                let make = || Document {
                    body: document::v2_protobuf(catalog, &self.settings).into(),
                    ..json.unwrap_or_else(make)
                };
                (V2_PROTOBUF, memo.protobuf.get_or_insert_with(make).clone())
            }
        };
        drop(memo);
        let mut headers = vary();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::ETAG, quoted(&document.hash));
        serve(&document, headers, ask.headers)
    }

    /// The index is plain text without an ETag, because upstream's is.
    fn index(&self, catalog: &Catalog, ask: Ask<'_>) -> http::Response<Bytes> {
        let known =
            self.index.lock().as_ref().filter(|it| it.0 == catalog.generation()).map(|it| it.1.clone());
        let document = known.unwrap_or_else(|| {
            let body = self.all_hashes(catalog);
            let mut index = self.index.lock();
            // An index with the same content keeps its time.
            let before = index.take().map(|it| it.1);
            let made = match before {
                Some(before) if before.body == body => before,
                // Clients compare seconds: an index that replaces another one must be a second younger.
                before => {
                    let earliest = before.map_or(UNIX_EPOCH, |it| it.made + Duration::from_secs(1));
                    let made = self.clock.now().max(earliest);
                    Document { hash: Arc::default(), body: body.into(), made }
                }
            };
            *index = Some((catalog.generation(), made.clone()));
            made
        });
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        serve(&document, headers, ask.headers)
    }

    /// The text of the index. Hashes are computed only for documents that changed.
    fn all_hashes(&self, catalog: &Catalog) -> Vec<u8> {
        // Held while documents are made, so that descriptions are unpacked once and not for every document.
        let mut descriptions = None;
        let mut hash = |subject: Subject<'_>| {
            let path = subject.path();
            let known = self.hashes.get(&path, subject.stamp());
            let hashed = known.unwrap_or_else(|| {
                if !subject.is_custom() {
                    descriptions.get_or_insert_with(Descriptions::unpack);
                }
                self.hashed(&subject, &path)
            });
            (path, hashed.hash)
        };
        let subjects = Subject::all(catalog, &self.settings).into_iter();
        let mut hashes: Vec<(String, Arc<str>)> = subjects.map(&mut hash).collect();
        hashes.sort_by(|a, b| a.0.cmp(&b.0));
        self.hashes.retain(hashes.iter().map(|it| it.0.as_str()));
        index(&hashes)
    }

    /// The hash of a document. The document is made only if there is no other way.
    fn hashed(&self, subject: &Subject<'_>, path: &str) -> Hashed {
        self.hashes.get(path, subject.stamp()).unwrap_or_else(|| {
            let hash = match subject.fingerprint(&self.settings) {
                Some(fingerprint) => hash(&fingerprint),
                None => hash(&subject.v3(&self.settings)),
            };
            self.hashes.put(path, subject.stamp(), hash, self.clock.now())
        })
    }

    fn v3(&self, catalog: &Catalog, name: &str, ask: Ask<'_>) -> http::Response<Bytes> {
        let Some(subject) = Subject::find(catalog, &self.settings, name) else {
            return empty(StatusCode::NOT_FOUND, HeaderMap::new());
        };
        let mut headers = vary();
        let (media_type, encoding) = match negotiate(ask.headers, &V3_SUBTYPES) {
            None => return empty(StatusCode::NOT_ACCEPTABLE, headers),
            Some(Encoding::Json) => ("application/json", Encoding::Json),
            Some(Encoding::Protobuf) => (V3_PROTOBUF, Encoding::Protobuf),
        };
        // Both encodings have one hash.
        let hashed = self.hashed(&subject, name);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::ETAG, quoted(&hashed.hash));
        match asked_hash(ask.query) {
            None => {}
            Some(asked) if asked == &*hashed.hash => {
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
                headers.insert(header::EXPIRES, date(self.clock.now() + FOR_EVER, "UTC"));
            }
            Some(_) => {
                set(&mut headers, header::LOCATION, &address(name, &hashed.hash));
                return empty(StatusCode::MOVED_PERMANENTLY, headers);
            }
        }
        let make = || match encoding {
            Encoding::Json => subject.v3(&self.settings),
            Encoding::Protobuf => subject.v3_protobuf(&self.settings),
        };
        let body = self.bodies.of((name, encoding), &hashed.hash, make);
        serve(&Document { body, hash: hashed.hash, made: hashed.since }, headers, ask.headers)
    }

    fn made(&self, body: Vec<u8>) -> Document {
        Document { hash: hash(&body).into(), body: body.into(), made: self.clock.now() }
    }
}

impl Endpoint for OpenApi {
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        let (query, headers) = (parts.uri.query().unwrap_or_default(), &parts.headers);
        Box::pin(async move {
            // Documents have megabytes, and are made on the first request.
            let answer = offload::run(offload::LARGE, || self.answer(Ask { path, query, headers })).await;
            let answer = answer.unwrap_or_else(|| empty(StatusCode::NOT_FOUND, HeaderMap::new()));
            // Upstream compresses only v2.
            let gzip = if path == V2 { Gzip::of(headers) } else { Gzip::No };
            compress::whole(answer.map(Body::full), gzip)
        })
    }
}

/// The document, or 304 if the client has it.
fn serve(document: &Document, mut headers: HeaderMap, asked: &HeaderMap) -> http::Response<Bytes> {
    let etag = headers.get(header::ETAG).and_then(|it| it.to_str().ok());
    let is_known = match etag {
        Some(etag) if asked.contains_key(header::IF_NONE_MATCH) => has_already(asked, etag),
        _ => is_unchanged(asked, document.made),
    };
    if is_known {
        headers.remove(header::CONTENT_TYPE);
        return empty(StatusCode::NOT_MODIFIED, headers);
    }
    headers.insert(header::LAST_MODIFIED, date(document.made, "GMT"));
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

/// The best encoding that the client accepts. `protobuf` are the subtypes of protobuf.
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

/// Whether `If-Modified-Since` is not older than the second in which the document was made.
fn is_unchanged(headers: &HeaderMap, made: SystemTime) -> bool {
    let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|it| it.to_str().ok());
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    let since = since.and_then(|it| parser.parse_timestamp(it).ok());
    let made = jiff::Timestamp::try_from(made).ok();
    since.zip(made).is_some_and(|(since, made)| made.as_second() <= since.as_second())
}

/// The value of `hash` in a query.
fn asked_hash(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("hash=")).filter(|it| !it.is_empty())
}

/// `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=…"}}}`.
fn index(hashes: &[(String, Arc<str>)]) -> Vec<u8> {
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

/// `Sun, 15 Nov 2026 21:07:16 GMT`. Upstream writes `UTC` in one header, which means the same.
fn date(time: SystemTime, zone: &str) -> HeaderValue {
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    let text =
        jiff::Timestamp::try_from(time).ok().and_then(|it| printer.timestamp_to_rfc9110_string(&it).ok());
    let text = text.unwrap_or_default().replace("GMT", zone);
    HeaderValue::try_from(text).expect("a date is fit for a header")
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};
    use keelson_registry::{Catalog, CatalogHandle};
    use keelson_stdx::clock::Clock;

    use super::{Ask, OpenApi};
    use crate::endpoint::version::Version;
    use crate::openapi::Settings;

    struct Client(OpenApi);

    impl Client {
        fn new() -> Client {
            let settings = Settings::new(&Version::KUBERNETES);
            let catalog = CatalogHandle::new(Catalog::new(Vec::new()));
            Client(OpenApi::new(settings, catalog, Clock::manual().0))
        }

        /// The response to a GET with one header: status, one of the response's headers, body.
        fn get(&self, address: &str, header: (&str, &str), wanted: &str) -> (u16, String, String) {
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let name = HeaderName::try_from(header.0).expect("a name");
            let headers = HeaderMap::from_iter([(name, HeaderValue::try_from(header.1).expect("a value"))]);
            let answer = self.0.answer(Ask { path, query, headers: &headers }).expect("an OpenAPI path");
            let found = answer.headers().get(wanted).map(|it| it.to_str().expect("text").to_owned());
            let body = String::from_utf8_lossy(answer.body()).into_owned();
            (answer.status().as_u16(), found.unwrap_or_default(), body)
        }

        fn hash(&self, document: &str) -> String {
            let (_, etag, _) = self.get(&format!("/openapi/v3/{document}"), ("accept", "*/*"), "etag");
            etag.trim_matches('"').to_owned()
        }
    }

    #[test]
    fn the_index_names_every_document_with_its_hash() {
        let client = Client::new();
        let (code, media_type, body) =
            client.get("/openapi/v3", ("accept", "application/json"), "content-type");
        assert_eq!((code, media_type.as_str()), (200, "text/plain; charset=utf-8"));
        let (apis, version) = (client.hash("apis"), client.hash("version"));
        assert_eq!(apis.len(), 128);
        let entry = |name: &str, hash: &str| {
            format!("\"{name}\":{{\"serverRelativeURL\":\"/openapi/v3/{name}?hash={hash}\"}}")
        };
        let expected = format!("{{\"paths\":{{{},{}}}}}", entry("apis", &apis), entry("version", &version));
        assert_eq!(body, expected);
    }

    #[test]
    fn a_document_with_its_hash_is_kept_for_ever() {
        let client = Client::new();
        let address = format!("/openapi/v3/apis?hash={}", client.hash("apis"));
        let check = |wanted: &str, expected: &str| {
            let (code, found, _) = client.get(&address, ("accept", "application/json"), wanted);
            assert_eq!((code, found.as_str()), (200, expected), "{wanted}");
        };
        check("cache-control", "public, immutable");
        check("expires", "Fri, 01 Jan 2027 00:00:00 UTC");
        check("last-modified", "Thu, 01 Jan 2026 00:00:00 GMT");
        check("vary", "Accept");
        check("content-type", "application/json");
    }

    #[test]
    fn a_stale_hash_leads_to_the_document_of_today() {
        let client = Client::new();
        let (code, location, body) = client.get("/openapi/v3/apis?hash=OLD", ("accept", "*/*"), "location");
        let expected = format!("/openapi/v3/apis?hash={}", client.hash("apis"));
        assert_eq!((code, location, body), (301, expected, String::new()));
    }

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        let client = Client::new();
        let etag = format!("\"{}\"", client.hash("version"));
        let check = |value: &str, expected: u16| {
            let (code, found, body) = client.get("/openapi/v3/version", ("if-none-match", value), "etag");
            assert_eq!((code, body.is_empty(), found.as_str()), (expected, expected == 304, etag.as_str()));
        };
        check(&etag, 304);
        check(&format!("W/{etag}"), 304);
        check(&format!("\"x\", {etag}"), 304);
        check("*", 304);
        check("\"x\"", 200);
    }

    #[test]
    fn what_did_not_change_since_is_not_sent_again() {
        let client = Client::new();
        let check = |path: &str, since: &str, expected: u16| {
            let (code, _, body) = client.get(path, ("if-modified-since", since), "etag");
            assert_eq!((code, body.is_empty()), (expected, expected == 304), "{path} {since}");
        };
        check("/openapi/v3", "Thu, 01 Jan 2026 00:00:00 GMT", 304);
        check("/openapi/v3/version", "Fri, 02 Jan 2026 00:00:00 GMT", 304);
        check("/openapi/v3/version", "Wed, 31 Dec 2025 23:59:59 GMT", 200);
        check("/openapi/v3/version", "yesterday", 200);
    }

    #[test]
    fn the_client_chooses_the_encoding() {
        let client = Client::new();
        let check = |path: &str, accept: &str, code: u16, expected: &str| {
            let (found, media_type, _) = client.get(path, ("accept", accept), "content-type");
            assert_eq!((found, media_type.as_str()), (code, expected), "{path} {accept}");
        };
        let protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
        check("/openapi/v2", "", 200, "application/json");
        check("/openapi/v2", "*/*", 200, "application/json");
        check("/openapi/v2", protobuf, 200, protobuf);
        check("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200, protobuf);
        check("/openapi/v2", &format!("application/json;q=0.5, {protobuf}"), 200, protobuf);
        check("/openapi/v2", "text/html", 406, "");
        check("/openapi/v3/apis", "application/json, text/html", 200, "application/json");
        let protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
        check("/openapi/v3/apis", protobuf, 200, protobuf);
        check(
            "/openapi/v3/apis",
            "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
            200,
            protobuf,
        );
        check("/openapi/v3/apis", "text/html", 406, "");
        check("/openapi/v3/nowhere", "*/*", 404, "");
    }

    #[test]
    fn both_encodings_have_one_hash() {
        let client = Client::new();
        let check = |path: &str, protobuf: &str| {
            let etag = |accept: &str| client.get(path, ("accept", accept), "etag").1;
            assert_eq!(etag(protobuf), etag("application/json"), "{path}");
        };
        check("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
        check("/openapi/v3/apis", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf");
    }

    #[test]
    fn a_new_catalog_makes_new_documents() {
        let client = Client::new();
        let before = client.get("/openapi/v3", ("accept", "*/*"), "etag").2;
        let versions = vec!["v1".into()];
        let group = keelson_registry::catalog::ServedGroup::new("stable.example.com", versions, Vec::new());
        client.0.0.catalog.swap(Catalog::new(vec![group]));
        let after = client.get("/openapi/v3", ("accept", "*/*"), "etag").2;
        assert!(!before.contains("stable.example.com"));
        assert!(after.contains("\"apis/stable.example.com/v1\""), "{after}");
    }

    #[test]
    fn a_client_that_has_the_index_of_the_same_second_gets_the_new_one() {
        let client = Client::new();
        let (_, since, _) = client.get("/openapi/v3", ("accept", "*/*"), "last-modified");
        assert_eq!(client.get("/openapi/v3", ("if-modified-since", &since), "etag").0, 304);
        let versions = vec!["v1".into()];
        let group = keelson_registry::catalog::ServedGroup::new("stable.example.com", versions, Vec::new());
        client.0.0.catalog.swap(Catalog::new(vec![group]));
        assert_eq!(client.get("/openapi/v3", ("if-modified-since", &since), "etag").0, 200);
    }
}
