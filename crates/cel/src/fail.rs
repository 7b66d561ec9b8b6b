//! Errors of an evaluation: what `&&` and `||` may absorb, and what ends the evaluation at once.

use std::borrow::Cow;
use std::fmt;

use crate::authz::Check;
use crate::value::Val;

/// The result of evaluating a node.
pub type Outcome<'a> = Result<Val<'a>, Failure>;

/// The text of an exceeded cost limit.
pub const COST_LIMIT_EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";

/// Why there is no value. One pointer, so that results stay small.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure(Box<Cause>);

/// The kinds of failures.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// An error value of CEL with cel-go's text. `false && error` is false.
    Error(Cow<'static, str>),
    /// More cost than allowed. Ends the evaluation.
    CostLimit,
    /// A panic upstream: an argument that the cost tracker does not expect. Ends the evaluation.
    Internal(String),
    /// The authorizer must be asked first. Ends the evaluation; the caller adds the decision and evaluates again.
    NeedsDecision(Box<Check>),
}

impl Failure {
    /// An error with this text.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Failure {
        Failure(Box::new(Cause::Error(text.into())))
    }

    /// The cost limit is exceeded.
    #[cold]
    #[inline(never)]
    pub fn cost_limit() -> Failure {
        Failure(Box::new(Cause::CostLimit))
    }

    /// Where upstream panics.
    pub fn internal(text: impl Into<String>) -> Failure {
        Failure(Box::new(Cause::Internal(text.into())))
    }

    /// The evaluation needs this decision.
    pub fn needs_decision(check: Check) -> Failure {
        Failure(Box::new(Cause::NeedsDecision(Box::new(check))))
    }

    /// Arguments of types that the function does not have.
    pub fn no_such_overload() -> Failure {
        Failure::new("no such overload")
    }

    /// A key that a map does not have.
    pub fn no_such_key(key: &Val<'_>) -> Failure {
        Failure::new(format!("no such key: {}", key.go_text()))
    }

    /// What it is.
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// Whether `&&`, `||` and comprehensions may absorb it.
    pub fn is_error(&self) -> bool {
        matches!(*self.0, Cause::Error(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Error(text) => f.write_str(text),
            Cause::Internal(text) => write!(f, "internal error: {text}"),
            Cause::CostLimit => f.write_str(COST_LIMIT_EXCEEDED),
            Cause::NeedsDecision(_) => f.write_str("an authorization decision is needed"),
        }
    }
}

impl std::error::Error for Failure {}

/// Fails with a formatted text.
macro_rules! fail {
    ($($arg:tt)*) => { Err($crate::fail::Failure::new(format!($($arg)*))) };
}
pub(crate) use fail;
