//! `metav1.Status` and its parts.

use std::fmt;

use keelson_object::SmolStr;

use crate::Reason;

/// What became of a request, where the answer is not an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether it worked.
    pub outcome: Outcome,
    /// For people.
    pub message: String,
    /// For programs.
    pub reason: Reason,
    /// What it is about. `Some` of nothing is written as `{}`, `None` is not written.
    pub details: Option<Box<Details>>,
    /// The HTTP status code; 0 is not written.
    pub code: u16,
    /// Continues a list that expired, inconsistently; usually empty.
    pub continue_token: String,
}

/// Whether a request worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It did.
    Success,
    /// It did not.
    #[default]
    Failure,
}

/// What a status is about. Whatever is empty or zero is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The name of the object, or what the reason makes of it.
    pub name: String,
    /// The group of the resource.
    pub group: String,
    /// The resource or the kind, depending on the reason.
    pub kind: String,
    /// The uid of the object.
    pub uid: String,
    /// The single mistakes.
    pub causes: Vec<Cause>,
    /// When to try again.
    pub retry_after_seconds: u32,
}

/// One of the mistakes behind a status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// For programs: `FieldValueInvalid` and the like.
    pub reason: SmolStr,
    /// For people.
    pub message: String,
    /// Where in the object.
    pub field: String,
}

impl Outcome {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "Success",
            Outcome::Failure => "Failure",
        }
    }
}

impl Status {
    /// The code of the HTTP answer that carries this status.
    pub fn http_code(&self) -> u16 {
        match (self.code, self.outcome) {
            (0, Outcome::Success) => 200,
            (0, Outcome::Failure) => 500,
            (code, _) => code,
        }
    }

    /// When to try again, if the status says so: the value of the `Retry-After` header.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details.as_ref().map(|it| it.retry_after_seconds).filter(|seconds| *seconds > 0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}
