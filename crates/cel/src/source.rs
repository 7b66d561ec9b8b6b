//! Source text of an expression, and errors printed with the line and a caret below it.

use std::fmt;
use std::sync::Arc;

/// Errors of one expression. It displays as cel-go prints them.
///
/// ```text
/// ERROR: <input>:1:5: undeclared reference to 'b' (in container '')
///  | a + b
///  | ....^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    text: Arc<str>,
    issues: Vec<Issue>,
    count: usize,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// In code points from the beginning; some errors have none.
    pub position: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// The position before the text: cel-go shows it as column 0.
pub(crate) const BEFORE: u32 = u32::MAX;

/// More errors are counted, not shown.
const MAX_SHOWN: usize = 100;

/// Longer lines are not shown.
const MAX_SNIPPET: usize = 16_384;

impl Issues {
    /// No errors yet.
    pub fn new(text: &str) -> Self {
        Self { text: Arc::from(text), issues: Vec::new(), count: 0 }
    }

    /// Adds an error.
    pub fn report(&mut self, position: Option<u32>, message: impl Into<String>) {
        self.count += 1;
        if self.issues.len() < MAX_SHOWN {
            self.issues.push(Issue { position, message: message.into() });
        }
    }

    /// Forgets all errors but the first so many.
    pub(crate) fn rewind(&mut self, count: usize) {
        self.count = count;
        self.issues.truncate(count);
    }

    /// How many errors there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds the errors of others.
    pub(crate) fn append(&mut self, others: Self) {
        for issue in others.issues {
            self.report(issue.position, issue.message);
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The errors in the order in which they were found, at most 100.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter()
    }

    /// These errors, or the value if there are none.
    pub fn or_ok<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

/// Upstream: cel-go common/error.go, ToDisplayString and common/errors.go (v0.26.0).
impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = Lines::new(&self.text);
        let mut located: Vec<_> =
            self.issues.iter().map(|issue| (lines.locate(issue.position), issue)).collect();
        located.sort_by_key(|(location, _)| (location.line, location.column));
        for (index, (location, issue)) in located.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let Location { line, column } = *location;
            write!(f, "ERROR: <input>:{line}:{}: {}", column + 1, issue.message)?;
            if let Some(snippet) = lines.snippet(line) {
                write_snippet(f, snippet, column)?;
            }
        }
        if self.count > self.issues.len() {
            write!(f, "\n{} more errors were truncated", self.count - self.issues.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

fn write_snippet(f: &mut fmt::Formatter<'_>, snippet: &str, column: i64) -> fmt::Result {
    write!(f, "\n | {}\n | ", snippet.replace('\t', " "))?;
    let mut characters = snippet.chars();
    for character in characters.by_ref().take(usize::try_from(column).unwrap_or_default()) {
        f.write_str(if character.is_ascii() { "." } else { "\u{ff0e}" })?;
    }
    f.write_str(if characters.next().is_none_or(|next| next.is_ascii()) { "^" } else { "\u{ff3e}" })
}

/// Line from 1, column from 0; both are -1 if there is no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    line: i64,
    column: i64,
}

/// The lines of a text with the position of their first code point.
struct Lines<'a>(Vec<(u32, &'a str)>);

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split('\n') {
            lines.push((start, line));
            start += line.chars().count() as u32 + 1;
        }
        Self(lines)
    }

    fn locate(&self, position: Option<u32>) -> Location {
        let Some(position) = position else { return Location { line: -1, column: -1 } };
        if position == BEFORE {
            return Location { line: 1, column: -1 };
        }
        let line = self.0.partition_point(|(start, _)| *start <= position);
        let start = self.0[line - 1].0;
        Location { line: line as i64, column: i64::from(position - start) }
    }

    fn snippet(&self, line: i64) -> Option<&'a str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let is_empty = self.0.len() == 1 && self.0[0].1.is_empty();
        self.0.get(index).map(|(_, text)| *text).filter(|text| !is_empty && text.len() <= MAX_SNIPPET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, position: Option<u32>, expected: &str) {
        let mut issues = Issues::new(text);
        issues.report(position, "wrong");
        assert_eq!(issues.to_string(), expected);
    }

    #[test]
    fn a_caret_points_to_the_column() {
        check("a + b", Some(4), "ERROR: <input>:1:5: wrong\n | a + b\n | ....^");
        check("a +\n\tb", Some(5), "ERROR: <input>:2:2: wrong\n |  b\n | .^");
    }

    #[test]
    fn wide_characters_get_wide_dots() {
        check("'é' + ü", Some(6), "ERROR: <input>:1:7: wrong\n | 'é' + ü\n | .．....＾");
    }

    #[test]
    fn an_error_may_have_no_position() {
        check("a", None, "ERROR: <input>:-1:0: wrong");
        check("", Some(0), "ERROR: <input>:1:1: wrong");
    }
}
