//! YAML writer: trees to the YAML that sigs.k8s.io/yaml writes. Keys are sorted, lists are not indented below
//! their key, and long lines are folded after column 80.
//!
//! A document is written in parts of a size that the caller chooses, because indentation multiplies: a short
//! text deep within lists may become gigabytes. The part that is not written yet is on a stack, so that the
//! writer can stop at every character.
//!
//! Upstream: go.yaml.in/yaml/v2, emitterc.go. What it keeps in flags is kept here, too: whether the last thing
//! written was white space, and whether the line has only indentation (and dashes) so far.

mod scalar;

use keelson_object::{SmolStr, Value};

use super::float;
use super::key_order;
use super::style::{Place, is_simple_key};
use scalar::Scalar;

/// The value as a document, with a line end.
pub fn to_text(value: Value) -> String {
    let mut writer = Writer::default();
    writer.document(value);
    let part = writer.part(usize::MAX);
    writer.end();
    part.unwrap_or_default() + &writer.rest()
}

/// The column after which lines are folded.
const WIDTH: usize = 80;

/// Writes one document: either a whole value, or a map whose members (and the items of one of them) are
/// handed over one after the other, in their final order.
///
/// After each of them [`Writer::part`] must be called until nothing is left.
#[derive(Debug)]
pub struct Writer {
    out: String,
    /// The length of `out` at which to stop.
    room: usize,
    column: usize,
    is_blank: bool,
    is_indented: bool,
    open: Vec<Open>,
}

/// What is not written yet; the last of these comes first.
#[derive(Debug)]
enum Open {
    List {
        indent: usize,
        items: std::vec::IntoIter<Value>,
    },
    Map {
        indent: usize,
        pairs: std::vec::IntoIter<(SmolStr, Value)>,
    },
    Scalar(Scalar),
    /// The value of a key with a `?`.
    Answer {
        indent: usize,
        value: Value,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Item,
    Value,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer {
            out: String::new(),
            room: usize::MAX,
            column: 0,
            is_blank: true,
            is_indented: true,
            open: Vec::new(),
        }
    }
}

impl Writer {
    /// Sets the value of the document.
    pub fn document(&mut self, value: Value) {
        self.room = 0;
        self.begin(value, Context::Root, None);
    }

    /// Adds the next member of the document, which is a map.
    pub fn member(&mut self, key: &str, value: Value) {
        self.room = 0;
        self.write_simple_key(key, 0);
        self.begin(value, Context::Value, Some(0));
    }

    /// Begins a list as the next member of the document. The list must not be empty; its items follow.
    pub fn begin_list(&mut self, key: &str) {
        self.write_simple_key(key, 0);
    }

    /// Adds the next item of the list.
    pub fn item(&mut self, value: Value) {
        self.room = 0;
        self.write_indent(0);
        self.write_indicator("-", Blank::Before, Line::Indentation);
        self.begin(value, Context::Item, Some(0));
    }

    /// Ends the document.
    pub fn end(&mut self) {
        self.write_indent(0);
    }

    /// Writes until there are `room` bytes, and returns those; `None` when everything that was handed over is
    /// written. The rest is then less than `room` bytes, and comes before the next part.
    pub fn part(&mut self, room: usize) -> Option<String> {
        self.room = room;
        while self.out.len() < room {
            match self.open.last_mut()? {
                Open::List { indent, items } => {
                    let indent = *indent;
                    match items.next() {
                        Some(value) => self.write_item(value, indent),
                        None => drop(self.open.pop()),
                    }
                }
                Open::Map { indent, pairs } => {
                    let indent = *indent;
                    match pairs.next() {
                        Some((key, value)) => self.write_pair(key, value, indent),
                        None => drop(self.open.pop()),
                    }
                }
                Open::Scalar(_) | Open::Answer { .. } => match self.open.pop()? {
                    Open::Scalar(scalar) => self.write_scalar(scalar),
                    Open::Answer { indent, value } => self.write_answer(value, indent),
                    Open::List { .. } | Open::Map { .. } => {}
                },
            }
        }
        Some(std::mem::take(&mut self.out))
    }

    /// The bytes that are written and were not returned yet.
    pub fn rest(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Writes a scalar or an empty container, or opens a container. `indent` is that of the outer container.
    fn begin(&mut self, value: Value, context: Context, indent: Option<usize>) {
        let deeper = indent.map_or(0, |it| it + 2);
        match value {
            Value::Null => self.write_plain("null".into(), indent),
            Value::Bool(truth) => self.write_plain(if truth { "true" } else { "false" }.into(), indent),
            Value::Int(number) => self.write_plain(itoa::Buffer::new().format(number).into(), indent),
            Value::Float(number) => self.write_plain(float_text(number).into(), indent),
            Value::String(text) => self.write_scalar(Scalar::new(text, Place::Elsewhere, indent)),
            Value::List(items) if items.is_empty() => self.write_indicator("[]", Blank::Before, Line::Text),
            Value::Map(map) if map.is_empty() => self.write_indicator("{}", Blank::Before, Line::Text),
            Value::List(items) => {
                let is_flush = context == Context::Value && !self.is_indented;
                let indent = if is_flush { indent.unwrap_or(0) } else { deeper };
                self.open.push(Open::List { indent, items: items.into_iter() });
            }
            Value::Map(map) => {
                let mut pairs: Vec<_> = map.into_iter().collect();
                key_order::sort(&mut pairs, &|(key, _)| key.as_str());
                self.open.push(Open::Map { indent: deeper, pairs: pairs.into_iter() });
            }
        }
    }

    fn write_item(&mut self, value: Value, indent: usize) {
        self.write_indent(indent);
        self.write_indicator("-", Blank::Before, Line::Indentation);
        self.begin(value, Context::Item, Some(indent));
    }

    fn write_pair(&mut self, key: SmolStr, value: Value, indent: usize) {
        if is_simple_key(&key) {
            self.write_simple_key(&key, indent);
            return self.begin(value, Context::Value, Some(indent));
        }
        self.write_indent(indent);
        self.write_indicator("?", Blank::Before, Line::Indentation);
        self.open.push(Open::Answer { indent, value });
        self.write_scalar(Scalar::new(key, Place::Elsewhere, Some(indent)));
    }

    /// Writes a key that is too short to stop within it.
    fn write_simple_key(&mut self, key: &str, indent: usize) {
        self.write_indent(indent);
        let room = std::mem::replace(&mut self.room, usize::MAX);
        self.write_scalar(Scalar::new(key.into(), Place::SimpleKey, Some(indent)));
        self.room = room;
        self.write_indicator(":", Blank::Not, Line::Text);
    }

    fn write_answer(&mut self, value: Value, indent: usize) {
        self.write_indent(indent);
        self.write_indicator(":", Blank::Before, Line::Indentation);
        self.begin(value, Context::Value, Some(indent));
    }

    fn write_plain(&mut self, text: SmolStr, indent: Option<usize>) {
        self.write_scalar(Scalar::plain(text, indent));
    }

    /// Begins a new line, unless this one is empty, and indents it.
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

/// The state of a line after its indentation and this indicator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Indentation,
    Text,
}

/// Upstream writes JSON and reads that as YAML: integers of up to 64 bits stay integers.
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
mod properties;
#[cfg(test)]
mod tests;
