//! Go regular expressions (RE2): syntax and error texts of Go's `regexp`, run by the `regex` crate.
//!
//! The front end reads Go's syntax, reports errors as Go does, and writes the pattern in the syntax of the `regex`
//! crate, whose Perl classes are Unicode and whose classes have set operations that Go does not know.
//!
//! Upstream: Go's regexp/syntax, Parse with the flags of Perl.

use std::fmt;

mod classes;
mod parse;
mod patterns;

pub use patterns::CompiledPatterns;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Regex(regex::bytes::Regex);

/// Compiled programs larger than this are refused. Go has no limit of its own beyond the repeat counts, but it never
/// builds the automaton.
const SIZE_LIMIT: usize = 10 << 20;

/// An expression that Go refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {kind}: `{expression}`")]
pub struct RegexError {
    /// What is wrong.
    pub kind: ErrorKind,
    /// The part of the expression that is wrong.
    pub expression: String,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A range that ends before it begins, an unknown name of a class.
    InvalidCharRange,
    /// An escape that does not exist.
    InvalidEscape,
    /// A group with a name that is no name.
    InvalidNamedCapture,
    /// Syntax of Perl that is not supported.
    InvalidPerlOp,
    /// `**`
    InvalidRepeatOp,
    /// More than 1000.
    InvalidRepeatSize,
    /// Not UTF-8.
    InvalidUtf8,
    /// `[`
    MissingBracket,
    /// `(`
    MissingParen,
    /// A repetition of nothing.
    MissingRepeatArgument,
    /// A backslash at the end.
    TrailingBackslash,
    /// `)`
    UnexpectedParen,
    /// Parentheses that are nested too deeply.
    NestingDepth,
    /// Too large when repetitions are written out.
    Large,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::InvalidCharRange => "invalid character class range",
            ErrorKind::InvalidEscape => "invalid escape sequence",
            ErrorKind::InvalidNamedCapture => "invalid named capture",
            ErrorKind::InvalidPerlOp => "invalid or unsupported Perl syntax",
            ErrorKind::InvalidRepeatOp => "invalid nested repetition operator",
            ErrorKind::InvalidRepeatSize => "invalid repeat count",
            ErrorKind::InvalidUtf8 => "invalid UTF-8",
            ErrorKind::MissingBracket => "missing closing ]",
            ErrorKind::MissingParen => "missing closing )",
            ErrorKind::MissingRepeatArgument => "missing argument to repetition operator",
            ErrorKind::TrailingBackslash => "trailing backslash at end of expression",
            ErrorKind::UnexpectedParen => "unexpected )",
            ErrorKind::NestingDepth => "expression nests too deeply",
            ErrorKind::Large => "expression too large",
        })
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Regex {
    /// Compiles an expression that is written in Go's syntax.
    pub fn new(pattern: &str) -> Result<Regex, RegexError> {
        let translated = parse::translate(pattern)?;
        let too_large = |_| RegexError { kind: ErrorKind::Large, expression: pattern.to_owned() };
        regex::bytes::RegexBuilder::new(&translated)
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(1 << 20)
            .nest_limit(4000)
            .build()
            .map(Regex)
            .map_err(too_large)
    }

    /// Checks an expression without compiling it.
    pub fn check(pattern: &str) -> Result<(), RegexError> {
        parse::translate(pattern).map(drop)
    }

    /// Whether the text has a match.
    pub fn is_match(&self, text: &str) -> bool {
        match self.0.as_str().contains("\\B") {
            // Only this can match inside of a character.
            true => self.find(text, 0).is_some(),
            false => self.0.is_match(text.as_bytes()),
        }
    }

    /// Where the first match from byte `at` on begins and ends.
    pub fn find(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let mut at = at;
        loop {
            let found = self.0.find_at(text.as_bytes(), at)?;
            // The engine sees bytes, so that an empty match may be inside of a character.
            if text.is_char_boundary(found.start()) && text.is_char_boundary(found.end()) {
                return Some((found.start(), found.end()));
            }
            at = found.start() + 1;
        }
    }
}

#[cfg(test)]
mod tests;
