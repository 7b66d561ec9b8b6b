//! Authorizer: the one question that this crate answers.

use std::borrow::Cow;
use std::fmt;

use futures_util::future::BoxFuture;

use crate::{Attributes, RuleSet, Subject};

/// Decides whether a request may go on.
pub trait Authorizer: Send + Sync {
    /// Decides about one request.
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict>;

    /// What `user` may do in `namespace`; `None` for those who are not asked such things.
    fn rules(&self, _user: &Subject<'_>, _namespace: &str) -> Option<RuleSet> {
        None
    }
}

impl fmt::Debug for dyn Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer")
    }
}

/// What an authorizer says. Reasons are read by clients and by the audit log; they may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may, whatever others say.
    Allow {
        /// Why.
        reason: Cow<'static, str>,
    },
    /// It must not, whatever others say.
    Deny {
        /// Why.
        reason: Cow<'static, str>,
    },
    /// Others decide. When all say this, the request is refused.
    NoOpinion {
        /// Why.
        reason: Cow<'static, str>,
    },
}

/// A decision, and what went wrong while it was made. An error does not forbid the decision: a broken rule
/// may stand beside one that allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What to do.
    pub decision: Decision,
    /// What went wrong.
    pub error: Option<AuthzError>,
}

impl Verdict {
    /// Why not: what went wrong, and the reason of the decision.
    pub fn explained(&self) -> String {
        match (&self.error, self.decision.reason()) {
            (Some(error), "") => error.to_string(),
            (Some(error), reason) => format!("{error}: {reason}"),
            (None, reason) => reason.to_owned(),
        }
    }
}

/// Why an authorizer could not look at everything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthzError {
    /// Rules could not be evaluated.
    #[error("{reason}")]
    Rules {
        /// What is wrong with them.
        reason: String,
    },
    /// Who should have been asked did not answer.
    #[error("{reason}")]
    Webhook {
        /// Why not.
        reason: String,
    },
    /// A file with rules could not be read.
    #[error("error reading policy file {path}, line {line}: {text}: {reason}")]
    PolicyFile {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
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
    /// Somebody else's business.
    pub const NO_OPINION: Decision = Decision::NoOpinion { reason: Cow::Borrowed("") };

    /// Whether the request may go on.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allow { .. })
    }

    /// Why; may be empty.
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
