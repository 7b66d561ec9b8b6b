//! Comparing many bytes at once. Every function returns a mask with bit *n* set for byte *n*.
//!
//! On x86-64 these are the instructions that every such machine has; elsewhere they are arithmetic on words.

/// Sixteen bytes.
#[derive(Clone, Copy)]
pub(super) struct Lanes(imp::Lanes);

impl Lanes {
    #[inline]
    pub(super) fn new(bytes: &[u8; 16]) -> Lanes {
        let pair = u128::from_le_bytes(*bytes);
        Lanes(imp::load(pair as u64, (pair >> 64) as u64))
    }

    /// Which bytes are `byte`.
    #[inline]
    pub(super) fn equal(self, byte: u8) -> u64 {
        imp::equal(self.0, byte)
    }

    /// Which bytes end plain text: quotes, backslashes and control characters.
    #[inline]
    pub(super) fn stops(self) -> u64 {
        imp::stops(self.0)
    }

    /// The same bytes with the bit set in which `[` and `{` differ, and `]` and `}`.
    #[inline]
    pub(super) fn folded(self) -> Lanes {
        Lanes(imp::or(self.0, 0x20))
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    pub(super) type Lanes = __m128i;

    #[inline]
    pub(super) fn load(low: u64, high: u64) -> Lanes {
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }

    #[inline]
    pub(super) fn equal(lanes: Lanes, byte: u8) -> u64 {
        mask(_mm_cmpeq_epi8(lanes, splat(byte)))
    }

    #[inline]
    pub(super) fn stops(lanes: Lanes) -> u64 {
        let quote = _mm_cmpeq_epi8(lanes, splat(b'"'));
        let backslash = _mm_cmpeq_epi8(lanes, splat(b'\\'));
        let control = _mm_cmpeq_epi8(_mm_min_epu8(lanes, splat(0x1f)), lanes);
        mask(_mm_or_si128(_mm_or_si128(quote, backslash), control))
    }

    #[inline]
    pub(super) fn or(lanes: Lanes, bits: u8) -> Lanes {
        _mm_or_si128(lanes, splat(bits))
    }

    #[inline]
    fn splat(byte: u8) -> Lanes {
        _mm_set1_epi8(byte.cast_signed())
    }

    #[inline]
    fn mask(lanes: Lanes) -> u64 {
        u64::from(_mm_movemask_epi8(lanes).cast_unsigned())
    }
}

#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;

    pub(super) type Lanes = [u64; 2];

    pub(super) fn load(low: u64, high: u64) -> Lanes {
        [low, high]
    }

    pub(super) fn equal(lanes: Lanes, byte: u8) -> u64 {
        mask(lanes.map(|word| zeros(word ^ (LOW * u64::from(byte)))))
    }

    pub(super) fn stops(lanes: Lanes) -> u64 {
        let control = lanes.map(|word| zeros(word & (LOW * 0xe0)));
        mask(control) | equal(lanes, b'"') | equal(lanes, b'\\')
    }

    pub(super) fn or(lanes: Lanes, bits: u8) -> Lanes {
        lanes.map(|word| word | (LOW * u64::from(bits)))
    }

    /// Marks the highest bit of every byte that is zero.
    fn zeros(word: u64) -> u64 {
        !(((word & !HIGH) + !HIGH) | word) & HIGH
    }

    /// Gathers the marks of two words: the multiplication moves every one to its place in the highest byte.
    fn mask([low, high]: Lanes) -> u64 {
        let gather = |marks: u64| (marks >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        gather(low) | gather(high) << 8
    }
}

#[cfg(not(target_arch = "x86_64"))]
use words as imp;

#[cfg(test)]
mod tests {
    use super::{Lanes, words};

    #[test]
    fn masks_tell_every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..16 {
                for filler in [b'a', 0x21, 0x23, 0x7f, 0x80, 0xff] {
                    let mut bytes = [filler; 16];
                    bytes[place] = byte;
                    let pair = u128::from_le_bytes(bytes);
                    let portable = words::load(pair as u64, (pair >> 64) as u64);
                    let found = Lanes::new(&bytes);
                    let expected = if byte == filler { 0xffff } else { 1 << place };
                    assert_eq!(found.equal(byte), expected);
                    assert_eq!(words::equal(portable, byte), expected);
                    let is_stop = byte == b'"' || byte == b'\\' || byte < 0x20;
                    assert_eq!(found.stops(), if is_stop { 1 << place } else { 0 }, "{byte:#x} in {filler:#x}");
                    assert_eq!(words::stops(portable), found.stops(), "{byte:#x} in {filler:#x}");
                    let folded = if filler | 0x20 == b'{' { 0xffff } else { u64::from(byte | 0x20 == b'{') << place };
                    assert_eq!(found.folded().equal(b'{'), folded);
                    assert_eq!(words::equal(words::or(portable, 0x20), b'{'), folded);
                }
            }
        }
    }
}
