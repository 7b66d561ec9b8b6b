//! Answers and their reasons, and how they are written down.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result};
use serde_json::Value;

/// The beginning of a reason that names a binding.
const BY_ROLE: &str = "RBAC: allowed by ";

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    letter: char,
    reasons: BTreeSet<String>,
}

impl Cell {
    /// A letter, the reason, and the error.
    pub fn new(letter: char, reason: &str, error: &str) -> Cell {
        let why = if error.is_empty() { reason.to_owned() } else { format!("{reason} ! {error}") };
        Cell { letter, reasons: BTreeSet::from([why]) }
    }

    /// Whether the request is allowed.
    pub fn is_yes(&self) -> bool {
        self.letter == 'y'
    }

    /// Whether another binding could have been named.
    pub fn may_have_others(&self) -> bool {
        self.is_yes() && self.reasons.iter().any(|it| it.starts_with(BY_ROLE))
    }

    /// The same answer again, perhaps for another reason.
    pub fn add(&mut self, other: &Cell) {
        self.reasons.extend(other.reasons.iter().cloned());
    }

    /// Adds the bindings that other subjects got as a reason, if `for_whom` accepts their subject, such as
    /// `Group "system:nodes"`.
    pub fn complete(&mut self, heard: &Cell, for_whom: impl Fn(&str) -> bool) {
        if self.may_have_others() {
            let is_theirs =
                |it: &&String| it.starts_with(BY_ROLE) && it.rsplit(" to ").next().is_some_and(&for_whom);
            self.reasons.extend(heard.reasons.iter().filter(is_theirs).cloned());
        }
    }

    /// Whether the answer is as expected.
    pub fn covers(&self, seen: &Cell) -> bool {
        self.letter == seen.letter && seen.reasons.is_subset(&self.reasons)
    }

    /// The same with a replacement for text that differs from run to run.
    #[must_use]
    pub fn replaced(self, from: &str, to: &str) -> Cell {
        let reasons = self.reasons.into_iter().map(|it| it.replace(from, to)).collect();
        Cell { letter: self.letter, reasons }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<&str> = self.reasons.iter().map(String::as_str).collect();
        write!(f, "{} {:?}", self.letter, reasons.join(" | "))
    }
}

/// The content of a file.
#[derive(Default)]
pub(super) struct Table {
    letters: Vec<String>,
    reasons: Vec<String>,
    why: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn read(file: &Value) -> Result<Table> {
        let texts =
            |key: &str| -> Vec<String> { serde_json::from_value(file[key].clone()).unwrap_or_default() };
        let why = texts("why").iter().map(|it| unpacked(it)).collect::<Result<_>>()?;
        Ok(Table { letters: texts("answers"), reasons: texts("reasons"), why })
    }

    pub(super) fn cell(&self, row: usize, column: usize) -> Cell {
        let letter = self.letters.get(row).and_then(|it| it.chars().nth(column));
        let numbers = self.why.get(row).and_then(|it| it.get(column));
        let numbers = numbers.into_iter().flat_map(|it| it.split('|'));
        let reasons = numbers.filter_map(|it| self.reasons.get(it.parse::<usize>().ok()?));
        Cell { letter: letter.unwrap_or('?'), reasons: reasons.cloned().collect() }
    }
}

/// `3x0 1|2` is `0 0 0 1|2`.
fn unpacked(text: &str) -> Result<Vec<String>> {
    let mut row = Vec::new();
    for word in text.split(' ') {
        let (count, number) = word.split_once('x').unwrap_or(("1", word));
        let count = count.parse().with_context(|| format!("a count: {word}"))?;
        row.extend(std::iter::repeat_n(number.to_owned(), count));
    }
    Ok(row)
}

fn packed(row: &[String]) -> String {
    let mut words = Vec::new();
    for run in row.chunk_by(|a, b| a == b) {
        words.push(match run.len() {
            1 => run[0].clone(),
            count => format!("{count}x{}", run[0]),
        });
    }
    words.join(" ")
}

/// The end of a file.
pub(super) fn written(rows: &[Vec<Cell>], names: &[String]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    let (mut answers, mut why) = (String::from("answers:\n"), String::from("why:\n"));
    for (row, name) in rows.iter().zip(names) {
        let letters: String = row.iter().map(|it| it.letter).collect();
        answers += &format!("- \"{letters}\" # {name}\n");
        let numbers: Vec<String> = row.iter().map(|it| numbered(it, &mut reasons)).collect();
        why += &format!("- \"{}\"\n", packed(&numbers));
    }
    let reasons: String = reasons.iter().map(|it| format!("- {}\n", Value::from(it.as_str()))).collect();
    format!("{answers}reasons:\n{reasons}{why}")
}

fn numbered(cell: &Cell, reasons: &mut Vec<String>) -> String {
    let mut numbers = Vec::new();
    for reason in &cell.reasons {
        let at = reasons.iter().position(|it| it == reason).unwrap_or_else(|| {
            reasons.push(reason.clone());
            reasons.len() - 1
        });
        numbers.push(at.to_string());
    }
    numbers.join("|")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Cell, Table, written};

    #[test]
    fn what_is_written_is_read() {
        let mut several = Cell::new('y', "RBAC: b", "");
        several.add(&Cell::new('y', "RBAC: a", ""));
        let none = Cell::new('-', "", "");
        let rows =
            [vec![several, none.clone(), none.clone()], vec![none.clone(), none, Cell::new('n', "x", "bad")]];
        let text = written(&rows, &["jane".to_owned(), "joe".to_owned()]);
        assert_eq!(
            text,
            "answers:\n- \"y--\" # jane\n- \"--n\" # joe\nreasons:\n- \"RBAC: a\"\n- \"RBAC: b\"\n- \"\"\n- \"x ! bad\"\n\
             why:\n- \"0|1 2x2\"\n- \"2x2 3\"\n"
        );
        let document = keelson_codec::yaml::read(text.as_bytes()).expect("it is YAML");
        let file: Value =
            serde_json::from_slice(&keelson_codec::json::to_bytes(&document.value)).expect("it is JSON");
        let table = Table::read(&file).expect("it is a table");
        for (row, cells) in rows.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                assert_eq!(&table.cell(row, column), cell);
            }
        }
        assert!(table.cell(0, 0).covers(&Cell::new('y', "RBAC: a", "")));
        assert!(!table.cell(0, 0).covers(&Cell::new('y', "RBAC: c", "")));
        assert!(!table.cell(2, 0).covers(&Cell::new('-', "", "")));
    }
    #[test]
    fn bindings_are_completed_with_those_that_others_heard_of() {
        let by = |name: &str, subject: &str| {
            Cell::new('y', &format!("RBAC: allowed by ClusterRoleBinding \"{name}\" to {subject}"), "")
        };
        let mut heard = by("a", "Group \"g\"");
        heard.add(&by("b", "User \"u\""));
        heard.add(&Cell::new('y', "somebody else", ""));
        let mut seen = by("a", "Group \"g\"");
        seen.complete(&heard, |it| it == "Group \"g\"");
        assert_eq!(seen, by("a", "Group \"g\""));
        seen.complete(&heard, |it| it == "User \"u\"");
        assert!(seen.covers(&by("b", "User \"u\"")));
        let mut other = Cell::new('y', "because", "");
        other.complete(&heard, |_| true);
        assert_eq!(other, Cell::new('y', "because", ""));
    }
}
