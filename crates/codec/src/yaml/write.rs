//! The writer: trees to the YAML that sigs.k8s.io/yaml writes. Keys are sorted, lists are not indented below their
//! key, and long lines are folded behind column 80.
//!
//! Upstream: go.yaml.in/yaml/v2, emitterc.go. What it keeps in flags is kept here, too: whether the last thing
//! written was white space, and whether the line has only indentation (and dashes) so far.

use std::fmt::Write as _;

use keelson_object::{SmolStr, Value};

use super::float;
use super::key_order;
use super::style::{Place, Style, is_break, is_printable, is_simple_key, style_of};

/// The value as a document, with a line end.
pub fn to_text(value: &Value) -> String {
    let mut writer = Writer {
        out: String::with_capacity(1024),
        column: 0,
        is_blank: true,
        is_indented: true,
        open: Vec::new(),
    };
    writer.begin(value, Context::Root, None);
    writer.finish();
    writer.write_indent(0);
    writer.out
}

/// Behind which column lines are folded.
const WIDTH: usize = 80;

struct Writer<'v> {
    out: String,
    column: usize,
    is_blank: bool,
    is_indented: bool,
    open: Vec<Open<'v>>,
}

/// A list or map whose members are being written, at `indent`.
struct Open<'v> {
    indent: usize,
    members: Members<'v>,
}

