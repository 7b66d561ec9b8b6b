//! Patterns: regular expressions in the syntax of Go.
//!
//! This crate compiles none: the front end for Go's syntax is in the crate that evaluates rules. An implementation of
//! [`Patterns`] keeps compiled expressions and bounds their size.

/// Runs the patterns of schemas.
pub trait Patterns {
    /// Whether `pattern` matches somewhere in `text`; the error is Go's text for a pattern that is none.
    fn is_match(&self, pattern: &str, text: &str) -> Result<bool, String>;
}
