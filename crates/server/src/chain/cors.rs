//! CORS: requests by web pages of other origins.
//!
//! Upstream: apiserver/pkg/server/filters/cors.go (v1.36.4).

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::response::{Body, Response};
use crate::settings::Settings;

/// The origin of the page, if it may read responses.
pub(crate) struct Cors(Option<HeaderValue>);

impl Cors {
    /// Checks the origin of the page against the settings.
    pub(crate) fn of(settings: &Settings, headers: &HeaderMap) -> Cors {
        if settings.cors_allowed_origins.is_empty() {
            return Cors(None);
        }
        let origin = headers.get(header::ORIGIN).filter(|origin| {
            let text = origin.to_str().unwrap_or_default();
            !text.is_empty() && settings.cors_allowed_origins.iter().any(|it| it.is_match(text))
        });
        Cors(origin.cloned())
    }

    /// Whether the origin is allowed.
    pub(crate) fn is_allowed(&self) -> bool {
        self.0.is_some()
    }

    /// Adds the CORS headers to a response.
    pub(crate) fn add_to(&self, response: &mut Response) {
        let Some(origin) = &self.0 else { return };
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS, PUT, DELETE, PATCH"),
            (
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, \
                 If-Modified-Since",
            ),
            (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Date"),
            (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// The response to a preflight request.
pub(crate) fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use regex::Regex;

    use super::Cors;
    use crate::response::{Body, Response};
    use crate::settings::Settings;

    #[test]
    fn listed_origins_may_read() {
        let settings = Settings {
            cors_allowed_origins: vec![Regex::new("//example.com$").unwrap()],
            ..Settings::default()
        };
        let check = |origin: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert("origin", origin.parse().unwrap());
            let cors = Cors::of(&settings, &headers);
            assert_eq!(cors.is_allowed(), expected, "{origin}");
            let mut response = Response::new(Body::empty());
            cors.add_to(&mut response);
            assert_eq!(response.headers().contains_key("access-control-allow-origin"), expected);
        };
        check("https://example.com", true);
        check("https://example.com.evil", false);
        check("", false);
        assert!(!Cors::of(&Settings::default(), &HeaderMap::new()).is_allowed());
    }
}
