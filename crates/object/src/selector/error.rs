//! Selector errors, in upstream's words: they reach clients unchanged.

use thiserror::Error;

use crate::field_error::FieldErrors;
use crate::scalar::quote;

/// Why a selector is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SelectorError {
    /// A requirement on labels is malformed.
    #[error("unable to parse requirement: {0}")]
    Requirement(RequirementError),
    /// Unexpected text between two requirements on labels.
    #[error("found '{found}', expected: {expected}")]
    Token {
        /// The text; empty at the end.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
    /// A requirement of a label selector object breaks the rules.
    #[error("{}", .0.aggregate())]
    Rules(FieldErrors),
    /// The operator of a requirement of a label selector object does not exist.
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
        /// The invalid term.
        term: String,
    },
    /// A backslash in a field selector is before a character that needs none.
    #[error("invalid field selector: invalid escape sequence: {sequence}")]
    Escape {
        /// The backslash and the character after it.
        sequence: String,
    },
    /// A special character in the value of a field selector has no backslash before it.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*character))]
    Unescaped {
        /// The character; upstream prints its number.
        character: char,
    },
}

/// Why a requirement on labels is invalid.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RequirementError {
    /// Unexpected text.
    #[error("found '{found}', expected: {expected}")]
    Token {
        /// The text; empty at the end.
        found: String,
        /// The expected text.
        expected: &'static str,
    },
    /// The values of a set are not in parentheses.
    #[error("found '{found}' expected: '('")]
    Parenthesis {
        /// The text; empty at the end.
        found: String,
    },
    /// The key or a value breaks the rules.
    #[error("{}", .0.aggregate())]
    Rules(FieldErrors),
}
