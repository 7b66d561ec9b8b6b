//! JSON reader: bytes to a tree, without recursion.
//!
//! Open lists and maps are frames on an explicit stack. Their finished members are on two shared stacks, so
//! that closing one is a single allocation of the right size. After `{"a":[1,{"b":2,"c":` there are
//!
//! ```text
//! frames  Map{start:0}  List{start:0}  Map{start:1}
//! items   1
//! pairs   (a,null)  (b,2)  (c,null)
//! ```
//!
//! A key waits for its value as the last pair: everything that is opened in between is closed first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use keelson_object::{Map, Value};
use smol_str::SmolStr;

use super::error::Error;
use super::scan::{skip_space, text_stop};
use crate::limits::{MAX_DEPTH, MAX_DUPLICATES, MAX_ECHO};
use crate::text::push_repaired;

/// The result of reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The tree; of duplicate keys it has the last value.
    pub value: Value,
    /// The paths of duplicate keys: `spec.containers[0].name`. Each is listed once, at most
    /// [`MAX_DUPLICATES`] of them, in the order of the document.
    pub duplicates: Vec<String>,
}

/// Reads one document. Numbers without fraction and exponent that fit become [`Value::Int`], all others
/// [`Value::Float`]; text that is not UTF-8 is repaired byte by byte with U+FFFD.
pub fn read(data: &[u8]) -> Result<Document, Error> {
    Reader::new(data).read().map_err(|error| *error)
}

/// Reads one document whose maps keep every pair, including duplicate keys: for a strict reader, which
/// reports duplicates at their position. Such a tree has no other use.
pub fn read_every_pair(data: &[u8]) -> Result<Value, Error> {
    let reader = Reader { repeats: Repeats::Kept, ..Reader::new(data) };
    reader.read().map(|document| document.value).map_err(|error| *error)
}

/// Reads a map whose opening brace is not in `data`.
pub(crate) fn read_members(data: &[u8]) -> Result<Document, Error> {
    Reader::new(data).read_members().map_err(|error| *error)
}

/// Reads a text whose opening quote is before `at`; also returns its end.
pub(crate) fn read_string(data: &[u8], at: usize) -> Result<(SmolStr, usize), Error> {
    let stop = text_stop(data, at);
    if data.get(stop) == Some(&b'"')
        && let Ok(text) = std::str::from_utf8(&data[at..stop])
    {
        return Ok((SmolStr::new(text), stop + 1));
    }
    // Invalid UTF-8 is found text by text: checking all of `data` for one of them does not pay.
    let mut reader = Reader { data, at, whole: None, ..Reader::new(&[]) };
    let text = reader.text().map_err(|error| *error)?;
    Ok((text, reader.at))
}

struct Reader<'d> {
    data: &'d [u8],
    /// The same, if all of it is UTF-8: then single texts need no check.
    whole: Option<&'d str>,
    at: usize,
    frames: Vec<Frame>,
    items: Vec<Value>,
    pairs: Vec<(SmolStr, Value)>,
    duplicates: Vec<String>,
    /// The number of bytes of paths that may still be built; see [`NAMING_BUDGET`].
    naming_budget: usize,
    /// The buffer for text with escapes.
    scratch: String,
    /// The first number that does not fit. Go reports a syntax error first, wherever it is.
    misfit: Option<Error>,
    repeats: Repeats,
}

/// How a duplicate key is handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    /// It replaces the value, and is reported.
    Replace,
    /// It becomes another pair.
    Kept,
}

/// Boxed, because results are passed up many times, and errors are rare.
type Fallible<T> = std::result::Result<T, Box<Error>>;

/// A list or map that is not closed yet. `start` is the position of its members on their stack.
enum Frame {
    List {
        start: usize,
    },
    /// The value that is read next belongs to the last pair, or to the pair at `again`.
    Map {
        start: usize,
        again: Option<usize>,
        seen: Seen,
    },
}

/// The keys of a map.
#[derive(Default)]
struct Seen {
    /// A bit for each key, by its mark: a key whose bit is not set is new.
    marks: u64,
    /// Set for a large map.
    large: Option<Box<Large>>,
}

/// How a large map finds its keys.
enum Large {
    /// Each key is larger than the one before it, as Go writes maps: there are no duplicates.
    Sorted,
    /// The positions of the pairs.
    Index(HashMap<SmolStr, usize>),
}

/// The number of keys up to which a map is searched for duplicates without an index.
const SEARCHED: usize = 24;

/// Limits the cost of paths: half a million duplicates within ten thousand nested maps would take minutes.
const NAMING_BUDGET: usize = 8 * 1024 * 1024;

/// The result of adding a value to its container.
enum Placed {
    /// The container goes on with another value.
    More,
    /// The container is complete.
    Closed(Value),
    /// There was no container.
    Top(Value),
}

