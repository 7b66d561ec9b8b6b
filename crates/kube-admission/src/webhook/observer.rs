//! Webhook metrics and timings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::breaker::{Breaker, CircuitState};

/// The settings of webhook calls.
#[derive(Clone, Debug, Default)]
pub struct Webhooks {
    /// The metrics.
    pub observer: Option<Arc<dyn Observer>>,
    /// When the circuit of a webhook opens; never, if there is none.
    pub breaker: Option<Breaker>,
    /// Whether clients get the duration of each call.
    pub timings: Timings,
}

/// Whether clients get the duration of each call.
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
    /// A webhook was called.
    fn asked(&self, asked: &Asked<'_>);

    /// The state of a webhook's circuit.
    fn circuit(&self, configuration: &str, webhook: &str, state: CircuitState);
}

/// One call and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The name of the webhook.
    pub webhook: &'a str,
    /// `admit` for mutating webhooks, `validating` for the others.
    pub step: &'static str,
    /// `CREATE`.
    pub operation: &'static str,
    /// The duration.
    pub elapsed: Duration,
    /// The result.
    pub verdict: Verdict,
}

/// The result of a call, each with its status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request goes on.
    Allowed,
    /// The webhook denied the request.
    Denied(u16),
    /// The call failed, and the request fails.
    FailedClosed(u16),
    /// The call failed, and the request goes on.
    FailedOpen(u16),
    /// The answer could not be applied.
    Internal,
}

impl Verdict {
    /// The status code; codes above 600 count as 600.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Verdict::Allowed => 200,
            Verdict::Denied(code) | Verdict::FailedClosed(code) | Verdict::FailedOpen(code) => code.min(600),
            Verdict::Internal => 0,
        }
    }

    /// The error type of a rejection; `None` if the request goes on.
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
