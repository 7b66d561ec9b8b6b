//! Webhook authorization: sends a SubjectAccessReview to a webhook.

mod cache;
mod review;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Error, Failure, Retry, ReviewVersion};

use crate::{Attributes, Authorizer, AuthzError, Decision, RuleSet, Subject, Target, Verdict};
use cache::Cache;
use review::Status;

/// Asks a webhook for decisions.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go (v1.36.4).
pub struct Webhook {
    client: Client,
    settings: WebhookSettings,
    cache: Cache,
    observer: Arc<dyn WebhookObserver>,
    clock: Clock,
}

/// The configuration of an authorization webhook.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Its name in configuration and metrics.
    pub name: String,
    /// The version of the reviews that are sent and expected.
    pub version: ReviewVersion,
    /// How long a permission is cached; zero disables caching.
    pub authorized_ttl: Duration,
    /// How long any other decision is cached.
    pub unauthorized_ttl: Duration,
    /// The timeout of a call, which is also sent to the webhook.
    pub timeout: Duration,
    /// The decision if there is no answer.
    pub on_failure: OnFailure,
    /// How often a failed call is repeated.
    pub retry: Retry,
}

/// The decision if there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Others decide.
    NoOpinion,
    /// The request is denied.
    Deny,
}

/// Metrics about the calls. Results are `success`, `timeout` and `error`.
pub trait WebhookObserver: Send + Sync {
    /// A call ended.
    fn asked(&self, webhook: &str, result: &'static str, elapsed: Duration);
    /// A failure was treated as no opinion.
    fn failed_open(&self, webhook: &str, result: &'static str);
}

/// Decisions are not cached if the parts of the request that a client controls have this length or more.
const MAX_REMEMBERED: usize = 10_000;

impl Webhook {
    /// Asks by `client`.
    #[must_use]
    pub fn new(
        client: Client,
        settings: WebhookSettings,
        observer: Arc<dyn WebhookObserver>,
        clock: Clock,
    ) -> Webhook {
        Webhook { client, settings, cache: Cache::default(), observer, clock }
    }

    async fn decide(&self, attributes: &Attributes<'_>) -> Verdict {
        let spec = review::spec(attributes, self.settings.version);
        let now = self.clock.monotonic();
        let status = match self.cache.get(&spec, now) {
            Some(status) => status,
            None => match self.ask(&spec).await {
                Ok(status) => {
                    self.remember(attributes, &spec, &status);
                    status
                }
                Err((reason, result)) => return self.failure(reason, result),
            },
        };
        let reason = status.reason.into();
        let decision = match (status.denied, status.allowed) {
            (true, _) => Decision::Deny { reason },
            (false, true) => Decision::Allow { reason },
            (false, false) => Decision::NoOpinion { reason },
        };
        let both = "webhook subject access review returned both allow and deny response";
        let is_both = status.denied && status.allowed;
        let error = is_both.then(|| AuthzError::Webhook { reason: both.to_owned() });
        Verdict { decision, error }
    }

    /// The answer, or the error and its name in metrics.
    async fn ask(&self, spec: &[u8]) -> Result<Status, (String, &'static str)> {
        let name = &self.settings.name;
        let body = review::body(spec, self.settings.version);
        let timeout = self.settings.timeout;
        let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
        let query = format!("?timeout={}", keelson_object::scalar::Duration::from_nanos(nanos));
        let call = || async {
            let begun = self.clock.monotonic();
            let reply =
                self.client.post_json(&query, body.clone(), Some(timeout)).await.and_then(|it| it.ok());
            let outcome = reply.map(|it| review::read(&it.body, self.settings.version));
            let result = match &outcome {
                Ok(Ok(_)) => "success",
                Ok(Err(_)) => "error",
                Err(error) => result_of(error),
            };
            self.observer.asked(name, result, self.clock.monotonic().saturating_sub(begun));
            outcome
        };
        match self.settings.retry.run(&self.clock, call).await {
            Ok(Ok(status)) => Ok(status),
            Ok(Err(problem)) => Err((problem, "error")),
            Err(error) => Err((error.to_string(), result_of(&error))),
        }
    }

    fn failure(&self, reason: String, result: &'static str) -> Verdict {
        tracing::error!(
            webhook = self.settings.name,
            error = reason,
            "the authorization webhook gave no answer"
        );
        let decision = match self.settings.on_failure {
            OnFailure::NoOpinion => {
                self.observer.failed_open(&self.settings.name, result);
                Decision::NO_OPINION
            }
            OnFailure::Deny => Decision::DENY,
        };
        Verdict { decision, error: Some(AuthzError::Webhook { reason }) }
    }

    fn remember(&self, attributes: &Attributes<'_>, spec: &[u8], status: &Status) {
        let settings = &self.settings;
        let time = if status.allowed { settings.authorized_ttl } else { settings.unauthorized_ttl };
        if !time.is_zero() && controlled_size(attributes) < MAX_REMEMBERED {
            let now = self.clock.monotonic();
            self.cache.put(spec, status.clone(), (now, now + time));
        }
    }
}

fn result_of(error: &Error) -> &'static str {
    let is_timeout = matches!(error.failure(), Some(Failure::Timeout))
        || matches!(error, Error::Status { status: 504, .. });
    if is_timeout { "timeout" } else { "error" }
}

/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, shouldCache (v1.36.4).
fn controlled_size(attributes: &Attributes<'_>) -> usize {
    let of_target = match attributes.target {
        Target::Resource { namespace, api_group, api_version, resource, subresource, name } => {
            [namespace, api_group, api_version, resource, subresource, name].iter().map(|it| it.len()).sum()
        }
        Target::Path => 0,
    };
    attributes.verb.len() + attributes.path.len() + of_target
}

impl Authorizer for Webhook {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        self.decide(attributes).boxed()
    }

    fn rules(&self, _: &Subject<'_>, _: &str) -> Option<RuleSet> {
        Some(RuleSet::unknown("webhook authorizer does not support user rule resolution"))
    }
}
