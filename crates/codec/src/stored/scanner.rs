//! Scanner of stored JSON that builds no tree: it goes from member to member and skips values that are not
//! needed.
//!
//! It trusts the store that brackets match by kind, and checks everything else that it depends on.

use std::borrow::Cow;

use keelson_object::SmolStr;
use keelson_object::meta::StringMap;

use super::StoredError;
use crate::json::read_string;
use crate::json::scan::{container_end, skip_space, text_stop};

pub(super) struct Scanner<'d> {
    data: &'d [u8],
    at: usize,
}

/// A member of a map; the scanner is at its value.
pub(super) struct Member<'d> {
    /// The position of the key's opening quote.
    pub(super) begin: usize,
    pub(super) key: Cow<'d, [u8]>,
}

impl<'d> Scanner<'d> {
    pub(super) fn new(data: &'d [u8]) -> Scanner<'d> {
        Scanner { data, at: 0 }
    }

    /// The current position.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The bytes from `start` to here.
    pub(super) fn since(&self, start: usize) -> &'d [u8] {
        &self.data[start..self.at]
    }

    #[cold]
    pub(super) fn malformed(&self) -> StoredError {
        StoredError::Malformed { offset: self.at }
    }

    /// The next byte that is not white space; it is not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.data, self.at);
        self.data.get(self.at).copied()
    }

    /// Enters a map.
    pub(super) fn open(&mut self) -> Result<(), StoredError> {
        if self.peek() != Some(b'{') {
            return Err(self.malformed());
        }
        self.at += 1;
        Ok(())
    }

    /// Checks that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), StoredError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.malformed()) }
    }

    /// Goes to the next member of the map whose brace or last value was just read; `None` after its end.
    pub(super) fn next_member(&mut self) -> Result<Option<Member<'d>>, StoredError> {
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b'"') => {}
            _ => return Err(self.malformed()),
        }
        let begin = self.at;
        let key = self.key()?;
        if self.peek() != Some(b':') {
            return Err(self.malformed());
        }
        self.at += 1;
        self.peek();
        Ok(Some(Member { begin, key }))
    }

    #[inline]
    fn key(&mut self) -> Result<Cow<'d, [u8]>, StoredError> {
        let start = self.at + 1;
        let stop = text_stop(self.data, start);
        if self.data.get(stop) == Some(&b'"') {
            self.at = stop + 1;
            return Ok(Cow::Borrowed(&self.data[start..stop]));
        }
        let (text, end) = read_string(self.data, start)?;
        self.at = end;
        Ok(Cow::Owned(text.as_bytes().to_vec()))
    }

    /// Reads a text at the current position.
    pub(super) fn text(&mut self) -> Result<SmolStr, StoredError> {
        if self.peek() != Some(b'"') {
            return Err(self.malformed());
        }
        let (text, end) = read_string(self.data, self.at + 1)?;
        self.at = end;
        Ok(text)
    }

    /// Reads the text at `start`, which was already skipped; `null` is empty.
    pub(super) fn text_at(&self, start: usize) -> Result<SmolStr, StoredError> {
        match self.data.get(start) {
            Some(b'"') => Ok(read_string(self.data, start + 1)?.0),
            Some(b'n') => Ok(SmolStr::default()),
            _ => Err(StoredError::Malformed { offset: start }),
        }
    }

    /// Reads a map of text to text at the current position.
    pub(super) fn string_map(&mut self) -> Result<StringMap, StoredError> {
        if self.peek() == Some(b'n') {
            self.skip_value()?;
            return Ok(StringMap::default());
        }
        self.open()?;
        let mut pairs = Vec::new();
        while let Some(member) = self.next_member()? {
            let key = match std::str::from_utf8(&member.key) {
                Ok(key) => SmolStr::new(key),
                Err(_) => return Err(self.malformed()),
            };
            pairs.push((key, self.text()?));
        }
        Ok(pairs.into_iter().collect())
    }

    /// Skips a value at the current position.
    pub(super) fn skip_value(&mut self) -> Result<(), StoredError> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.skip_text()
            }
            Some(b'{' | b'[') => {
                self.at = container_end(self.data, self.at)
                    .ok_or(StoredError::Malformed { offset: self.data.len() })?;
                Ok(())
            }
            Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                while let Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') = self.data.get(self.at)
                {
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(self.malformed()),
        }
    }

    /// Skips a text whose opening quote was already read.
    #[inline]
    fn skip_text(&mut self) -> Result<(), StoredError> {
        loop {
            let stop = text_stop(self.data, self.at);
            self.at = stop + 1;
            match self.data.get(stop) {
                Some(b'"') => return Ok(()),
                Some(b'\\') if stop + 1 < self.data.len() => self.at += 1,
                _ => {
                    self.at = stop;
                    return Err(self.malformed());
                }
            }
        }
    }
}
