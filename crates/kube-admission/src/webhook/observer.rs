//! What is told of webhooks besides their answers: to who counts, and to who waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::breaker::{Breaker, CircuitState};

/// How webhooks are asked.
#[derive(Clone, Debug, Default)]
pub struct Webhooks {
    /// Who counts.
    pub observer: Option<Arc<dyn Observer>>,
    /// When a webhook is left alone; never, if there is none.
    pub breaker: Option<Breaker>,
    /// Whether clients are told how long each webhook took.
    pub timings: Timings,
}

/// Whether clients are told how long each webhook took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timings {
    /// No.
    #[default]
    Hidden,
    /// In the header `Server-Timing`.
    Told,
}

/// Counts.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A webhook was asked.
    fn asked(&self, asked: &Asked<'_>);

    /// What the circuit of a webhook lets through.
    fn circuit(&self, configuration: &str, webhook: &str, state: CircuitState);
}

/// One question, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The name of the webhook.
    pub webhook: &'a str,
    /// `admit` for those that change objects, `validating` for the others.
    pub step: &'static str,
    /// `CREATE`.
    pub operation: &'static str,
    /// How long it took.
    pub elapsed: Duration,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a question, each with the code that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request goes on.
    Allowed,
    /// The webhook said no.
    Denied(u16),
    /// The webhook could not be asked, and the request fails.
    FailedClosed(u16),
    /// The webhook could not be asked, and the request goes on.
    FailedOpen(u16),
    /// We could not do with the answer what had to be done.
    Internal,
}

impl Verdict {
    /// The code that stands for it; larger ones than there are count as 600.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Verdict::Allowed => 200,
            Verdict::Denied(code) | Verdict::FailedClosed(code) | Verdict::FailedOpen(code) => code.min(600),
            Verdict::Internal => 0,
        }
    }

    /// Whether the request fails, and how that is called.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go, WebhookRejectionErrorType (v1.36.4).
    #[must_use]
    pub fn rejection(self) -> Option<&'static str> {
        match self {
            Verdict::Allowed | Verdict::FailedOpen(_) => None,
            Verdict::Denied(_) => Some("no_error"),
            Verdict::FailedClosed(_) => Some("calling_webhook_error"),
            Verdict::Internal => Some("apiserver_internal_error"),
        }
    }
}
