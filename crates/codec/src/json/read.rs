//! The reader: bytes to a tree, without recursion.
//!
//! Open lists and maps are frames on a stack of our own. Their finished members wait on two shared stacks, so that
//! closing one is a single allocation of the right size. After `{"a":[1,{"b":2,"c":` there are
//!
//! ```text
//! frames  Map{start:0,key:a}  List{start:0}  Map{start:0,key:c}
//! items   1
//! pairs   (b,2)
//! ```

use std::collections::HashMap;

use keelson_object::{Map, Value};
use smol_str::SmolStr;

use super::error::Error;
use super::scan::{skip_space, text_stop};
use crate::limits::{MAX_DEPTH, MAX_DUPLICATES, MAX_ECHO};
use crate::text::push_repaired;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The tree; of duplicate keys the last value is in it.
    pub value: Value,
    /// Which keys stood there more than once: `spec.containers[0].name`. Each is named once, at most
    /// [`MAX_DUPLICATES`] of them, in the order in which they stand in the document.
    pub duplicates: Vec<String>,
}

/// Reads one document. Numbers without fraction and exponent that fit become [`Value::Int`], all others
/// [`Value::Float`]; text that is not UTF-8 is repaired byte by byte with U+FFFD.
pub fn read(data: &[u8]) -> Result<Document, Error> {
    let mut reader = Reader::new(data);
    let value = reader.document()?;
    reader.finish(value)
}

/// Reads a map whose opening brace is not in `data`.
pub(crate) fn read_members(data: &[u8]) -> Result<Document, Error> {
    let mut reader = Reader::new(data);
    let value = match reader.open_map()? {
        Some(empty) => empty,
        None => reader.document()?,
    };
    reader.finish(value)
}

/// Reads text whose opening quote stands before `at`; also says where it ends.
pub(crate) fn read_string(data: &[u8], at: usize) -> Result<(SmolStr, usize), Error> {
    let stop = text_stop(data, at);
    if data.get(stop) == Some(&b'"')
        && let Ok(text) = std::str::from_utf8(&data[at..stop])
    {
        return Ok((SmolStr::new(text), stop + 1));
    }
    let mut reader = Reader::new(data);
    reader.at = at;
    let text = reader.text()?;
    Ok((text, reader.at))
}

struct Reader<'d> {
    data: &'d [u8],
    at: usize,
    frames: Vec<Frame>,
    items: Vec<Value>,
    pairs: Vec<(SmolStr, Value)>,
    duplicates: Vec<String>,
    /// How many bytes of paths may still be put together; see [`NAMING_BUDGET`].
    naming_budget: usize,
    /// Text with escapes is put together here.
    scratch: String,
    /// The first number that does not fit. Go reports a mistake in the syntax first, wherever that stands.
    misfit: Option<Error>,
}

/// A list or map that is not closed yet. `start` is where its members begin on their stack.
enum Frame {
    List { start: usize },
    Map { start: usize, key: SmolStr, again: Option<usize>, index: Option<Box<Index>> },
}

/// Where the pairs of a large map are. Small maps are searched.
type Index = HashMap<SmolStr, usize>;

/// Up to how many keys a map is searched for duplicates without an index.
const SEARCHED: usize = 16;

/// One path repeated half a million times in a nest of ten thousand maps would take minutes to spell out.
const NAMING_BUDGET: usize = 8 * 1024 * 1024;

