//! Why a selector is none, in upstream's words: they reach clients unchanged.

use thiserror::Error;

use crate::field_error::FieldErrors;
use crate::scalar::quote;

/// Why a selector is none.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SelectorError {
    /// A requirement on labels is malformed.
    #[error("unable to parse requirement: {0}")]
    Requirement(RequirementError),
    /// Something else was expected between two requirements on labels.
    #[error("found '{found}', expected: {expected}")]
    Token {
        /// What stands there; empty at the end of the text.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// A requirement of a label selector object breaks the rules.
    #[error("{}", .0.aggregate())]
    Rules(FieldErrors),
    /// A requirement of a label selector object has an operator that does not exist.
    #[error("{} is not a valid label selector operator", quote(operator))]
    Operator {
        /// The operator.
        operator: String,
    },
    /// A term of a field selector has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The whole selector.
        selector: String,
        /// The term in question.
        term: String,
    },
    /// A backslash in a field selector stands before something that needs none.
    #[error("invalid field selector: invalid escape sequence: {sequence}")]
    Escape {
        /// The backslash and what follows it.
        sequence: String,
    },
    /// A special character in the value of a field selector has no backslash before it.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*character))]
    Unescaped {
        /// The character; upstream prints its number.
        character: char,
    },
}

/// Why a requirement on labels is none.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RequirementError {
    /// Something else was expected.
    #[error("found '{found}', expected: {expected}")]
    Token {
        /// What stands there; empty at the end of the text.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// The values of a set are not in parentheses.
    #[error("found '{found}' expected: '('")]
    Parenthesis {
        /// What stands there; empty at the end of the text.
        found: String,
    },
    /// The key or a value breaks the rules.
    #[error("{}", .0.aggregate())]
    Rules(FieldErrors),
}
