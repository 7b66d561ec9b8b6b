//! YAML reader: events to a tree, without recursion. It works like the JSON reader, with two shared stacks.

use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::scalar::quote;
use keelson_object::{SmolStr, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::anchors::Anchors;
use super::error::{Error, alias_name, go_syntax};
use super::float;
use super::repair::Repair;
use super::resolve::{Scalar, resolve, resolve_tagged};
use crate::limits::{MAX_DEPTH, MAX_DUPLICATES};

/// The result of reading: the first document of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The tree; of duplicate keys it has the last value.
    pub value: Value,
    /// The duplicate keys: at most [`MAX_DUPLICATES`] of them.
    pub duplicates: Vec<Duplicate>,
}

/// A duplicate key in a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The line where its value begins, counted from 1.
    pub line: usize,
    /// The key as Go prints it: text in quotes, numbers without.
    pub key: String,
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: key {} already set in map", self.line, self.key)
    }
}

impl Document {
    /// The error of a strict reader about duplicates; `None` if there are none.
    pub fn strict_problem(&self) -> Option<String> {
        if self.duplicates.is_empty() {
            return None;
        }
        let lines: Vec<String> = self.duplicates.iter().map(Duplicate::to_string).collect();
        Some(format!("yaml: unmarshal errors:\n  {}", lines.join("\n  ")))
    }
}

/// Reads the first document of a stream; `null` if there is none.
pub fn read(data: &[u8]) -> Result<Document, Error> {
    let source = text(data)?;
    let error = match read_text(source) {
        Ok(outcome) => return outcome,
        Err(error) => error,
    };
    let Some(mut repair) = Repair::new(source) else { return Err(Error::from_scan(&error, source)) };
    let mut latest = error;
    while repair.apply(&latest) {
        match read_text(repair.text()) {
            Ok(outcome) => return outcome,
            Err(error) => latest = error,
        }
    }
    Err(Error::from_scan(&latest, repair.text()))
}

/// Reads the first document; the outer error is a syntax error. Upstream parses to the end before it
/// evaluates the result, so a syntax error comes first.
fn read_text(source: &str) -> Result<Result<Document, Error>, ScanError> {
    let mut parser = Parser::new_from_str(source);
    let mut reader = Reader::new(source);
    let mut problem = None;
    while let Some(event) = parser.next_event() {
        let (event, span) = event?;
        if let Event::DocumentEnd | Event::StreamEnd = event {
            break;
        }
        if problem.is_none() {
            problem = reader.event(event, span).err();
        }
        if let Some(Error::Syntax { .. }) = problem {
            break;
        }
    }
    Ok(match problem.or(reader.later) {
        Some(error) => Err(error),
        None => Ok(Document { value: reader.root, duplicates: reader.duplicates }),
    })
}

/// The bytes as text that YAML allows.
fn text(data: &[u8]) -> Result<&str, Error> {
    let text = std::str::from_utf8(data).map_err(|error| {
        let problem = match (error.error_len(), data[error.valid_up_to()]) {
            (None, _) => "incomplete UTF-8 octet sequence",
            (_, 0x80..=0xbf | 0xf8..) => "invalid leading UTF-8 octet",
            _ => "invalid trailing UTF-8 octet",
        };
        Error::Encoding { problem }
    })?;
    // The parser would take the tab for indentation, and the rest for the next document.
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    if first.is_some_and(|line| line.starts_with('\t')) {
        return Err(Error::Encoding { problem: "found character that cannot start any token" });
    }
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    if text.chars().all(|c| is_allowed(c) && !matches!(c, '\u{fffe}' | '\u{ffff}')) {
        Ok(text)
    } else {
        Err(Error::Encoding { problem: "control characters are not allowed" })
    }
}

/// A scalar as the parser returns it.
struct Node<'n> {
    text: &'n str,
    tag: String,
    is_plain: bool,
}