/// What became of a value that was handed to the container around it.
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
        Reader {
            data,
            at: 0,
            frames: Vec::new(),
            items: Vec::new(),
            pairs: Vec::new(),
            duplicates: Vec::new(),
            naming_budget: NAMING_BUDGET,
            scratch: String::new(),
            misfit: None,
        }
    }

    fn document(&mut self) -> Result<Value, Error> {
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

    fn finish(mut self, value: Value) -> Result<Document, Error> {
        if self.peek().is_some() {
            return Err(self.unexpected("after top-level value"));
        }
        match self.misfit.take() {
            Some(error) => Err(error),
            None => Ok(Document { value, duplicates: self.duplicates }),
        }
    }

    /// A scalar or an empty container; `None` when a container was opened whose first value comes next.
    fn value(&mut self) -> Result<Option<Value>, Error> {
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

    /// Hands a value to the container around it and reads what follows there.
    fn place(&mut self, value: Value) -> Result<Placed, Error> {
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
                        Ok(Placed::Closed(Value::List(self.items.drain(start..).collect())))
                    }
                    _ => Err(self.unexpected("after array element")),
                }
            }
            Frame::Map { start, key, again, .. } => {
                let start = *start;
                match again.take() {
                    Some(position) => self.pairs[position].1 = value,
                    None => self.pairs.push((std::mem::take(key), value)),
                }
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.key().map(|()| Placed::More)
                    }
                    Some(b'}') => {
                        self.at += 1;
                        self.frames.pop();
                        Ok(Placed::Closed(Value::Map(self.pairs.drain(start..).collect())))
                    }
                    _ => Err(self.unexpected("after object key:value pair")),
                }
            }
        }
    }

    fn open_list(&mut self) -> Result<Option<Value>, Error> {
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Some(Value::List(Vec::new())));
        }
        self.frames.push(Frame::List { start: self.items.len() });
        Ok(None)
    }

    fn open_map(&mut self) -> Result<Option<Value>, Error> {
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Some(Value::Map(Map::new())));
        }
        let start = self.pairs.len();
        self.frames.push(Frame::Map { start, key: SmolStr::default(), again: None, index: None });
        self.key().map(|()| None)
    }

    /// Reads a key and its colon into the innermost frame, which is a map.
    fn key(&mut self) -> Result<(), Error> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        self.at += 1;
        let key = self.text()?;
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        let Some(Frame::Map { start, key: slot, again, index }) = self.frames.last_mut() else {
            unreachable!("keys are read in maps only")
        };
        *again = find(&key, &self.pairs, *start, index);
        let is_again = again.is_some();
        *slot = key;
        if is_again {
            self.note_duplicate();
        }
        Ok(())
    }

    /// Names the key that was read last, from the outermost frame inwards.
    fn note_duplicate(&mut self) {
        if self.duplicates.len() >= MAX_DUPLICATES || self.naming_budget == 0 {
            return;
        }
        let mut path = String::new();
        for (level, frame) in self.frames.iter().enumerate() {
            match frame {
                Frame::List { start } => {
                    // The items of this list lie below those of the next list inwards.
                    let inner = self.frames[level + 1..].iter().find_map(|it| match it {
                        Frame::List { start } => Some(*start),
                        Frame::Map { .. } => None,
                    });
                    let position = inner.unwrap_or(self.items.len()) - start;
                    path.push('[');
                    path.push_str(itoa::Buffer::new().format(position));
                    path.push(']');
                }
                Frame::Map { key, .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        self.naming_budget = self.naming_budget.saturating_sub(path.len());
        if !self.duplicates.contains(&path) {
            self.duplicates.push(path);
        }
    }

    fn literal(
        &mut self,
        word: &[u8],
        contexts: &[&'static str],
        value: Value,
    ) -> Result<Option<Value>, Error> {
        for (&expected, context) in word[1..].iter().zip(contexts) {
            self.at += 1;
            if self.data.get(self.at) != Some(&expected) {
                return Err(self.cut_off(context));
            }
        }
        self.at += 1;
        Ok(Some(value))
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.at;
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

    /// One digit or more.
    fn digits(&mut self, context: &'static str) -> Result<(), Error> {
        let count = self.data[self.at..].iter().take_while(|it| it.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.cut_off(context));
        }
        self.at += count;
        Ok(())
    }

    /// Text whose opening quote has been read.
    fn text(&mut self) -> Result<SmolStr, Error> {
        let start = self.at;
        let stop = text_stop(self.data, start);
        if self.data.get(stop) != Some(&b'"') {
            return self.text_with_escapes(stop);
        }
        self.at = stop + 1;
        let raw = &self.data[start..stop];
        match std::str::from_utf8(raw) {
            Ok(text) => Ok(SmolStr::new(text)),
            Err(_) => {
                self.scratch.clear();
                push_repaired(&mut self.scratch, raw);
                Ok(SmolStr::new(&self.scratch))
            }
        }
    }

    #[cold]
    fn text_with_escapes(&mut self, mut stop: usize) -> Result<SmolStr, Error> {
        self.scratch.clear();
        loop {
            push_repaired(&mut self.scratch, &self.data[self.at..stop]);
            self.at = stop;
            match self.data.get(stop) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(SmolStr::new(&self.scratch));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.unexpected_here("in string literal")),
                None => return Err(Error::End { offset: stop }),
            }
            stop = text_stop(self.data, self.at);
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
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
    fn hex(&mut self) -> Result<u32, Error> {
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

    /// The character of `unit`, together with the escape behind it where both are a surrogate pair. Half a pair
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

    fn check_depth(&self) -> Result<(), Error> {
        if self.frames.len() < MAX_DEPTH { Ok(()) } else { Err(self.unexpected_here("exceeded max depth")) }
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.data, self.at);
        self.data.get(self.at).copied()
    }

    #[cold]
    fn unexpected(&mut self, context: &'static str) -> Error {
        self.peek();
        self.unexpected_here(context)
    }

    #[cold]
    fn unexpected_here(&self, context: &'static str) -> Error {
        match self.data.get(self.at) {
            Some(&found) => Error::Character { offset: self.at, found, context },
            None => Error::End { offset: self.at },
        }
    }

    /// Within a word, number or escape Go reads the end of the document as a blank.
    #[cold]
    fn cut_off(&self, context: &'static str) -> Error {
        let found = self.data.get(self.at).copied().unwrap_or(b' ');
        Error::Character { offset: self.at, found, context }
    }
}

/// Where `key` is among the pairs from `start` on. A large map gets an index, which also learns the new key.
#[inline]
fn find(
    key: &SmolStr,
    pairs: &[(SmolStr, Value)],
    start: usize,
    index: &mut Option<Box<Index>>,
) -> Option<usize> {
    let own = &pairs[start..];
    if own.len() < SEARCHED {
        return own.iter().position(|(name, _)| name == key).map(|at| start + at);
    }
    let index = index.get_or_insert_with(|| {
        Box::new(own.iter().enumerate().map(|(at, (name, _))| (name.clone(), start + at)).collect())
    });
    let next = pairs.len();
    match index.entry(key.clone()) {
        std::collections::hash_map::Entry::Occupied(there) => Some(*there.get()),
        std::collections::hash_map::Entry::Vacant(free) => {
            free.insert(next);
            None
        }
    }
}

fn hex_of(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |unit, it| Some(unit * 16 + char::from(*it).to_digit(16)?))
}

#[cfg(test)]
mod tests;
