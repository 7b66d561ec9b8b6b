//! DER: a strict reader of tags, lengths and contents.
//!
//! What is not the one valid encoding is refused, as Go's cryptobyte does. Nothing is copied, and nothing recurses.

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// `[number]`, primitive.
pub(crate) const fn context(number: u8) -> u8 {
    0x80 | number
}

/// `[number]`, constructed.
pub(crate) const fn constructed(number: u8) -> u8 {
    0xa0 | number
}

/// What is left to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'d>(pub(crate) &'d [u8]);

/// One element.
#[derive(Clone, Copy)]
pub(crate) struct Element<'d> {
    pub(crate) tag: u8,
    pub(crate) content: &'d [u8],
    /// With tag and length.
    pub(crate) whole: &'d [u8],
}

impl<'d> Reader<'d> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn next_is(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// The next element, whatever it is. Tags of several bytes and lengths of more than four do not occur.
    pub(crate) fn any(&mut self) -> Option<Element<'d>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (length, header) = if first < 0x80 {
            (usize::from(first), 2)
        } else {
            let bytes = usize::from(first & 0x7f);
            let digits = rest.get(..bytes).filter(|_| (1..=4).contains(&bytes))?;
            let length = digits.iter().fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit));
            // The shortest form is the only one.
            if length < 0x80 || digits.first() == Some(&0) {
                return None;
            }
            (usize::try_from(length).ok()?, 2 + bytes)
        };
        let end = header.checked_add(length)?;
        let whole = self.0.get(..end)?;
        self.0 = self.0.get(end..)?;
        Some(Element { tag, content: whole.get(header..)?, whole })
    }

    /// The next element with its tag and length, if it is a `tag`.
    pub(crate) fn element(&mut self, tag: u8) -> Option<Element<'d>> {
        let mut ahead = *self;
        let element = ahead.any().filter(|it| it.tag == tag)?;
        *self = ahead;
        Some(element)
    }

    /// The content of the next element, if it is a `tag`.
    pub(crate) fn read(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.element(tag).map(|it| it.content)
    }

    /// A reader of the content of the next element, if it is a `tag`.
    pub(crate) fn enter(&mut self, tag: u8) -> Option<Reader<'d>> {
        self.read(tag).map(Reader)
    }

    /// `Some(None)` if something else, or nothing, comes next; `None` if what comes is malformed.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<Option<&'d [u8]>> {
        if self.next_is(tag) { self.read(tag).map(Some) } else { Some(None) }
    }

    /// The bytes of an integer in their shortest form.
    pub(crate) fn integer(&mut self) -> Option<&'d [u8]> {
        let bytes = self.read(INTEGER)?;
        let is_shortest = match bytes {
            [] => false,
            [0x00, next, ..] => next & 0x80 != 0,
            [0xff, next, ..] => next & 0x80 == 0,
            _ => true,
        };
        is_shortest.then_some(bytes)
    }

    /// An integer that is not negative and not huge.
    pub(crate) fn small_integer(&mut self) -> Option<u64> {
        let bytes = self.integer().filter(|it| it[0] & 0x80 == 0 && it.len() <= 8)?;
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    pub(crate) fn boolean(&mut self) -> Option<bool> {
        match self.read(BOOLEAN)? {
            [0x00] => Some(false),
            [0xff] => Some(true),
            _ => None,
        }
    }

    /// An object identifier as its encoded arcs.
    pub(crate) fn oid(&mut self) -> Option<&'d [u8]> {
        self.read(OBJECT_IDENTIFIER).filter(|it| is_oid(it))
    }

    /// The bits, and how many at the end are not used.
    pub(crate) fn bits(&mut self) -> Option<(&'d [u8], u8)> {
        let (&unused, bits) = self.read(BIT_STRING)?.split_first()?;
        let is_padded_well = match bits.last() {
            None => unused == 0,
            Some(last) => unused < 8 && last & ((1_u8 << unused) - 1) == 0,
        };
        is_padded_well.then_some((bits, unused))
    }

    /// A bit string of whole bytes.
    pub(crate) fn bytes_of_bits(&mut self) -> Option<&'d [u8]> {
        self.bits().filter(|(_, unused)| *unused == 0).map(|(bits, _)| bits)
    }
}

/// Arcs have no leading zeros and fit into 31 bits.
fn is_oid(bytes: &[u8]) -> bool {
    let mut value: u64 = 0;
    let mut is_first_byte = true;
    for byte in bytes {
        if is_first_byte && *byte == 0x80 {
            return false;
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if value > i32::MAX as u64 {
            return false;
        }
        is_first_byte = byte & 0x80 == 0;
        if is_first_byte {
            value = 0;
        }
    }
    !bytes.is_empty() && is_first_byte
}

#[cfg(test)]
mod tests {
    use super::{Reader, SEQUENCE};

    #[test]
    fn there_is_one_way_to_write_a_length() {
        let read = |bytes: &[u8]| Reader(bytes).read(SEQUENCE).map(<[u8]>::len);
        assert_eq!(read(&[0x30, 1, 5]), Some(1));
        assert_eq!(read(&[0x30, 0x81, 1, 5]), None);
        assert_eq!(read(&[0x30, 0x80, 5, 0, 0]), None);
        assert_eq!(read(&[&[0x30, 0x81, 0x80][..], &[0; 0x80]].concat()), Some(0x80));
        assert_eq!(read(&[&[0x30, 0x82, 0, 0x80][..], &[0; 0x80]].concat()), None);
        assert_eq!(read(&[0x30, 2, 5]), None);
        assert_eq!(read(&[0x30, 0x85, 1, 1, 1, 1, 1]), None);
    }

    #[test]
    fn integers_are_short() {
        let read = |bytes: &[u8]| Reader(bytes).small_integer();
        assert_eq!(read(&[2, 1, 5]), Some(5));
        assert_eq!(read(&[2, 2, 0, 0x80]), Some(128));
        assert_eq!(read(&[2, 2, 0, 5]), None);
        assert_eq!(read(&[2, 1, 0xff]), None);
        assert_eq!(read(&[2, 0]), None);
    }
}
