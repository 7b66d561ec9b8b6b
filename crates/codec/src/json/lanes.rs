//! Comparison of many bytes at once. A mask has bit *n* set for byte *n*.
//!
//! There are no intrinsics here (they are unsafe), only loops of a shape that compilers turn into vector
//! instructions.

/// Which of 64 bytes are `byte` after `bits` have been set in them.
#[inline]
pub(super) fn equal(block: &[u8; 64], bits: u8, byte: u8) -> u64 {
    let weights: [u8; 64] =
        std::array::from_fn(|at| if block[at] | bits == byte { 1 << (at % 8) } else { 0 });
    let (words, _) = weights.as_chunks::<8>();
    // The eight bytes of a word have one bit each, all different: the multiplication adds them up in the top
    // byte.
    let gather = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0101_0101_0101_0101) >> 56;
    words.iter().enumerate().fold(0, |mask, (at, word)| mask | gather(word) << (at * 8))
}

/// Whether one of 64 bytes is `byte`.
#[inline]
pub(super) fn contains(block: &[u8; 64], byte: u8) -> bool {
    block.iter().fold(false, |found, it| found | (*it == byte))
}

#[cfg(test)]
mod tests {
    use super::{contains, equal};

    #[test]
    fn masks_tell_every_byte_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..64 {
                let filler = if byte == b'a' { b'b' } else { b'a' };
                let mut block = [filler; 64];
                block[place] = byte;
                assert_eq!(equal(&block, 0, byte), 1 << place);
                assert_eq!(equal(&block, 0x20, b'{'), u64::from(byte | 0x20 == b'{') << place);
                assert!(contains(&block, byte));
                assert!(!contains(&block, if byte == b'c' { b'd' } else { b'c' }));
            }
        }
    }
}
