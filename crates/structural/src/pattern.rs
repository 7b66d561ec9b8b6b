//! Patterns: regular expressions in the syntax of Go.
//!
//! This crate compiles none: the front end for Go's syntax is in the crate that evaluates rules. An implementation of
//! [`Patterns`] keeps compiled expressions and bounds their size.

/// Runs the patterns of schemas.
pub trait Patterns {
    /// Whether `pattern` matches somewhere in `text`; the error is Go's text for a pattern that is none.
    fn is_match(&self, pattern: &str, text: &str) -> Result<bool, String>;

    /// Go's text for a pattern that is none; `None` if it is one, or empty.
    fn problem(&self, pattern: &str) -> Option<String> {
        if pattern.is_empty() { None } else { self.is_match(pattern, "").err() }
    }
}