impl Node<'_> {
    fn resolve(&self) -> Result<Scalar, Error> {
        match (self.tag.as_str(), self.is_plain) {
            ("", true) => Ok(resolve(self.text)),
            ("", false) => Ok(Scalar::Text),
            (tag, _) => resolve_tagged(tag, self.text),
        }
    }

    fn is_merge(&self) -> bool {
        self.text == "<<" && (self.tag == "!!merge" || (self.tag.is_empty() && self.is_plain))
    }

    /// The text, decoded if it is tagged as binary.
    fn content(&self) -> Result<SmolStr, Error> {
        if self.tag != "!!binary" {
            return Ok(SmolStr::new(self.text));
        }
        let joined: String = self.text.chars().filter(|it| !matches!(it, '\r' | '\n')).collect();
        let bytes = STANDARD.decode(joined).map_err(|_| Error::Base64)?;
        Ok(SmolStr::new(String::from_utf8_lossy(&bytes)))
    }
}

/// `!!str` for `tag:yaml.org,2002:str`.
fn short_tag(tag: &Tag) -> String {
    let whole = format!("{}{}", tag.handle, tag.suffix);
    match whole.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => whole,
    }
}

struct Reader<'s> {
    source: &'s str,
    frames: Vec<Frame>,
    items: Vec<Value>,
    pairs: Vec<(SmolStr, KeyType, Value)>,
    anchors: Anchors,
    duplicates: Vec<Duplicate>,
    root: Value,
    /// The first value that JSON cannot express. Upstream finds it after all other errors.
    later: Option<Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    List,
    Map,
}

/// A list or map that is not closed yet.
struct Frame {
    sort: Sort,
    /// The position of its members on their stack.
    start: usize,
    /// The key whose value comes next; maps only.
    key: Option<Key>,
    /// The positions of the pairs of a large map. Small maps are searched.
    index: Option<HashMap<SmolStr, usize>>,
    anchor: usize,
    line: usize,
    /// The number of nodes that were made before it.
    made: usize,
    height: usize,
}

enum Key {
    Merge,
    Field {
        text: SmolStr,
        sort: KeyType,
    },
    /// A key that has no text form: its type and itself, as Go prints them.
    NoText {
        type_name: &'static str,
        shown: String,
    },
}

/// Keys with the same text are duplicates only if they have the same type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyType {
    Text,
    Int,
    Float,
    Bool,
}

/// A complete value that is to be added to its container.
struct Complete {
    value: Value,
    line: usize,
    height: usize,
    is_alias: bool,
}

/// The number of keys up to which a map is searched for duplicates without an index.
const SEARCHED: usize = 16;

impl<'s> Reader<'s> {
    fn new(source: &'s str) -> Reader<'s> {
        Reader {
            source,
            frames: Vec::new(),
            items: Vec::new(),
            pairs: Vec::new(),
            anchors: Anchors::default(),
            duplicates: Vec::new(),
            root: Value::Null,
            later: None,
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Error> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().map(short_tag).unwrap_or_default();
                let is_plain = style == ScalarStyle::Plain;
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let text = if is_block && self.is_at_end(span) {
                    text.strip_suffix('\n').unwrap_or(&text)
                } else {
                    &text
                };
                self.scalar(&Node { text, tag, is_plain }, anchor, span)
            }
            Event::SequenceStart(anchor, _) => self.open(Sort::List, anchor, span),
            Event::MappingStart(anchor, _) => self.open(Sort::Map, anchor, span),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => self.alias(id, span),
            _ => Ok(()),
        }
    }

    /// Whether a block ends with the source, in a line without a line end: then its text has none either.
    fn is_at_end(&self, span: Span) -> bool {
        let last = self.source.rsplit(['\n', '\r']).next().unwrap_or_default();
        !last.trim().is_empty() && span.end.index() >= self.source.chars().count()
    }

    fn scalar(&mut self, node: &Node<'_>, anchor: usize, span: Span) -> Result<(), Error> {
        let made = self.anchors.made();
        let line = span.start.line();
        if self.awaits_key() && node.is_merge() {
            self.set_key(Key::Merge);
            return Ok(());
        }
        self.anchors.count()?;
        let scalar = node.resolve()?;
        if self.awaits_key() {
            let key = key(scalar, node)?;
            if anchor > 0 {
                let value = self.value(scalar, node)?;
                self.anchors.keep(anchor, &value, 0, made)?;
            }
            self.set_key(key);
            return Ok(());
        }
        let value = self.value(scalar, node)?;
        if anchor > 0 {
            self.anchors.keep(anchor, &value, 0, made)?;
        }
        self.place(Complete { value, line, height: 0, is_alias: false })
    }

