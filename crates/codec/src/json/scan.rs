//! Finding the end of text, eight bytes at a time.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where text that goes on at `at` first has a quote, a backslash or a control character; the length of `data` if
/// nowhere.
///
/// A word is checked by the subtraction trick: a byte that becomes zero (or falls below a bound) borrows from its
/// highest bit. Borrows run upwards only, so that the lowest hit of a little-endian word is always a true one.
#[inline]
pub(crate) fn text_stop(data: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = data.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (LOW * b'"' as u64);
        let backslash = word ^ (LOW * b'\\' as u64);
        let hits = (quote.wrapping_sub(LOW) & !quote)
            | (backslash.wrapping_sub(LOW) & !backslash)
            | (word.wrapping_sub(LOW * 0x20) & !word);
        let hits = hits & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = data.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            return at;
        }
        at += 1;
    }
    data.len()
}

/// The first byte at or after `at` that is not white space.
#[inline]
pub(crate) fn skip_space(data: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = data.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::text_stop;

    #[test]
    fn every_stop_is_found_at_every_place() {
        for stop in 0..=u8::MAX {
            let stops = stop == b'"' || stop == b'\\' || stop < 0x20;
            for place in 0..24 {
                for filler in [b'a', b'!', b'#', b'[', b']', 0x20, 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut data = [filler; 24];
                    data[place] = stop;
                    let expected = if stops { place } else { 24 };
                    assert_eq!(text_stop(&data, 0), expected, "{stop:#x} at {place} in {filler:#x}");
                }
            }
        }
    }
}
