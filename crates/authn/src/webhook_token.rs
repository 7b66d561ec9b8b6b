//! Webhook token authentication: sends a `TokenReview` to a webhook.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Error, Reply, Retry, ReviewVersion};
use tracing::error;

use crate::token::intersection;
use crate::user::texts;
use crate::{AuthError, Authenticated, Outcome, TokenAuthenticator, User};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenReview";

/// Authenticates tokens with a webhook. Belongs behind a cache.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go (v1.36.4).
pub struct WebhookTokens {
    client: Client,
    version: ReviewVersion,
    /// The audiences of tokens when the webhook names none.
    implicit_audiences: Vec<String>,
    retry: Retry,
    clock: Clock,
}

impl WebhookTokens {
    /// Asks with `client`. Tokens are good for `implicit_audiences` unless the webhook names others.
    #[must_use]
    pub fn new(
        client: Client,
        version: ReviewVersion,
        implicit_audiences: &[String],
        clock: Clock,
    ) -> WebhookTokens {
        let implicit_audiences = implicit_audiences.to_vec();
        WebhookTokens { client, version, implicit_audiences, retry: Retry::default(), clock }
    }

    /// Retries after other delays than upstream's.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> WebhookTokens {
        WebhookTokens { retry, ..self }
    }

    fn review(&self, token: &str, audiences: &[String]) -> Vec<u8> {
        let mut spec = Map::new();
        spec.push_new("token", token);
        if !audiences.is_empty() {
            spec.push_new(
                "audiences",
                audiences.iter().map(|it| Value::from(it.as_str())).collect::<Vec<_>>(),
            );
        }
        let mut status = Map::new();
        status.push_new("user", Map::new());
        let mut review = Map::new();
        review.push_new("kind", KIND);
        review.push_new("apiVersion", self.version.of(GROUP));
        review.push_new("metadata", Map::new());
        review.push_new("spec", spec);
        review.push_new("status", status);
        json::to_bytes(&Value::Map(review)).to_vec()
    }

    async fn ask(&self, token: &str, audiences: &[String]) -> Outcome {
        let body: bytes::Bytes = self.review(token, audiences).into();
        let call = || {
            let body = body.clone();
            async move { self.client.post_json("", body, None).await.and_then(Reply::ok) }
        };
        let reply = self.retry.run(&self.clock, call).await.map_err(|error| unanswered(&error))?;
        let status = self.status(&reply.body)?;
        let mut good_for = Vec::new();
        if !audiences.is_empty() {
            let named = texts(&status, "audiences");
            let named = if named.is_empty() { &self.implicit_audiences } else { &named };
            good_for = intersection(audiences, named);
            if good_for.is_empty() {
                return Ok(None);
            }
        }
        if status.bool("authenticated") != Some(true) {
            return match status.str("error").filter(|it| !it.is_empty()) {
                Some(reason) => Err(AuthError::Webhook { reason: reason.to_owned() }),
                None => Ok(None),
            };
        }
        let user = status.map("user").map_or_else(User::default, |it| User::read(it, "username"));
        let user = Arc::new(user);
        Ok(Some(Authenticated { audiences: good_for, ..Authenticated::new(user) }))
    }

    /// The status of the reply, if it is a review of the right version.
    fn status(&self, body: &[u8]) -> Result<Map, AuthError> {
        let bad = |reason: String| AuthError::Webhook { reason };
        let document = json::read(body).map_err(|error| bad(error.to_string()))?;
        self.version.status((GROUP, KIND), document.value).map_err(bad)
    }
}

/// Bad configuration or an outage.
fn unanswered(error: &Error) -> AuthError {
    error!(%error, "the token webhook did not answer");
    AuthError::Webhook { reason: error.to_string() }
}

impl TokenAuthenticator for WebhookTokens {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        self.ask(token, audiences).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_stdx::clock::Clock;
    use keelson_webhook_client::{Client, Retry, ReviewVersion, Target};

    use super::WebhookTokens;
    use crate::TokenAuthenticator;
    use crate::testing::Place;

    /// `status` is the status that the webhook replies with; a number is an HTTP status instead.
    async fn check(reply: &str, audiences: &[&str], expected: &str) {
        let answer = match reply.parse::<u16>() {
            Ok(code) => (code, String::new()),
            Err(_) => (
                200,
                format!(
                    r#"{{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{reply}}}"#
                ),
            ),
        };
        let place = Place::open(move |_, _| answer.clone()).await;
        let clock = Clock::real();
        let client = Client::new(Target::new(place.url("/review")), &clock).expect("a client");
        let tokens = WebhookTokens::new(client, ReviewVersion::V1, &["api".to_owned()], clock)
            .with_retry(Retry::from(Duration::ZERO));
        let audiences: Vec<String> = audiences.iter().map(|&it| it.to_owned()).collect();
        let text = match tokens.authenticate_token("secret", &audiences).await {
            Ok(Some(it)) => {
                format!("{} {:?} {:?} {:?}", it.user.name, it.user.groups, it.user.extra, it.audiences)
            }
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected, "{reply}");
        let asked = place.asked();
        let calls = if reply == "500" { 5 } else { 1 };
        assert_eq!(asked.len(), calls, "{reply}");
        let wanted = match audiences.is_empty() {
            true => String::new(),
            false => format!(",\"audiences\":[\"{}\"]", audiences.join("\",\"")),
        };
        let review = format!(
            "POST /review {{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{{}},\
             \"spec\":{{\"token\":\"secret\"{wanted}}},\"status\":{{\"user\":{{}}}}}}"
        );
        assert_eq!(asked[0], review);
    }

    #[tokio::test]
    async fn the_webhook_says_who_it_is() {
        let jane =
            r#"{"authenticated":true,"user":{"username":"jane","groups":["a","b"],"extra":{"k":["v"]}}}"#;
        check(jane, &[], r#"jane ["a", "b"] {"k": ["v"]} []"#).await;
        check(jane, &["api", "other"], r#"jane ["a", "b"] {"k": ["v"]} ["api"]"#).await;
        check(jane, &["other"], "nobody").await;
        let bound = r#"{"authenticated":true,"audiences":["other"],"user":{"username":"jane"}}"#;
        check(bound, &["api", "other"], r#"jane [] {} ["other"]"#).await;
        check(bound, &["api"], "nobody").await;
    }

    #[tokio::test]
    async fn or_that_it_is_nobody() {
        check(r#"{"authenticated":false}"#, &[], "nobody").await;
        check(r#"{"error":"token expired"}"#, &[], "token expired").await;
        check("{}", &[], "nobody").await;
    }

    #[tokio::test]
    async fn a_webhook_that_does_not_work_is_an_error() {
        check("404", &[], "the server could not find the requested resource").await;
        check("500", &[], r#"an error on the server ("") has prevented the request from succeeding"#).await;
        let elsewhere = "the server responded with the status code 302 but did not return more information";
        check("302", &[], elsewhere).await;
    }
}
