//! Wire format: tags, numbers, lengths.
//!
//! ```text
//! 0a 03 'w' 'e' 'b'    tag 0x0a is field 1, wire type 2: a length and so many bytes
//! 38 96 01             tag 0x38 is field 7, wire type 0: a number, seven bits a byte, the low ones first
//! ```
//!
//! No length is trusted before it is compared with the available bytes, and nothing here allocates.

use keelson_schema::Zero;

use super::error::{Error, Fallible};

/// The content of a field, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload<'d> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'d [u8]),
    /// Skipped: no kind has groups.
    Group,
    /// Skipped: no kind has these either.
    Fixed32,
}

impl<'d> Payload<'d> {
    pub(super) fn varint(self, field: &str) -> Fallible<u64> {
        if let Payload::Varint(number) = self { Ok(number) } else { Err(self.wrong(field)) }
    }

    pub(super) fn fixed64(self, field: &str) -> Fallible<u64> {
        if let Payload::Fixed64(number) = self { Ok(number) } else { Err(self.wrong(field)) }
    }

    pub(super) fn bytes(self, field: &str) -> Fallible<&'d [u8]> {
        if let Payload::Bytes(bytes) = self { Ok(bytes) } else { Err(self.wrong(field)) }
    }

    pub(super) fn is(self, zero: Zero) -> bool {
        matches!((self, zero), (Payload::Varint(0), Zero::Number) | (Payload::Bytes([]), Zero::Text))
    }

    fn wrong(self, field: &str) -> Box<Error> {
        let found = match self {
            Payload::Varint(_) => 0,
            Payload::Fixed64(_) => 1,
            Payload::Bytes(_) => 2,
            Payload::Group => 3,
            Payload::Fixed32 => 5,
        };
        Box::new(Error::wrong_wire_type(found, field))
    }
}

/// The fields of one message, one after the other.
pub(super) struct Fields<'d, 'n> {
    message: &'n str,
    rest: &'d [u8],
}

impl<'d, 'n> Fields<'d, 'n> {
    /// `message` is the name of the message, for errors.
    pub(super) fn of(message: &'n str, data: &'d [u8]) -> Fields<'d, 'n> {
        Fields { message, rest: data }
    }

    /// The bytes that have not been read yet.
    pub(super) fn rest(&self) -> &'d [u8] {
        self.rest
    }

    /// The next field: its number and its content.
    #[inline(always)]
    pub(super) fn next_field(&mut self) -> Fallible<Option<(u32, Payload<'d>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        // Most fields are short texts and messages with small numbers.
        if let [tag @ 8..0x80, length @ ..0x80, rest @ ..] = self.rest
            && tag & 7 == 2
            && let Some((bytes, rest)) = rest.split_at_checked(usize::from(*length))
        {
            self.rest = rest;
            return Ok(Some((u32::from(tag >> 3), Payload::Bytes(bytes))));
        }
        self.any_field().map(Some)
    }

    fn any_field(&mut self) -> Fallible<(u32, Payload<'d>)> {
        let tag = varint(&mut self.rest)?;
        if tag & 7 == 4 {
            return Err(Box::new(Error::EndGroup { message: self.message.to_owned() }));
        }
        // Upstream keeps the low 32 bits of a number that is far too large.
        let number = (tag >> 3) as i32;
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok((number, payload(tag, &mut self.rest)?)),
            _ => Err(Box::new(Error::Tag { message: self.message.to_owned(), number, tag })),
        }
    }
}

/// Reads the content after `tag`.
#[inline]
fn payload<'d>(tag: u64, data: &mut &'d [u8]) -> Fallible<Payload<'d>> {
    match tag & 7 {
        0 => Ok(Payload::Varint(varint(data)?)),
        1 => fixed64(data).map(Payload::Fixed64),
        2 => {
            let length = i64::try_from(varint(data)?).map_err(|_| Error::Length)?;
            let length = usize::try_from(length).map_err(|_| Error::End)?;
            take(data, length).map(Payload::Bytes)
        }
        3 => skip_group(data).map(|()| Payload::Group),
        5 => take(data, 4).map(|_| Payload::Fixed32),
        found => Err(Box::new(Error::WireType { found: found as u8 })),
    }
}

fn skip_group(data: &mut &[u8]) -> Fallible<()> {
    let mut depth = 1_usize;
    while depth > 0 {
        let tag = varint(data)?;
        match tag & 7 {
            3 => depth += 1,
            4 => depth -= 1,
            _ => drop(payload(tag, data)?),
        }
    }
    Ok(())
}