const TRUE: [&str; 3] =
    ["in literal true (expecting 'r')", "in literal true (expecting 'u')", "in literal true (expecting 'e')"];
const FALSE: [&str; 4] = [
    "in literal false (expecting 'a')",
    "in literal false (expecting 'l')",
    "in literal false (expecting 's')",
    "in literal false (expecting 'e')",
];
const NULL: [&str; 3] =
    ["in literal null (expecting 'u')", "in literal null (expecting 'l')", "in literal null (expecting 'l')"];

impl<'d> Reader<'d> {
    fn new(data: &'d [u8]) -> Reader<'d> {
        // Room for a usual object; a small one does not need it.
        let room = (data.len() / 64).min(64);
        Reader {
            data,
            whole: std::str::from_utf8(data).ok(),
            at: 0,
            frames: Vec::with_capacity(room.min(16)),
            items: Vec::with_capacity(room.min(16)),
            pairs: Vec::with_capacity(room),
            duplicates: Vec::new(),
            naming_budget: NAMING_BUDGET,
            scratch: String::new(),
            misfit: None,
            repeats: Repeats::Replace,
        }
    }

    fn read(mut self) -> Fallible<Document> {
        let value = self.document()?;
        self.finish(value)
    }

    fn read_members(mut self) -> Fallible<Document> {
        let value = match self.open_map()? {
            Some(empty) => empty,
            None => self.document()?,
        };
        self.finish(value)
    }

    fn document(&mut self) -> Fallible<Value> {
        loop {
            let Some(mut value) = self.value()? else { continue };
            loop {
                match self.place(value)? {
                    Placed::More => break,
                    Placed::Closed(container) => value = container,
                    Placed::Top(value) => return Ok(value),
                }
            }
        }
    }

    fn finish(mut self, value: Value) -> Fallible<Document> {
        if self.peek().is_some() {
            return Err(self.unexpected("after top-level value"));
        }
        match self.misfit.take() {
            Some(error) => Err(Box::new(error)),
            None => Ok(Document { value, duplicates: self.duplicates }),
        }
    }

    /// A scalar or an empty container; `None` when a container was opened whose first value comes next.
    fn value(&mut self) -> Fallible<Option<Value>> {
        let Some(byte) = self.peek() else { return Err(self.unexpected("")) };
        match byte {
            b'"' => {
                self.at += 1;
                self.text().map(|text| Some(Value::String(text)))
            }
            b'{' => {
                self.check_depth()?;
                self.at += 1;
                self.open_map()
            }
            b'[' => {
                self.check_depth()?;
                self.at += 1;
                self.open_list()
            }
            b'-' | b'0'..=b'9' => self.number().map(Some),
            b't' => self.literal(b"true", &TRUE, Value::Bool(true)),
            b'f' => self.literal(b"false", &FALSE, Value::Bool(false)),
            b'n' => self.literal(b"null", &NULL, Value::Null),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    /// Adds a value to its container and reads what follows.
    fn place(&mut self, value: Value) -> Fallible<Placed> {
        let Some(frame) = self.frames.last_mut() else { return Ok(Placed::Top(value)) };
        match frame {
            Frame::List { start } => {
                let start = *start;
                self.items.push(value);
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        Ok(Placed::More)
                    }
                    Some(b']') => {
                        self.at += 1;
                        self.frames.pop();
                        Ok(Placed::Closed(Value::List(top(&mut self.items, start))))
                    }
                    _ => Err(self.unexpected("after array element")),
                }
            }
            Frame::Map { start, again, .. } => {
                let start = *start;
                let slot = match again.take() {
                    Some(position) => self.pairs.get_mut(position),
                    None => self.pairs.last_mut(),
                };
                slot.expect("its key was read").1 = value;
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.key().map(|()| Placed::More)
                    }
                    Some(b'}') => {
                        self.at += 1;
                        self.frames.pop();
                        Ok(Placed::Closed(Value::Map(Map::from_distinct(top(&mut self.pairs, start)))))
                    }
                    _ => Err(self.unexpected("after object key:value pair")),
                }
            }
        }
    }

    fn open_list(&mut self) -> Fallible<Option<Value>> {
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Some(Value::List(Vec::new())));
        }
        self.frames.push(Frame::List { start: self.items.len() });
        Ok(None)
    }

    fn open_map(&mut self) -> Fallible<Option<Value>> {
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Some(Value::Map(Map::new())));
        }
        let start = self.pairs.len();
        self.frames.push(Frame::Map { start, again: None, seen: Seen::default() });
        self.key().map(|()| None)
    }

    /// Reads a key and its colon into the innermost frame, which is a map.
    fn key(&mut self) -> Fallible<()> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        self.at += 1;
        let key = self.text()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        if self.repeats == Repeats::Kept {
            self.pairs.push((key, Value::Null));
            return Ok(());
        }
        let Some(Frame::Map { start, again, seen }) = self.frames.last_mut() else {
            unreachable!("keys are read in maps only")
        };
        match seen.find(&key, &self.pairs, *start) {
            None => self.pairs.push((key, Value::Null)),
            there => {
                *again = there;
                self.note_duplicate();
            }
        }
        Ok(())
    }

    /// Records the path of the key that was read last, from the outermost frame inwards.
    fn note_duplicate(&mut self) {
        if self.duplicates.len() >= MAX_DUPLICATES || self.naming_budget == 0 {
            return;
        }
        let mut path = String::new();
        for (level, frame) in self.frames.iter().enumerate() {
            match frame {
                Frame::List { start } => {
                    // The items of this list are below those of the next inner list.
                    let inner = self.frames[level + 1..].iter().find_map(|it| match it {
                        Frame::List { start } => Some(*start),
                        Frame::Map { .. } => None,
                    });
                    let position = inner.unwrap_or(self.items.len()) - start;
                    path.push('[');
                    path.push_str(itoa::Buffer::new().format(position));
                    path.push(']');
                }
                Frame::Map { again, .. } => {
                    // The key of this map is below the pairs of the next inner map.
                    let inner = self.frames[level + 1..].iter().find_map(|it| match it {
                        Frame::Map { start, .. } => Some(*start),
                        Frame::List { .. } => None,
                    });
                    let at = again.unwrap_or_else(|| inner.unwrap_or(self.pairs.len()) - 1);
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&self.pairs[at].0);
                }
            }
        }
        self.naming_budget = self.naming_budget.saturating_sub(path.len());
        if !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }

    fn literal(&mut self, word: &[u8], contexts: &[&'static str], value: Value) -> Fallible<Option<Value>> {
        for (&expected, context) in word[1..].iter().zip(contexts) {
            self.at += 1;
            if self.data.get(self.at) != Some(&expected) {
                return Err(self.cut_off(context));
            }
        }
        self.at += 1;
        Ok(Some(value))
    }

    fn number(&mut self) -> Fallible<Value> {
        let start = self.at;
        if let Some(number) = self.short_number() {
            return Ok(number);
        }
        if self.data[start] == b'-' {
            self.at += 1;
        }
        if self.data.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        let mut is_whole = true;
        if self.data.get(self.at) == Some(&b'.') {
            is_whole = false;
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.data.get(self.at) {
            is_whole = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.data.get(self.at) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = std::str::from_utf8(&self.data[start..self.at]).expect("numbers are ASCII");
        if is_whole && let Ok(number) = text.parse() {
            return Ok(Value::Int(number));
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => {
                let text = text[..text.len().min(MAX_ECHO)].to_owned();
                self.misfit.get_or_insert(Error::Number { offset: start, text });
                Ok(Value::Null)
            }
        }
    }

    /// A number of up to nine digits, which most are.
    #[inline]
    fn short_number(&mut self) -> Option<Value> {
        let digits = self.data[self.at..].iter().take(10).take_while(|it| it.is_ascii_digit()).count();
        let follows = self.data.get(self.at + digits)?;
        let raw = &self.data[self.at..self.at + digits];
        let is_whole = matches!(follows, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
        if !is_whole || digits == 0 || digits == 10 || (digits > 1 && raw[0] == b'0') {
            return None;
        }
        self.at += digits;
        Some(Value::Int(raw.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))))
    }

    /// One digit or more.
    fn digits(&mut self, context: &'static str) -> Fallible<()> {
        let count = self.data[self.at..].iter().take_while(|it| it.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.cut_off(context));
        }
        self.at += count;
        Ok(())
    }

    /// Text whose opening quote has been read.
    fn text(&mut self) -> Fallible<SmolStr> {
        let start = self.at;
        let stop = text_stop(self.data, start);
        if self.data.get(stop) != Some(&b'"') {
            return self.text_with_escapes(stop);
        }
        self.at = stop + 1;
        if let Some(text) = self.whole.and_then(|it| it.get(start..stop)) {
            return Ok(SmolStr::new(text));
        }
        self.scratch.clear();
        push_repaired(&mut self.scratch, &self.data[start..stop]);
        Ok(SmolStr::new(&self.scratch))
    }

    fn text_with_escapes(&mut self, mut stop: usize) -> Fallible<SmolStr> {
        self.scratch.clear();
        loop {
            match self.whole.and_then(|it| it.get(self.at..stop)) {
                Some(text) => self.scratch.push_str(text),
                None => push_repaired(&mut self.scratch, &self.data[self.at..stop]),
            }
            self.at = stop;
            match self.data.get(stop) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(SmolStr::new(&self.scratch));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.unexpected_here("in string literal")),
                None => return Err(Box::new(Error::End { offset: stop })),
            }
            stop = text_stop(self.data, self.at);
        }
    }

    fn escape(&mut self) -> Fallible<()> {
        self.at += 1;
        let plain = match self.data.get(self.at) {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'b') => '\u{08}',
            Some(b'f') => '\u{0c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let unit = self.hex()?;
                let character = self.code_point(unit);
                self.scratch.push(character);
                return Ok(());
            }
            _ => return Err(self.cut_off("in string escape code")),
        };
        self.at += 1;
        self.scratch.push(plain);
        Ok(())
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Fallible<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.data.get(self.at).and_then(|it| char::from(*it).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.cut_off("in \\u hexadecimal character escape"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The character of `unit`, together with the next escape if both are a surrogate pair. Half a pair
    /// becomes U+FFFD.
    fn code_point(&mut self, unit: u32) -> char {
        if let 0xd800..=0xdbff = unit
            && self.data[self.at..].starts_with(b"\\u")
            && let Some(digits) = self.data.get(self.at + 2..self.at + 6)
            && let Some(low) = hex_of(digits)
            && let 0xdc00..=0xdfff = low
        {
            self.at += 6;
            let joined = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            return char::from_u32(joined).expect("a surrogate pair is a character");
        }
        char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn check_depth(&self) -> Fallible<()> {
        if self.frames.len() < MAX_DEPTH { Ok(()) } else { Err(self.unexpected_here("exceeded max depth")) }
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.data, self.at);
        self.data.get(self.at).copied()
    }

    #[cold]
    fn unexpected(&mut self, context: &'static str) -> Box<Error> {
        self.peek();
        self.unexpected_here(context)
    }

    #[cold]
    fn unexpected_here(&self, context: &'static str) -> Box<Error> {
        Box::new(match self.data.get(self.at) {
            Some(&found) => Error::Character { offset: self.at, found, context },
            None => Error::End { offset: self.at },
        })
    }

    /// Within a word, number or escape Go reads the end of the document as a space.
    #[cold]
    fn cut_off(&self, context: &'static str) -> Box<Error> {
        let found = self.data.get(self.at).copied().unwrap_or(b' ');
        Box::new(Error::Character { offset: self.at, found, context })
    }
}

impl Seen {
    /// The position of `key` among the pairs from `start` on.
    #[inline]
    fn find(&mut self, key: &SmolStr, pairs: &[(SmolStr, Value)], start: usize) -> Option<usize> {
        let own = &pairs[start..];
        if own.len() >= SEARCHED {
            return self.find_in_large(key, own, start);
        }
        let mark = 1 << mark(key);
        let may_be_there = self.marks & mark != 0;
        self.marks |= mark;
        if !may_be_there {
            return None;
        }
        own.iter().position(|(name, _)| name == key).map(|at| start + at)
    }

    /// A map that is not sorted gets an index, to which the new key is added.
    fn find_in_large(&mut self, key: &SmolStr, own: &[(SmolStr, Value)], start: usize) -> Option<usize> {
        let is_sorted = || own.is_sorted_by(|(a, _), (b, _)| a < b);
        let index = || Large::Index(own.iter().map(|(name, _)| name.clone()).zip(start..).collect());
        let large =
            self.large.get_or_insert_with(|| Box::new(if is_sorted() { Large::Sorted } else { index() }));
        if let Large::Sorted = **large {
            if own.last().is_none_or(|(last, _)| last < key) {
                return None;
            }
            **large = index();
        }
        let Large::Index(index) = &mut **large else { return None };
        match index.entry(key.clone()) {
            Entry::Occupied(there) => Some(*there.get()),
            Entry::Vacant(free) => {
                free.insert(start + own.len());
                None
            }
        }
    }
}

/// A number below 64 that differs for most keys of a map.
#[inline]
fn mark(key: &str) -> u32 {
    let bytes = key.as_bytes();
    let end = |byte: Option<&u8>| u32::from(byte.copied().unwrap_or_default());
    let ends = end(bytes.first()) | end(bytes.last()) << 8;
    (ends | (bytes.len() as u32) << 16).wrapping_mul(0x9e37_79b1) >> 26
}

/// Takes the part of a stack from `start` on, in memory of its own size.
#[inline]
fn top<T>(stack: &mut Vec<T>, start: usize) -> Vec<T> {
    // Splitting at the bottom would give away the stack itself, whose capacity is larger than its content.
    if start == 0 { stack.drain(start..).collect() } else { stack.split_off(start) }
}

fn hex_of(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, it| Some(unit * 16 + char::from(*it).to_digit(16)?))
}

#[cfg(test)]
mod tests;
