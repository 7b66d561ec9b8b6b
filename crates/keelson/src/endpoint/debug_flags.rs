//! `/debug/flags/v`: changes the log verbosity while the server runs.
//!
//! Upstream: apiserver/pkg/server/routes/flags.go; component-base/logs/logs.go, GlogSetter (v1.36.4).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use keelson_server::body::RequestBody;
use keelson_server::response::{NOSNIFF, with_type};
use keelson_server::{Body, Endpoint, Response};

use crate::flags::go_number::parse_decimal;
use crate::logging;

/// A level has a few digits.
const MAX_BODY: usize = 1024;

const LEVEL: &str = "/debug/flags/v";

const INDEX: &str = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n\
    flags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";

/// The flags that can be changed.
pub(super) struct DebugFlags;

impl Endpoint for DebugFlags {
    fn answer<'a>(&'a self, path: &'a str, _parts: &'a Parts) -> BoxFuture<'a, Response> {
        let response = if path == LEVEL {
            plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method")
        } else {
            with_type(StatusCode::OK, HeaderValue::from_static("text/html; charset=utf-8"), Body::full(INDEX))
        };
        std::future::ready(response).boxed()
    }

    fn answer_to_body<'a>(
        &'a self,
        path: &'a str,
        parts: &'a Parts,
        body: RequestBody,
    ) -> BoxFuture<'a, Response> {
        if path != LEVEL || parts.method != Method::PUT {
            return self.answer(path, parts);
        }
        Box::pin(async {
            let body = match body.read(MAX_BODY).await {
                Ok(body) => body,
                Err(error) => {
                    let message = format!("error reading request body: {error}");
                    return plain(StatusCode::BAD_REQUEST, &message);
                }
            };
            match read_level(&String::from_utf8_lossy(&body)) {
                Ok(level) => {
                    logging::set_level(level);
                    plain(StatusCode::OK, &format!("successfully set klog.logging.verbosity to {level}"))
                }
                Err(problem) => plain(StatusCode::BAD_REQUEST, &problem),
            }
        })
    }

    fn is_listed(&self, _path: &str) -> bool {
        false
    }
}

/// Upstream parses a level as a signed number in one place and as an unsigned one in another.
fn read_level(text: &str) -> Result<u32, String> {
    let level = parse_decimal(text, 32)?;
    u32::try_from(level).ok().filter(|it| *it <= i32::MAX.unsigned_abs()).ok_or_else(|| {
        format!(
            "failed set klog.logging.verbosity {text}: strconv.ParseInt: parsing \"{text}\": value out of range"
        )
    })
}

fn plain(code: StatusCode, text: &str) -> Response {
    let mut response =
        with_type(code, HeaderValue::from_static("text/plain"), Body::full(format!("{text}\n")));
    response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
    response
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use http::Request;
    use keelson_server::Endpoint as _;
    use keelson_server::body::RequestBody;

    use super::DebugFlags;

    #[track_caller]
    fn check(request: &str, body: &'static str, expected: &str) {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let (parts, ()) =
            Request::builder().method(method).uri(path).body(()).expect("a request").into_parts();
        let body = RequestBody::Memory(Bytes::from(body));
        let answer = DebugFlags.answer_to_body(path, &parts, body).now_or_never().expect("at once");
        let code = answer.status().as_u16();
        let text = answer.into_body().into_chunks().expect("chunks").pop_front().expect("a chunk");
        assert_eq!(
            format!("{code} {}", String::from_utf8_lossy(&text)),
            format!("{expected}\n"),
            "{request}"
        );
    }

    #[test]
    fn a_level_is_a_decimal_number() {
        check("PUT /debug/flags/v", "5", "200 successfully set klog.logging.verbosity to 5");
        check("PUT /debug/flags/v", "abc", "400 strconv.ParseUint: parsing \"abc\": invalid syntax");
        check("PUT /debug/flags/v", "-1", "400 strconv.ParseUint: parsing \"-1\": invalid syntax");
        check("PUT /debug/flags/v", "", "400 strconv.ParseUint: parsing \"\": invalid syntax");
        check("PUT /debug/flags/v", "+3", "400 strconv.ParseUint: parsing \"+3\": invalid syntax");
        let range = "400 strconv.ParseUint: parsing \"99999999999\": value out of range";
        check("PUT /debug/flags/v", "99999999999", range);
        let range = "400 failed set klog.logging.verbosity 3000000000: strconv.ParseInt: parsing \"3000000000\": \
                     value out of range";
        check("PUT /debug/flags/v", "3000000000", range);
        check("GET /debug/flags/v", "", "406 unsupported http method");
        check("POST /debug/flags/v", "5", "406 unsupported http method");
    }
}
