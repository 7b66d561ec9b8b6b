//! Authorizer: the trait of this crate.

use std::borrow::Cow;
use std::fmt;

use futures_util::future::BoxFuture;

use crate::{Attributes, RuleSet, Subject};

/// Decides whether a request may go on.
pub trait Authorizer: Send + Sync {
    /// Decides about one request.
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict>;

    /// The rules of `user` in `namespace`; `None` if the authorizer does not take part in rule reviews.
    fn rules(&self, _user: &Subject<'_>, _namespace: &str) -> Option<RuleSet> {
        None
    }
}

impl fmt::Debug for dyn Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer")
    }
}

/// The decision of an authorizer. Reasons are read by clients and by the audit log; they may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is allowed; later authorizers are not called.
    Allow {
        /// The reason.
        reason: Cow<'static, str>,
    },
    /// The request is denied; later authorizers are not called.
    Deny {
        /// The reason.
        reason: Cow<'static, str>,
    },
    /// Later authorizers decide. If all return this, the request is denied.
    NoOpinion {
        /// The reason.
        reason: Cow<'static, str>,
    },
}

/// A decision, and the error that occurred on the way. An error does not rule out the decision: a broken rule
/// may be beside one that allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The error, if something failed on the way.
    pub error: Option<AuthzError>,
}

impl Verdict {
    /// The error and the reason of the decision, as one text.
    pub fn explained(&self) -> String {
        match (&self.error, self.decision.reason()) {
            (Some(error), "") => error.to_string(),
            (Some(error), reason) => format!("{error}: {reason}"),
            (None, reason) => reason.to_owned(),
        }
    }
}

/// Why an authorizer could not evaluate everything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthzError {
    /// Rules could not be evaluated.
    #[error("{reason}")]
    Rules {
        /// What is wrong with them.
        reason: String,
    },
    /// A webhook did not answer.
    #[error("{reason}")]
    Webhook {
        /// The reason.
        reason: String,
    },
    /// A file with rules could not be read.
    #[error("error reading policy file {path}, line {line}: {text}: {reason}")]
    PolicyFile {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// The text of the line.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Decision {
    /// Allowed, without a word.
    pub const ALLOW: Decision = Decision::Allow { reason: Cow::Borrowed("") };
    /// Refused, without a word.
    pub const DENY: Decision = Decision::Deny { reason: Cow::Borrowed("") };
    /// The authorizer leaves the decision to others.
    pub const NO_OPINION: Decision = Decision::NoOpinion { reason: Cow::Borrowed("") };

    /// Whether the request is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allow { .. })
    }

    /// The reason; may be empty.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Decision::Allow { reason } | Decision::Deny { reason } | Decision::NoOpinion { reason } => reason,
        }
    }
}

impl From<Decision> for Verdict {
    fn from(decision: Decision) -> Verdict {
        Verdict { decision, error: None }
    }
}
