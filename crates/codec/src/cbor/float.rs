//! Half-precision floats, and the shortest form of a float.

use super::error::Kind;

/// The value of a half-precision float.
pub(super) fn from_half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// The same number in 16 bits, if that is exact.
fn to_half(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let fraction = bits & 0x7f_ffff;
    match (bits >> 23 & 0xff) as i32 - 127 {
        -127 if fraction == 0 => Some(sign),
        exponent @ -14..=15 if fraction.trailing_zeros() >= 13 => {
            Some(sign | ((exponent + 15) as u16) << 10 | (fraction >> 13) as u16)
        }
        exponent @ -24..=-15 => {
            let (whole, dropped) = (fraction | 0x80_0000, (-1 - exponent) as u32);
            (whole.trailing_zeros() >= dropped).then(|| sign | (whole >> dropped) as u16)
        }
        _ => None,
    }
}

/// Writes a float in the fewest bytes that keep its value.
pub(super) fn write(number: f64, out: &mut Vec<u8>) {
    let first = |information: u8| 0xe0 | information;
    debug_assert_eq!(Kind::of(first(25)), Kind::Primitive);
    let single = number as f32;
    if f64::from(single).to_bits() != number.to_bits() {
        out.push(first(27));
        out.extend_from_slice(&number.to_be_bytes());
    } else if let Some(half) = to_half(single) {
        out.push(first(25));
        out.extend_from_slice(&half.to_be_bytes());
    } else {
        out.push(first(26));
        out.extend_from_slice(&single.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{from_half, to_half, write};

    #[test]
    fn every_float_of_16_bits_is_written_as_it_was() {
        for bits in 0..=u16::MAX {
            let number = from_half(bits);
            if number.is_finite() {
                assert_eq!(to_half(number as f32), Some(bits), "{number}");
            }
        }
    }

    #[test]
    fn floats_take_as_few_bytes_as_they_need() {
        let check = |number: f64, expected: &[u8]| {
            let mut out = Vec::new();
            write(number, &mut out);
            assert_eq!(out, expected, "{number}");
        };
        check(0.0, &[0xf9, 0, 0]);
        check(-0.0, &[0xf9, 0x80, 0]);
        check(1.5, &[0xf9, 0x3e, 0]);
        check(65504.0, &[0xf9, 0x7b, 0xff]);
        check(65505.0, &[0xfa, 0x47, 0x7f, 0xe1, 0]);
        check(100_000.0, &[0xfa, 0x47, 0xc3, 0x50, 0]);
        check(2f64.powi(-24), &[0xf9, 0, 1]);
        check(2f64.powi(-25), &[0xfa, 0x33, 0, 0, 0]);
        check(1.1, &[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]);
        check(1e300, &[0xfb, 0x7e, 0x37, 0xe4, 0x3c, 0x88, 0, 0x75, 0x9c]);
    }
}
