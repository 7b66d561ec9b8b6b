//! Reading a bearer token from the headers.

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The token of `Authorization: Bearer <token>`; `None` without one, or when it is empty.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go (v1.36.4).
#[must_use]
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let mut parts = value.split(' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, HeaderValue};

    use super::bearer_token;

    #[track_caller]
    fn check(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(header.as_bytes()).expect("a header value"));
        assert_eq!(bearer_token(&headers), expected);
    }

    #[test]
    fn the_second_word_is_the_token() {
        check("Bearer abc", Some("abc"));
        check("bearer abc", Some("abc"));
        check("  BEARER abc  ", Some("abc"));
        check("Bearer abc def", Some("abc"));
    }

    #[test]
    fn other_headers_carry_no_token() {
        check("", None);
        check("Bearer", None);
        check("Bearer ", None);
        check("Bearer  abc", None);
        check("Basic abc", None);
        check("Bearer \u{e4}", None);
        assert_eq!(bearer_token(&HeaderMap::new()), None);
    }
}