/// Reads one number.
#[inline]
pub(super) fn varint(data: &mut &[u8]) -> Fallible<u64> {
    match **data {
        [byte @ ..0x80, ref rest @ ..] => {
            *data = rest;
            Ok(u64::from(byte))
        }
        _ => long_varint(data),
    }
}

fn long_varint(data: &mut &[u8]) -> Fallible<u64> {
    let mut number = 0;
    for (place, byte) in data.iter().take(10).enumerate() {
        // Of the tenth byte upstream takes one bit and drops the others.
        number |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            *data = &data[place + 1..];
            return Ok(number);
        }
    }
    Err(Box::new(if data.len() < 10 { Error::End } else { Error::Overflow }))
}

/// Reads eight bytes.
pub(super) fn fixed64(data: &mut &[u8]) -> Fallible<u64> {
    let (number, rest) = data.split_first_chunk().ok_or_else(|| Box::new(Error::End))?;
    *data = rest;
    Ok(u64::from_le_bytes(*number))
}

fn take<'d>(data: &mut &'d [u8], length: usize) -> Fallible<&'d [u8]> {
    let (bytes, rest) = data.split_at_checked(length).ok_or_else(|| Box::new(Error::End))?;
    *data = rest;
    Ok(bytes)
}

/// The number of bytes of a varint.
pub(super) const fn varint_size(number: usize) -> usize {
    let bits = usize::BITS - (number | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::{Fields, Payload, varint, varint_size};
    use crate::protobuf::Error;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let check = |mut data: &[u8], expected: Result<u64, Error>| {
            assert_eq!(varint(&mut data).map_err(|it| *it), expected);
            if expected.is_ok() {
                assert!(data.is_empty(), "{data:?} is left");
            }
        };
        check(&[0], Ok(0));
        check(&[0x7f], Ok(127));
        check(&[0x96, 0x01], Ok(150));
        check(&[0x80, 0x00], Ok(0));
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Ok(u64::MAX));
        check(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Ok(u64::MAX));
        check(&[], Err(Error::End));
        check(&[0x80], Err(Error::End));
        check(&[0xff; 9], Err(Error::End));
        check(&[0xff; 10], Err(Error::Overflow));
        check(&[0xff; 20], Err(Error::Overflow));
    }

    #[test]
    fn the_size_of_a_number_is_known_beforehand() {
        for (number, expected) in [(0, 1), (1, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (1 << 35, 6)]
        {
            assert_eq!(varint_size(number), expected, "{number}");
        }
        assert_eq!(varint_size(usize::MAX), 10);
    }

    #[test]
    fn every_wire_type_is_read_or_refused() {
        let check = |data: &[u8], expected: Result<Option<(u32, Payload<'_>)>, &str>| {
            let found = Fields::of("Pod", data).next_field().map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{data:x?}");
        };
        check(&[], Ok(None));
        check(&[0x38, 0x96, 0x01], Ok(Some((7, Payload::Varint(150)))));
        check(&[0x0a, 0x02, b'h', b'i', 0xff], Ok(Some((1, Payload::Bytes(b"hi")))));
        check(&[0x09, 1, 0, 0, 0, 0, 0, 0, 0], Ok(Some((1, Payload::Fixed64(1)))));
        check(&[0x0d, 1, 0, 0, 0], Ok(Some((1, Payload::Fixed32))));
        check(&[0x0b, 0x13, 0x08, 0x01, 0x14, 0x0c], Ok(Some((1, Payload::Group))));
        check(&[0x0b, 0x13, 0x14], Err("unexpected EOF"));
        check(&[0x0c], Err("proto: Pod: wiretype end group for non-group"));
        check(&[0x0e], Err("proto: illegal wireType 6"));
        check(&[0x02], Err("proto: Pod: illegal tag 0 (wire type 2)"));
        check(
            &[0x80, 0x80, 0x80, 0x80, 0x40, 0x00],
            Err("proto: Pod: illegal tag -2147483648 (wire type 17179869184)"),
        );
        check(&[0x0a, 0x02, b'h'], Err("unexpected EOF"));
        check(&[0x09, 1, 0, 0], Err("unexpected EOF"));
        check(
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            Err("proto: negative length found during unmarshaling"),
        );
        check(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Err("unexpected EOF"));
    }
}
