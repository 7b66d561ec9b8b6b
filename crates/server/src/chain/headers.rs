//! Headers of every response.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::response::Response;
use crate::settings::Settings;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The audit id of the request: the client's, or a new one.
pub(crate) fn audit_id(headers: &HeaderMap) -> HeaderValue {
    match headers.get(AUDIT_ID) {
        Some(given) if !given.is_empty() => given.clone(),
        _ => new_audit_id(),
    }
}

fn new_audit_id() -> HeaderValue {
    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
    let text = uuid::Uuid::new_v4().hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).expect("hexadecimal digits are header text")
}

/// Sets the audit id of the response.
pub(crate) fn set_audit_id(response: &mut Response, id: HeaderValue) {
    response.headers_mut().entry(AUDIT_ID).or_insert(id);
}

/// Adds the headers for browsers and proxies.
pub(crate) fn add(settings: &Settings, response: &mut Response) {
    let headers = response.headers_mut();
    if !settings.hsts_directives.is_empty()
        && let Ok(directives) = HeaderValue::from_str(&settings.hsts_directives.join("; "))
    {
        headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(directives);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
}

/// Removes the body: the response to HEAD is that to GET without its body.
pub(crate) fn keep_length_only(response: &mut Response) {
    if let Some(length) = response.body().len() {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.body_mut().clear();
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{add, audit_id, keep_length_only};
    use crate::response::{Body, Response};
    use crate::settings::Settings;

    #[test]
    fn the_audit_id_is_the_clients_or_new() {
        let mut headers = HeaderMap::new();
        let made = audit_id(&headers);
        assert_eq!(made.len(), 36);
        assert_ne!(made, audit_id(&headers));
        headers.insert("audit-id", "mine".parse().unwrap());
        assert_eq!(audit_id(&headers), "mine");
    }

    #[test]
    fn answers_are_not_cached_unless_they_say_so() {
        let mut settings = Settings::default();
        let mut response = Response::new(Body::empty());
        add(&settings, &mut response);
        assert_eq!(response.headers()["cache-control"], "no-cache, private");
        assert!(!response.headers().contains_key("strict-transport-security"));

        settings.hsts_directives = vec!["max-age=1".to_owned(), "includeSubDomains".to_owned()];
        response.headers_mut().insert("cache-control", "public".parse().unwrap());
        add(&settings, &mut response);
        assert_eq!(response.headers()["cache-control"], "public");
        assert_eq!(response.headers()["strict-transport-security"], "max-age=1; includeSubDomains");
    }

    #[test]
    fn head_keeps_the_length() {
        let mut response = Response::new(Body::full("abc"));
        keep_length_only(&mut response);
        assert_eq!(response.headers()["content-length"], "3");
        assert!(response.body().is_empty());
    }
}
