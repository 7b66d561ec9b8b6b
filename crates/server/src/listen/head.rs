//! HTTP request smuggling: requests that two parsers could understand differently are refused, and the
//! connection ends.
//!
//! hyper refuses most of them before a handler sees them: contradictory lengths, folded lines, names with
//! spaces, control characters. This module refuses those that hyper accepts and upstream does not.

use http::header::{CONNECTION, EXPECT, HOST, HeaderMap, TRANSFER_ENCODING};
use http::{HeaderValue, Method, Request, StatusCode, Version};

use crate::body::Expects;
use crate::response::{Body, Response, TEXT, with_type};

/// The response to a request that must not be executed.
///
/// Upstream: Go's net/http, (*conn).readRequest, (*transferReader).parseTransferEncoding and (*conn).serve.
pub(super) fn objection<B>(request: &Request<B>) -> Option<Response> {
    let headers = request.headers();
    let is_http11 = request.version() >= Version::HTTP_11;
    if !has_one_encoding(headers) {
        return Some(refusal(StatusCode::NOT_IMPLEMENTED, "Unsupported transfer encoding"));
    }
    // `GET version`: neither a path nor a URL.
    let uri = request.uri();
    let is_connect = request.method() == Method::CONNECT;
    if uri.authority().is_some() && uri.scheme().is_none() && !is_connect {
        return Some(bad_request(""));
    }
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if is_http11 && !is_connect => return Some(bad_request(": missing required Host header")),
        (Some(_), Some(_)) => return Some(bad_request("")),
        (Some(host), None) if !host.as_bytes().iter().all(|it| is_of_host(*it)) => {
            return Some(bad_request(": malformed Host header"));
        }
        _ => (),
    }
    let expected = headers.get(EXPECT).map_or(&b""[..], HeaderValue::as_bytes);
    if !expected.is_empty() && !has_token(expected, b"100-continue") {
        return Some(refusal(StatusCode::EXPECTATION_FAILED, ""));
    }
    None
}

/// Whether the client waits for `100 Continue`.
pub(super) fn expects(headers: &HeaderMap) -> Expects {
    let expected = headers.get(EXPECT).map_or(&b""[..], HeaderValue::as_bytes);
    if has_token(expected, b"100-continue") { Expects::Continue } else { Expects::Nothing }
}

fn has_one_encoding(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => true,
        (Some(it), None) => it.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// Upstream: golang.org/x/net/http/httpguts, ValidHostHeader.
fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&()*+,-.:;=['_]~".contains(&byte)
}

fn has_token(list: &[u8], wanted: &[u8]) -> bool {
    list.split(|it| *it == b',').any(|it| it.trim_ascii().eq_ignore_ascii_case(wanted))
}

fn bad_request(reason: &str) -> Response {
    refusal(StatusCode::BAD_REQUEST, &format!("400 Bad Request{reason}"))
}

fn refusal(code: StatusCode, text: &str) -> Response {
    let mut response = with_type(code, TEXT, Body::full(text.to_owned()));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::objection;

    /// `method target`, then headers as `name: value`.
    #[track_caller]
    fn check(line: &str, headers: &[(&str, &str)], expected: Option<u16>) {
        let (method, target) = line.split_once(' ').expect("method target");
        let request = Request::builder().method(method).uri(target);
        let request = headers.iter().fold(request, |it, (name, value)| it.header(*name, *value));
        let request = request.body(()).expect("a request");
        let code = objection(&request).map(|it| it.status().as_u16());
        assert_eq!(code, expected, "{line} {headers:?}");
    }

    #[test]
    fn bodies_come_in_chunks_or_with_a_length() {
        for (encodings, expected) in [
            (&["chunked"][..], None),
            (&["Chunked"], None),
            (&["chunked", "chunked"], Some(501)),
            (&["chunked, chunked"], Some(501)),
            (&["gzip, chunked"], Some(501)),
            (&["gzip", "chunked"], Some(501)),
            (&["xchunked"], Some(501)),
            (&[""], Some(501)),
        ] {
            let encodings = encodings.iter().map(|it| ("transfer-encoding", *it));
            let headers: Vec<_> = encodings.chain([("host", "a")]).collect();
            check("POST /a", &headers, expected);
        }
    }

    #[test]
    fn there_is_one_host() {
        check("GET /a", &[("host", "a")], None);
        check("GET /a", &[("host", "[::1]:6443")], None);
        check("GET /a", &[("host", "")], None);
        check("GET /a", &[], Some(400));
        check("GET /a", &[("host", "a"), ("host", "a")], Some(400));
        check("GET /a", &[("host", "a b")], Some(400));
        check("GET /a", &[("host", "a/b")], Some(400));
        check("GET /a", &[("host", "a@b")], Some(400));
        check("GET https://b/a", &[("host", "a")], None);
        check("GET https://b/a", &[], Some(400));
        check("GET b", &[("host", "a")], Some(400));
        check("GET b:80", &[("host", "a")], Some(400));
        check("CONNECT b:80", &[], None);
    }

    #[test]
    fn nothing_is_expected_but_to_go_on() {
        check("POST /a", &[("host", "a"), ("expect", "100-continue")], None);
        check("POST /a", &[("host", "a"), ("expect", "x, 100-Continue")], None);
        check("POST /a", &[("host", "a"), ("expect", "")], None);
        check("POST /a", &[("host", "a"), ("expect", "200-ok")], Some(417));
    }
}
