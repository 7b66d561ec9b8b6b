//! CBOR reader, first pass: checks that the input is well-formed. It allocates only one small frame per open
//! list or map, so that no length in a document is trusted before the bytes were seen.

use super::error::{Error, Kind};
use super::head::{BREAK, Head};
use crate::limits::{MAX_CBOR_ITEMS, MAX_CBOR_PAIRS, MAX_DEPTH};

/// Checks that `data` is exactly one well-formed item.
pub(super) fn check(data: &[u8]) -> Result<(), Error> {
    if data.is_empty() {
        return Err(Error::Empty);
    }
    let mut scan = Scan { data, at: 0, open: Vec::new() };
    scan.item(0)?;
    while let Some(frame) = scan.open.last() {
        let depth = frame.depth;
        if scan.is_over()? {
            scan.open.pop();
        } else {
            scan.item(depth)?;
        }
    }
    match data.len() - scan.at {
        0 => Ok(()),
        count => Err(Error::Trailing { count, at: scan.at }),
    }
}

struct Scan<'d> {
    data: &'d [u8],
    at: usize,
    open: Vec<Open>,
}

/// A list or map that has not ended.
struct Open {
    is_map: bool,
    depth: usize,
    /// The number of items, where keys and values count alike.
    seen: u64,
    /// `None` for indefinite length.
    length: Option<u64>,
}

impl Scan<'_> {
    fn head(&mut self) -> Result<Head, Error> {
        let (head, size) = Head::read(&self.data[self.at..])?;
        self.at += size;
        Ok(head)
    }

    /// Continues in the innermost list or map; returns whether it is over.
    fn is_over(&mut self) -> Result<bool, Error> {
        let Some(frame) = self.open.last_mut() else { return Ok(true) };
        if let Some(length) = frame.length {
            frame.seen += 1;
            return Ok(frame.seen > length);
        }
        if !frame.is_map && frame.seen > MAX_CBOR_ITEMS {
            return Err(Error::TooManyItems);
        }
        if frame.is_map && frame.seen.is_multiple_of(2) && frame.seen / 2 > MAX_CBOR_PAIRS {
            return Err(Error::TooManyPairs);
        }
        if *self.data.get(self.at).ok_or(Error::End)? == BREAK {
            self.at += 1;
            return if frame.is_map && frame.seen % 2 == 1 { Err(Error::Break) } else { Ok(true) };
        }
        frame.seen += 1;
        Ok(false)
    }

    /// One item, or the beginning of a list or map.
    fn item(&mut self, depth: usize) -> Result<(), Error> {
        let (head, depth) = self.untagged(depth)?;
        match head.kind {
            Kind::Bytes | Kind::Text if head.is_open() => self.chunks(head.kind),
            Kind::Bytes | Kind::Text => self.skip(head),
            Kind::Array | Kind::Map => self.begin(head, depth + 1),
            _ => Ok(()),
        }
    }

    /// The head after all tags. Each tag but the first is a nesting level.
    fn untagged(&mut self, mut depth: usize) -> Result<(Head, usize), Error> {
        let mut head = self.head()?;
        let mut is_first = true;
        while head.kind == Kind::Tag {
            if !is_first {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(Error::TooDeep);
                }
            }
            is_first = false;
            if self.at == self.data.len() {
                return Err(Error::End);
            }
            if matches!(head.argument, 2 | 3) {
                return Err(Error::Refused { kind: Kind::Tag, what: "bignum".to_owned() });
            }
            head = self.head()?;
        }
        Ok((head, depth))
    }

    fn skip(&mut self, head: Head) -> Result<(), Error> {
        let Head { kind, argument, .. } = head;
        let length = i64::try_from(argument).map_err(|_| Error::Length { kind, length: argument })?;
        match usize::try_from(length) {
            Ok(length) if length <= self.data.len() - self.at => {
                self.at += length;
                Ok(())
            }
            _ => Err(Error::End),
        }
    }

    fn chunks(&mut self, within: Kind) -> Result<(), Error> {
        loop {
            let first = *self.data.get(self.at).ok_or(Error::End)?;
            if first == BREAK {
                self.at += 1;
                return Ok(());
            }
            let found = Kind::of(first);
            if found != within {
                return Err(Error::Chunk { found, within });
            }
            if first & 31 == 31 {
                return Err(Error::OpenChunk(within));
            }
            let head = self.head()?;
            self.skip(head)?;
        }
    }

    fn begin(&mut self, head: Head, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        let Head { kind, argument, .. } = head;
        let is_map = kind == Kind::Map;
        let length = match head.is_open() {
            true => None,
            false if i64::try_from(argument).is_err() => {
                return Err(Error::Length { kind, length: argument });
            }
            false if is_map && argument > MAX_CBOR_PAIRS => return Err(Error::TooManyPairs),
            false if argument > MAX_CBOR_ITEMS => return Err(Error::TooManyItems),
            false if is_map => Some(2 * argument),
            false => Some(argument),
        };
        self.open.push(Open { is_map, depth, seen: 0, length });
        Ok(())
    }
}
