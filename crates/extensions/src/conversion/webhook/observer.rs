//! Metrics of conversion webhooks: what is reported of each call.

use std::fmt;
use std::time::Duration;

/// Counts calls of conversion webhooks.
pub trait Observer: fmt::Debug + Send + Sync {
    /// A webhook was asked.
    fn asked(&self, asked: &Asked<'_>);
}

/// One call, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The name of the definition.
    pub definition: &'a str,
    /// The versions of the objects, each once.
    pub from: &'a [&'a str],
    /// The version that was asked for.
    pub to: &'a str,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it failed, if it failed.
    pub failure: Option<FailureType>,
}

/// Why a conversion failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureType {
    /// The webhook gave no answer that can be read.
    Call,
    /// The answer is not a successful review of what was asked.
    MalformedResponse,
    /// There are more or fewer objects in the answer than in the question.
    PartialResponse,
    /// An object in the answer is not what was asked for.
    InvalidConvertedObject,
}

impl FailureType {
    /// The name in metrics.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apiserver/conversion/metrics.go, ConversionWebhookErrorType (v1.36.4).
    pub fn as_str(self) -> &'static str {
        match self {
            FailureType::Call => "conversion_webhook_call_failure",
            FailureType::MalformedResponse => "conversion_webhook_malformed_response_failure",
            FailureType::PartialResponse => "conversion_webhook_partial_response_failure",
            FailureType::InvalidConvertedObject => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}
