//! Head of a data item: its type and a number, which is the value, a length or a tag.
//!
//! ```text
//! 000 00101              5
//! 010 11000  1e          a byte string of 30 bytes
//! 100 11111              a list that ends at its break, ff
//! ```

use super::error::{Error, Kind};
use super::float;

/// The byte that ends an item of indefinite length.
pub(super) const BREAK: u8 = 0xff;

/// The head of a data item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// The lower five bits of the first byte: how the argument is written.
    pub(super) information: u8,
    pub(super) argument: u64,
}

impl Head {
    /// Whether the item has an indefinite length.
    pub(super) fn is_open(self) -> bool {
        self.information == 31
    }

    /// The head at the start of `data`, and its length.
    pub(super) fn read(data: &[u8]) -> Result<(Head, usize), Error> {
        let [first, rest @ ..] = data else { return Err(Error::End) };
        let (kind, information) = (Kind::of(*first), first & 31);
        let size = match information {
            0..24 => 0,
            24..28 => 1 << (information - 24),
            31 => match kind {
                Kind::Positive | Kind::Negative | Kind::Tag => {
                    return Err(Error::Information { information, kind });
                }
                Kind::Primitive => return Err(Error::Break),
                _ => 0,
            },
            _ => return Err(Error::Information { information, kind }),
        };
        let written = rest.get(..size).ok_or(Error::End)?;
        let argument = match size {
            0 => u64::from(information),
            _ => written.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
        };
        let head = Head { kind, information, argument };
        if kind == Kind::Primitive {
            head.check_primitive()?;
        }
        Ok((head, 1 + size))
    }

    fn check_primitive(self) -> Result<(), Error> {
        let refused = |what: &str| Err(Error::Refused { kind: Kind::Primitive, what: what.to_owned() });
        match (self.information, self.float()) {
            (24, _) if self.argument < 32 => Err(Error::Simple(self.argument)),
            (_, Some(number)) if number.is_nan() => refused("floating-point NaN"),
            (_, Some(number)) if number.is_infinite() => refused("floating-point infinity"),
            _ => Ok(()),
        }
    }

    /// The value of a float; `None` for other primitives.
    pub(super) fn float(self) -> Option<f64> {
        match self.information {
            25 => Some(float::from_half(self.argument as u16)),
            26 => Some(f64::from(f32::from_bits(self.argument as u32))),
            27 => Some(f64::from_bits(self.argument)),
            _ => None,
        }
    }

    /// The head of an item in its shortest form.
    pub(super) fn write(kind: Kind, argument: u64, out: &mut Vec<u8>) {
        let first = match kind {
            Kind::Positive => 0,
            Kind::Negative => 0x20,
            Kind::Bytes => 0x40,
            Kind::Text => 0x60,
            Kind::Array => 0x80,
            Kind::Map => 0xa0,
            Kind::Tag => 0xc0,
            Kind::Primitive => 0xe0,
        };
        let bytes = argument.to_be_bytes();
        match argument {
            0..24 => out.push(first | bytes[7]),
            24..0x100 => out.extend([first | 24, bytes[7]]),
            0x100..0x1_0000 => out.extend([first | 25, bytes[6], bytes[7]]),
            0x1_0000..0x1_0000_0000 => {
                out.push(first | 26);
                out.extend_from_slice(&bytes[4..]);
            }
            _ => {
                out.push(first | 27);
                out.extend_from_slice(&bytes);
            }
        }
    }
}