    fn value(&mut self, scalar: Scalar, node: &Node<'_>) -> Result<Value, Error> {
        Ok(match scalar {
            Scalar::Null => Value::Null,
            Scalar::Bool(truth) => Value::Bool(truth),
            Scalar::Int(number) => Value::Int(number),
            Scalar::Uint(number) => Value::Float(number as f64),
            Scalar::Float(number) if number.is_finite() => through_json(number),
            Scalar::Float(number) => {
                let shown = if number.is_nan() {
                    "NaN"
                } else if number > 0.0 {
                    "+Inf"
                } else {
                    "-Inf"
                };
                self.later.get_or_insert(Error::NotFinite { shown });
                Value::Null
            }
            Scalar::Timestamp | Scalar::Text => Value::String(node.content()?),
        })
    }

    fn open(&mut self, sort: Sort, anchor: usize, span: Span) -> Result<(), Error> {
        self.check_depth(0, span)?;
        let made = self.anchors.made();
        self.anchors.count()?;
        let start = if sort == Sort::List { self.items.len() } else { self.pairs.len() };
        let line = span.start.line();
        self.frames.push(Frame { sort, start, key: None, index: None, anchor, line, made, height: 0 });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let value = match frame.sort {
            Sort::List => Value::List(self.items.drain(frame.start..).collect()),
            Sort::Map => {
                Value::Map(self.pairs.drain(frame.start..).map(|(key, _, value)| (key, value)).collect())
            }
        };
        let height = frame.height + 1;
        if frame.anchor > 0 {
            self.anchors.keep(frame.anchor, &value, height, frame.made)?;
        }
        self.place(Complete { value, line: frame.line, height, is_alias: false })
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Error> {
        let awaits_key = self.awaits_key();
        let Some(anchored) = self.anchors.expand(id)? else {
            return Err(Error::SelfReference { name: alias_name(self.source, span.start.index()) });
        };
        let (value, height) = (anchored.value.clone(), anchored.height);
        self.check_depth(height, span)?;
        if awaits_key && !matches!(value, Value::List(_) | Value::Map(_)) {
            let key = key_of(&value)?;
            self.set_key(key);
            return Ok(());
        }
        self.place(Complete { value, line: span.start.line(), height, is_alias: true })
    }

    fn awaits_key(&self) -> bool {
        self.frames.last().is_some_and(|it| it.sort == Sort::Map && it.key.is_none())
    }

    fn set_key(&mut self, key: Key) {
        if let Some(frame) = self.frames.last_mut() {
            frame.key = Some(key);
        }
    }

    /// Adds a value to its container.
    fn place(&mut self, complete: Complete) -> Result<(), Error> {
        let Some(frame) = self.frames.last_mut() else {
            self.root = complete.value;
            return Ok(());
        };
        frame.height = frame.height.max(complete.height);
        if frame.sort == Sort::List {
            self.items.push(complete.value);
            return Ok(());
        }
        match frame.key.take() {
            None => Err(Error::ContainerAsKey { shown: go_syntax(&complete.value) }),
            Some(Key::Field { text, sort }) => {
                self.set(text, sort, complete.value, complete.line);
                Ok(())
            }
            Some(Key::Merge) => self.merge(complete),
            Some(Key::NoText { type_name, shown }) => {
                let value =
                    if complete.value.is_null() { "<nil>".to_owned() } else { go_syntax(&complete.value) };
                self.later.get_or_insert(Error::KeyType { type_name, shown, value });
                Ok(())
            }
        }
    }

    /// Sets a key of the innermost map. A duplicate replaces the value, and is recorded.
    fn set(&mut self, text: SmolStr, sort: KeyType, value: Value, line: usize) {
        let Some(position) = self.find(&text) else {
            self.pairs.push((text, sort, value));
            return;
        };
        let there = &mut self.pairs[position];
        if there.1 == sort && self.duplicates.len() < MAX_DUPLICATES {
            let key = if sort == KeyType::Text { quote(&text) } else { text.to_string() };
            self.duplicates.push(Duplicate { line, key });
        }
        there.1 = sort;
        there.2 = value;
    }

    /// The position of `text` among the pairs of the innermost map. A new key is added to the index of a
    /// large map.
    fn find(&mut self, text: &SmolStr) -> Option<usize> {
        let next = self.pairs.len();
        let frame = self.frames.last_mut()?;
        let own = &self.pairs[frame.start..];
        if own.len() < SEARCHED {
            return own.iter().position(|(key, ..)| key == text).map(|at| frame.start + at);
        }
        let start = frame.start;
        let index = frame.index.get_or_insert_with(|| {
            own.iter().enumerate().map(|(at, (key, ..))| (key.clone(), start + at)).collect()
        });
        match index.entry(text.clone()) {
            std::collections::hash_map::Entry::Occupied(there) => Some(*there.get()),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(next);
                None
            }
        }
    }

