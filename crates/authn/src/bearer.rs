//! Bearer token authentication: reads the token from the headers and looks up its user.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::{AuthError, Authenticator, Credentials, Outcome, TokenAuthenticator};

/// Authenticates the bearer token of a request. An unknown token is an error.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go (v1.36.4).
pub struct Bearer {
    tokens: Arc<dyn TokenAuthenticator>,
    api_audiences: Vec<String>,
}

impl Bearer {
    /// Tokens must be valid for one of `api_audiences`, unless the caller names other audiences.
    #[must_use]
    pub fn new(tokens: Arc<dyn TokenAuthenticator>, api_audiences: &[String]) -> Bearer {
        Bearer { tokens, api_audiences: api_audiences.to_vec() }
    }
}

impl Authenticator for Bearer {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        let Some(token) = bearer_token(credentials.headers) else {
            return std::future::ready(Ok(None)).boxed();
        };
        let audiences = match credentials.audiences {
            [] => &self.api_audiences,
            asked => asked,
        };
        async move {
            let known = self.tokens.authenticate_token(token, audiences).await?;
            known.map(Some).ok_or(AuthError::InvalidBearerToken)
        }
        .boxed()
    }
}

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
