//! Repair of documents that YAML 1.1 allows and the parser does not.
//!
//! Brackets and quotes may continue too far to the left, and a tab may follow a colon:
//!
//! ```text
//! spec:
//!   args: [
//!     a,
//! b]
//!   name:→web
//! ```
//!
//! Spaces at the start of a line have no meaning within brackets and quotes. So if the parser refuses such a
//! line, the line is indented, and the document is read once more.

use saphyr_parser::ScanError;

/// The limit of bytes that are read again in all.
const BUDGET: usize = 32 * 1024 * 1024;

pub(super) struct Repair {
    text: String,
    /// Spaces, more than any line of the document begins with.
    blanks: String,
    /// The lines that have been moved.
    moved: Vec<bool>,
    attempts: usize,
}

impl Repair {
    /// `None` if the document is too large to try.
    pub(super) fn new(source: &str) -> Option<Repair> {
        let attempts = (BUDGET / source.len().max(1)).min(200);
        let width = source.lines().map(indentation).max()? + 2;
        if attempts < 2 || width > 1000 {
            return None;
        }
        let moved = vec![false; source.lines().count()];
        Some(Repair { text: source.to_owned(), blanks: " ".repeat(width), moved, attempts })
    }

    /// Changes the line of `error`; returns whether there was something to change.
    pub(super) fn apply(&mut self, error: &ScanError) -> bool {
        self.attempts -= 1;
        if self.attempts == 0 {
            return false;
        }
        let line = error.marker().line().saturating_sub(1);
        match error.info() {
            "invalid indentation" | "invalid indentation in flow construct" => self.indent(line),
            // The parser reports where the text begins, not where it continues.
            "invalid indentation in quoted scalar" => self.indent(line + 1),
            "':' must be followed by a valid YAML whitespace" => self.remove_tab(line, error.marker().col()),
            _ => false,
        }
    }

    /// The current document.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Indents the first line from `from` on that is not empty and has not been moved.
    fn indent(&mut self, from: usize) -> bool {
        let mut start = 0;
        for (position, line) in self.text.split_inclusive('\n').enumerate() {
            if position >= from && !self.moved[position] && !line.trim().is_empty() {
                self.moved[position] = true;
                self.text.insert_str(start, &self.blanks);
                return true;
            }
            start += line.len();
        }
        false
    }

    /// Replaces the tab before `column` by a space.
    fn remove_tab(&mut self, line: usize, column: usize) -> bool {
        let mut lines = self.text.split_inclusive('\n');
        let start: usize = lines.by_ref().take(line).map(str::len).sum();
        let before: usize = lines.next().unwrap_or_default().chars().take(column).map(char::len_utf8).sum();
        let end = start + before;
        let colon = self.text[start..end].trim_end_matches(['\t', ' ']).len() + start;
        if !self.text[colon..end].starts_with('\t') {
            return false;
        }
        self.text.replace_range(colon..colon + 1, " ");
        true
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
