//! `/debug/pprof/`: CPU profiles that `go tool pprof` reads.
//!
//! Upstream: apiserver/pkg/server/routes/profiling.go (v1.36.4), which serves Go's net/http/pprof.

mod cpu;
mod profile;

use std::time::Duration;

use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode, header};
use keelson_server::query::Query;
use keelson_server::response::{NOSNIFF, text_error, with_type};
use keelson_server::{Body, Endpoint, Response};
use keelson_stdx::clock::Clock;

/// The default duration of a profile.
const USUAL: Duration = Duration::from_secs(30);

/// The limit of the duration of a profile, because samples take memory.
const LONGEST: Duration = Duration::from_secs(600);

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Marks an error as one of profiling.
const GO_PPROF: HeaderName = HeaderName::from_static("x-go-pprof");

const INDEX: &str = "<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n/debug/pprof/\n<br>\n\
    Types of profiles available:\n<table>\n<tr><td><a href='profile'>profile</a></td><td>Where processor time is \
    spent. The parameter seconds says for how long samples are taken.</td></tr>\n</table>\n</body>\n</html>\n";

/// The profiles of this process.
pub(super) struct Pprof {
    pub(super) clock: Clock,
}

impl Endpoint for Pprof {
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            match path {
                "/debug/pprof" => redirect(),
                "/debug/pprof/" => {
                    let mut response = with_type(StatusCode::OK, HTML, Body::full(INDEX));
                    response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
                    response
                }
                "/debug/pprof/profile" => self.cpu(&Query::of(&parts.uri)).await,
                _ => failed(StatusCode::NOT_FOUND, "Unknown profile"),
            }
        })
    }

    fn is_listed(&self, _path: &str) -> bool {
        false
    }
}

impl Pprof {
    async fn cpu(&self, query: &Query<'_>) -> Response {
        let time = duration(query);
        if time > LONGEST {
            return failed(StatusCode::BAD_REQUEST, "profile duration exceeds server's WriteTimeout");
        }
        match cpu::profile(&self.clock, time).await {
            Ok(bytes) => {
                let media_type = HeaderValue::from_static("application/octet-stream");
                let mut response = with_type(StatusCode::OK, media_type, Body::full(bytes));
                let headers = response.headers_mut();
                headers.insert(NOSNIFF.0, NOSNIFF.1);
                let name = HeaderValue::from_static("attachment; filename=\"profile\"");
                headers.insert(header::CONTENT_DISPOSITION, name);
                response
            }
            Err(problem) => {
                let message = format!("Could not enable CPU profiling: {problem}");
                failed(StatusCode::INTERNAL_SERVER_ERROR, &message)
            }
        }
    }
}

/// `seconds`; a value that is not a positive number means the default.
fn duration(query: &Query<'_>) -> Duration {
    let seconds = query.get("seconds").and_then(|it| it.parse::<i64>().ok());
    match seconds.and_then(|it| u64::try_from(it).ok()) {
        None | Some(0) => USUAL,
        Some(seconds) => Duration::from_secs(seconds),
    }
}

fn redirect() -> Response {
    let body = Body::full("<a href=\"/debug/pprof/\">Found</a>.\n\n");
    let mut response = with_type(StatusCode::FOUND, HTML, body);
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/debug/pprof/"));
    response
}

fn failed(code: StatusCode, message: &str) -> Response {
    let mut response = text_error(code, message);
    response.headers_mut().insert(GO_PPROF, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_server::query::Query;

    use super::{USUAL, duration};

    #[track_caller]
    fn check(query: &str, expected: Duration) {
        assert_eq!(duration(&Query::parse(query)), expected, "{query}");
    }

    #[test]
    fn what_is_no_positive_number_of_seconds_is_the_usual_time() {
        check("seconds=5", Duration::from_secs(5));
        for query in ["", "seconds=", "seconds=0", "seconds=-1", "seconds=abc", "seconds=1.5"] {
            check(query, USUAL);
        }
    }
}
