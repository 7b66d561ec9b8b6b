//! Impersonation metrics.
//!
//! Upstream: apiserver/pkg/endpoints/filters/impersonation/metrics/metrics.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use keelson_authz::impersonation::{Acting, mode_of};
use keelson_authz::{Attributes, Authorizer, Verdict};
use keelson_stdx::clock::Clock;

use crate::metrics::{AUTH_BUCKETS, Counter, Family, Histogram, Registry};

/// The number of impersonation attempts, and of authorization checks for them.
#[derive(Clone)]
pub(super) struct ImpersonationMetrics {
    attempts: Arc<Family<Counter>>,
    durations: Arc<Family<Histogram>>,
    questions: Arc<Family<Counter>>,
    question_durations: Arc<Family<Histogram>>,
}

impl ImpersonationMetrics {
    pub(super) fn new(registry: &Registry) -> ImpersonationMetrics {
        let labels = &["mode", "decision"];
        let counter = |name, help| registry.family(Family::new(name, help, labels));
        let histogram = |name, help| registry.family(Family::with_buckets(name, help, labels, AUTH_BUCKETS));
        ImpersonationMetrics {
            attempts: counter(
                "apiserver_impersonation_attempts_total",
                "[ALPHA] Wishes to act as somebody else, by mode and decision.",
            ),
            durations: histogram(
                "apiserver_impersonation_attempts_duration_seconds",
                "[ALPHA] Seconds it took to decide about them, by mode and decision.",
            ),
            questions: counter(
                "apiserver_impersonation_authorization_attempts_total",
                "[ALPHA] Questions to the authorizer about them, by mode and decision.",
            ),
            question_durations: histogram(
                "apiserver_impersonation_authorization_attempts_duration_seconds",
                "[ALPHA] Seconds it took to answer those, by mode and decision.",
            ),
        }
    }

    pub(super) fn attempt(&self, acting: Option<&Acting>, elapsed: Duration) {
        let labels = match acting {
            None => ["", "denied"],
            Some(Acting { constraint: "", .. }) => ["legacy", "allowed"],
            Some(acting) => [mode_of(acting.constraint), "allowed"],
        };
        self.attempts.with(&labels).inc();
        self.durations.with(&labels).observe(elapsed.as_secs_f64());
    }
}

/// An authorizer that counts its decisions.
pub(super) struct Counted {
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) metrics: ImpersonationMetrics,
    pub(super) clock: Clock,
}

impl Authorizer for Counted {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let begun = self.clock.monotonic();
            let verdict = self.authorizer.authorize(attributes).await;
            let elapsed = self.clock.monotonic().saturating_sub(begun);
            let decision = if verdict.decision.is_allowed() { "allowed" } else { "denied" };
            let labels = [mode_of(attributes.verb), decision];
            self.metrics.questions.with(&labels).inc();
            self.metrics.question_durations.with(&labels).observe(elapsed.as_secs_f64());
            verdict
        })
    }
}