    /// Merges the value of `<<` into the innermost map. Of several maps the first one takes precedence.
    fn merge(&mut self, complete: Complete) -> Result<(), Error> {
        let maps = match complete.value {
            map @ Value::Map(_) => vec![map],
            Value::List(items) if !complete.is_alias => items,
            _ => return Err(Error::Merge),
        };
        for map in maps.into_iter().rev() {
            let Value::Map(map) = map else { return Err(Error::Merge) };
            for (key, value) in map {
                self.set(key, KeyType::Text, value, complete.line);
            }
        }
        Ok(())
    }

    fn check_depth(&self, height: usize, span: Span) -> Result<(), Error> {
        if self.frames.len() + height < MAX_DEPTH {
            return Ok(());
        }
        let line = Some(span.start.line()).filter(|it| *it > 1);
        Err(Error::Syntax { line, problem: format!("exceeded max depth of {MAX_DEPTH}") })
    }
}

/// Upstream converts YAML to JSON before it reads it: a float without fraction becomes an integer.
fn through_json(number: f64) -> Value {
    if number.fract() == 0.0
        && number.abs() < 1e21
        && let Ok(whole) = format!("{number}").parse()
    {
        return Value::Int(whole);
    }
    Value::Float(number)
}

/// A scalar as a key.
fn key(scalar: Scalar, node: &Node<'_>) -> Result<Key, Error> {
    let (text, sort) = match scalar {
        Scalar::Text | Scalar::Timestamp => (node.content()?, KeyType::Text),
        Scalar::Int(number) => (SmolStr::new(itoa::Buffer::new().format(number)), KeyType::Int),
        Scalar::Float(number) => (SmolStr::new(float::general_32(number)), KeyType::Float),
        Scalar::Bool(truth) => (SmolStr::new_static(if truth { "true" } else { "false" }), KeyType::Bool),
        Scalar::Null => return Ok(null_key()),
        Scalar::Uint(number) => {
            return Ok(Key::NoText { type_name: "uint64", shown: format!("{number:#x}") });
        }
    };
    Ok(Key::Field { text, sort })
}

/// An alias to `value` as a key.
fn key_of(value: &Value) -> Result<Key, Error> {
    let (text, sort) = match value {
        Value::String(text) => (text.clone(), KeyType::Text),
        Value::Int(number) => (SmolStr::new(itoa::Buffer::new().format(*number)), KeyType::Int),
        Value::Float(number) => (SmolStr::new(float::general_32(*number)), KeyType::Float),
        Value::Bool(truth) => (SmolStr::new_static(if *truth { "true" } else { "false" }), KeyType::Bool),
        Value::Null => return Ok(null_key()),
        Value::List(_) | Value::Map(_) => return Err(Error::ContainerAsKey { shown: go_syntax(value) }),
    };
    Ok(Key::Field { text, sort })
}

fn null_key() -> Key {
    Key::NoText { type_name: "%!s(<nil>)", shown: "<nil>".to_owned() }
}

#[cfg(test)]
mod tests;