enum Members<'v> {
    List(std::slice::Iter<'v, Value>),
    Map(std::vec::IntoIter<(&'v SmolStr, &'v Value)>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Value,
}

impl<'v> Writer<'v> {
    /// Writes a scalar or an empty container, or opens a container. `indent` is that of the container around.
    fn begin(&mut self, value: &'v Value, context: Context, indent: Option<usize>) {
        let deeper = indent.map_or(0, |it| it + 2);
        match value {
            Value::Null => self.write_plain("null", indent),
            Value::Bool(truth) => self.write_plain(if *truth { "true" } else { "false" }, indent),
            Value::Int(number) => self.write_plain(itoa::Buffer::new().format(*number), indent),
            Value::Float(number) => self.write_plain(&float_text(*number), indent),
            Value::String(text) => self.write_text(text, Place::Elsewhere, indent),
            Value::List(items) if items.is_empty() => self.write_indicator("[]", Blank::Before, Line::Text),
            Value::Map(map) if map.is_empty() => self.write_indicator("{}", Blank::Before, Line::Text),
            Value::List(items) => {
                let is_flush = context == Context::Value && !self.is_indented;
                let indent = if is_flush { indent.unwrap_or(0) } else { deeper };
                self.open.push(Open { indent, members: Members::List(items.iter()) });
            }
            Value::Map(map) => {
                let mut pairs: Vec<_> = map.iter().collect();
                key_order::sort(&mut pairs, &|(key, _)| key.as_str());
                self.open.push(Open { indent: deeper, members: Members::Map(pairs.into_iter()) });
            }
        }
    }

    /// Writes everything that is open.
    fn finish(&mut self) {
        while let Some(Open { indent, members }) = self.open.last_mut() {
            let indent = *indent;
            let next = match members {
                Members::List(items) => items.next().map(|value| (None, value)),
                Members::Map(pairs) => pairs.next().map(|(key, value)| (Some(key), value)),
            };
            match next {
                None => {
                    self.open.pop();
                }
                Some((None, value)) => {
                    self.write_indent(indent);
                    self.write_indicator("-", Blank::Before, Line::Indentation);
                    self.begin(value, Context::Item, Some(indent));
                }
                Some((Some(key), value)) => {
                    self.write_key(key, indent);
                    self.begin(value, Context::Value, Some(indent));
                }
            }
        }
    }

    fn write_key(&mut self, key: &str, indent: usize) {
        self.write_indent(indent);
        if is_simple_key(key) {
            self.write_text(key, Place::SimpleKey, Some(indent));
            self.write_indicator(":", Blank::Not, Line::Text);
        } else {
            self.write_indicator("?", Blank::Before, Line::Indentation);
            self.write_text(key, Place::Elsewhere, Some(indent));
            self.write_indent(indent);
            self.write_indicator(":", Blank::Before, Line::Indentation);
        }
    }

    fn write_text(&mut self, text: &str, place: Place, indent: Option<usize>) {
        let folds = place == Place::Elsewhere;
        let indent = indent.map_or(2, |it| it + 2);
        match style_of(text, place) {
            Style::Plain => self.write_words(text, folds.then_some(indent)),
            Style::SingleQuoted => self.write_single_quoted(text, folds.then_some(indent)),
            Style::DoubleQuoted => self.write_double_quoted(text, folds.then_some(indent)),
            Style::Literal => self.write_literal(text, indent),
        }
    }

    fn write_plain(&mut self, text: &str, indent: Option<usize>) {
        self.write_words(text, Some(indent.map_or(2, |it| it + 2)));
    }

    /// Plain text; folded where `indent` is given.
    fn write_words(&mut self, text: &str, indent: Option<usize>) {
        if !self.is_blank {
            self.put(' ');
        }
        let mut after_space = false;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let may_fold = c == ' ' && !after_space && characters.peek() != Some(&' ');
            match indent {
                Some(indent) if may_fold && self.column > WIDTH => self.write_indent(indent),
                _ => self.put(c),
            }
            after_space = c == ' ';
            if c != ' ' {
                self.is_indented = false;
            }
        }
        self.is_blank = false;
        self.is_indented = false;
    }

    fn write_single_quoted(&mut self, text: &str, indent: Option<usize>) {
        self.write_indicator("'", Blank::Before, Line::Text);
        let mut after_space = false;
        // Where a break was the last thing written: single line ends are doubled, for readers fold them.
        let mut after_break = false;
        let mut characters = text.chars().enumerate().peekable();
        while let Some((position, c)) = characters.next() {
            let next = characters.peek().map(|(_, it)| *it);
            if c == ' ' {
                let may_fold = !after_space && position > 0 && next.is_some_and(|it| it != ' ');
                match indent {
                    Some(indent) if may_fold && self.column > WIDTH => self.write_indent(indent),
                    _ => self.put(c),
                }
                after_space = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break('\n');
                }
                self.put_break(c);
                self.is_indented = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent(indent.unwrap_or(0));
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.is_indented = false;
                after_space = false;
                after_break = false;
            }
        }
        self.write_indicator("'", Blank::Not, Line::Text);
        self.is_indented = false;
    }

    fn write_double_quoted(&mut self, text: &str, indent: Option<usize>) {
        self.write_indicator("\"", Blank::Before, Line::Text);
        // Upstream looks for a byte order mark at the start, whatever character it is at.
        let escapes_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut characters = text.chars().enumerate().peekable();
        while let Some((position, c)) = characters.next() {
            let next = characters.peek().map(|(_, it)| *it);
            if escapes_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                self.write_escape(c);
                after_space = false;
            } else if c == ' ' {
                match indent {
                    Some(indent) if !after_space && self.column > WIDTH && position > 0 && next.is_some() => {
                        self.write_indent(indent);
                        if next == Some(' ') {
                            self.put('\\');
                        }
                    }
                    _ => self.put(c),
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.write_indicator("\"", Blank::Not, Line::Text);
        self.is_indented = false;
    }

    fn write_escape(&mut self, c: char) {
        let mut escape = String::from("\\");
        match c {
            '\0' => escape.push('0'),
            '\u{07}' => escape.push('a'),
            '\u{08}' => escape.push('b'),
            '\t' => escape.push('t'),
            '\n' => escape.push('n'),
            '\u{0b}' => escape.push('v'),
            '\u{0c}' => escape.push('f'),
            '\r' => escape.push('r'),
            '\u{1b}' => escape.push('e'),
            '"' | '\\' => escape.push(c),
            '\u{85}' => escape.push('N'),
            '\u{a0}' => escape.push('_'),
            '\u{2028}' => escape.push('L'),
            '\u{2029}' => escape.push('P'),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(escape, "x{code:02X}"),
                    0x100..=0xffff => write!(escape, "u{code:04X}"),
                    _ => write!(escape, "U{code:08X}"),
                };
            }
        }
        self.column += escape.len();
        self.out.push_str(&escape);
    }

    /// A block behind `|`.
    fn write_literal(&mut self, text: &str, indent: usize) {
        self.write_indicator("|", Blank::Before, Line::Text);
        if text.starts_with(|it: char| it == ' ' || is_break(it)) {
            self.write_indicator("2", Blank::Not, Line::Text);
        }
        let mut backwards = text.chars().rev();
        match (backwards.next().is_some_and(is_break), backwards.next().is_none_or(is_break)) {
            (false, _) => self.write_indicator("-", Blank::Not, Line::Text),
            (true, true) => self.write_indicator("+", Blank::Not, Line::Text),
            (true, false) => {}
        }
        self.put_break('\n');
        self.is_indented = true;
        self.is_blank = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.put_break(c);
                self.is_indented = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent(indent);
                }
                self.put(c);
                self.is_indented = false;
                after_break = false;
            }
        }
    }

    /// Goes to a fresh line, unless this one has nothing on it, and to `indent` there.
    fn write_indent(&mut self, indent: usize) {
        if !self.is_indented || self.column > indent || (self.column == indent && !self.is_blank) {
            self.put_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.is_blank = true;
        self.is_indented = true;
    }

    fn write_indicator(&mut self, text: &str, blank: Blank, line: Line) {
        if blank == Blank::Before && !self.is_blank {
            self.put(' ');
        }
        self.out.push_str(text);
        self.column += text.len();
        self.is_blank = false;
        self.is_indented = self.is_indented && line == Line::Indentation;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }
}

/// Whether an indicator needs white space before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    Before,
    Not,
}

/// What a line is that has had nothing but indentation and this indicator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Indentation,
    Text,
}

/// Upstream writes JSON and reads that as YAML: whole numbers of up to 64 bits stay whole.
fn float_text(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e21 {
        let whole = format!("{number}");
        if whole.parse::<i64>().is_ok() || whole.parse::<u64>().is_ok() {
            return whole;
        }
    }
    float::general(number)
}

#[cfg(test)]
mod tests;
