//! TokenReview: authenticates a token.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use keelson_authn::{AuthError, Credentials, Outcome};
use keelson_object::{Object, Value};
use keelson_registry::{Answer, Context, Error, Result};
use keelson_status::Status;

use crate::access::Access;

pub(crate) struct TokenReviews(pub(crate) Access);

impl Answer for TokenReviews {
    fn answer<'a>(&'a self, context: &'a Context, _: &'a str, body: Object) -> BoxFuture<'a, Result<Object>> {
        self.review(context, body).boxed()
    }
}

impl TokenReviews {
    /// Upstream: pkg/registry/authentication/tokenreview/storage.go, Create (v1.36.4).
    async fn review(&self, context: &Context, mut body: Object) -> Result<Object> {
        let spec = body.fields.map("spec");
        let token = spec.and_then(|it| it.str("token")).unwrap_or_default();
        if token.is_empty() {
            return Err(Error::BadRequest("token is required for TokenReview in authentication".to_owned()));
        }
        let asked = spec.map(|it| it.list("audiences")).unwrap_or_default();
        let asked: Vec<String> = asked.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let wanted = if asked.is_empty() { &self.0.api_audiences } else { &asked };
        let outcome = self.authenticate(token, wanted).await;
        let status = body.fields.map_mut("status");
        status.set("authenticated", matches!(outcome, Ok(Some(_))));
        match outcome {
            Ok(Some(known)) if !wanted.is_empty() && known.audiences.is_empty() => {
                return Err(Error::Rejected(Box::new(Status::internal_error("error validating audiences"))));
            }
            Ok(Some(known)) => {
                for text in &known.warnings {
                    context.warn(*text);
                }
                status.set("user", known.user.info());
                let audiences = known.audiences.iter().map(|it| Value::from(it.as_str()));
                status.set("audiences", audiences.collect::<Vec<_>>());
            }
            Ok(None) => {}
            // Upstream tries two authenticators: that of the server's own token, and then all others.
            Err(error) => {
                let both = AuthError::Several(vec![AuthError::InvalidBearerToken, error]);
                status.set("error", both.to_string());
            }
        }
        Ok(body)
    }

    /// Asks the server's own authenticator, as if the token came with a request.
    async fn authenticate(&self, token: &str, audiences: &[String]) -> Outcome {
        // A token that does not fit into a header cannot be valid.
        let header = HeaderValue::try_from(format!("Bearer {token}"));
        let header = header.map_err(|_| AuthError::InvalidBearerToken)?;
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header)]);
        let credentials = Credentials { peer_certificates: &[], headers: &headers, path: "", audiences };
        self.0.authenticator.authenticate(&credentials).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_authn::{AudienceAgnostic, Bearer, TokenFile};

    use super::TokenReviews;
    use crate::access::Access;
    use crate::shared::testing::{answer, text};

    #[track_caller]
    fn check(api_audiences: &[&str], spec: &str, expected: &str) {
        let tokens = TokenFile::parse("secret,jane,7,dev\n").expect("a token file");
        let api_audiences: Vec<String> = api_audiences.iter().map(|&it| it.to_owned()).collect();
        let tokens = AudienceAgnostic::new(Arc::new(tokens), &api_audiences);
        let access = Access {
            authenticator: Arc::new(Bearer::new(Arc::new(tokens), &api_audiences)),
            api_audiences,
            ..Access::default()
        };
        let found = match answer(&TokenReviews(access), "", &format!("{{\"spec\": {spec}}}")) {
            Ok(object) => text(&object.fields.get("status").cloned().unwrap_or_default()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{spec}");
    }

    const JANE: &str = r#""user":{"username":"jane","uid":"7","groups":["dev"]}"#;

    #[test]
    fn a_known_token_has_a_user() {
        let known = |audiences: &str| format!(r#"{{"authenticated":true,{JANE},"audiences":[{audiences}]}}"#);
        check(&[], r#"{"token": "secret"}"#, &known(""));
        check(&["api"], r#"{"token": "secret"}"#, &known(r#""api""#));
        check(&["api", "b"], r#"{"token": "secret", "audiences": ["b", "c"]}"#, &known(r#""b""#));
    }

    #[test]
    fn other_tokens_have_none() {
        let unknown = r#"{"authenticated":false,"error":"invalid bearer token"}"#;
        check(&["api"], r#"{"token": "guess"}"#, unknown);
        check(&["api"], r#"{"token": "new\nline"}"#, unknown);
        check(&["api"], r#"{"token": "secret", "audiences": ["other"]}"#, unknown);
        check(&["api"], r#"{"token": " secret"}"#, r#"{"authenticated":false}"#);
    }

    #[test]
    fn a_review_needs_a_token() {
        check(&[], "{}", "token is required for TokenReview in authentication");
        check(&[], r#"{"token": ""}"#, "token is required for TokenReview in authentication");
    }
}
