//! Scanner: finds the end of texts and containers, many bytes at a time.

use super::lanes::{contains, equal};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The position of the first quote, backslash or control character at or after `at`; the length of `data` if
/// there is none.
///
/// A word is checked by the subtraction trick: a byte that becomes zero (or falls below a bound) borrows from
/// its highest bit. Borrows go upwards only, so the lowest hit of a little-endian word is always a true one.
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

/// The end of the list or map that begins at `at`: after its closing bracket. `None` if it is not closed.
///
/// Blocks of 64 bytes are turned into masks. With the bit of the first byte on the left:
///
/// ```text
/// bytes      {"a":{"b}":1},"c
/// quotes      1 1  1  1     1
/// within      11   111      11      (from each opening quote to before its closing one)
/// opens      1   1
/// closes             0   1          (the brace in the text does not count)
/// ```
///
/// A block is examined byte by byte only if the depth may reach zero in it, or if it has an escape.
pub(crate) fn container_end(data: &[u8], at: usize) -> Option<usize> {
    let mut state = Walk { at, depth: 0, in_text: false };
    while let Some(block) = data.get(state.at..).and_then(<[u8]>::first_chunk::<64>) {
        if contains(block, b'\\') {
            if let Some(end) = state.walk(data, state.at + 64) {
                return Some(end);
            }
            continue;
        }
        let within = prefix_xor(equal(block, 0, b'"')) ^ if state.in_text { u64::MAX } else { 0 };
        // `[` and `{` differ in one bit, and so do `]` and `}`.
        let opens = equal(block, 0x20, b'{') & !within;
        let closes = equal(block, 0x20, b'}') & !within;
        let closing = closes.count_ones() as usize;
        if closing >= state.depth
            && let Some(place) = end_in_block(state.depth, opens, closes)
        {
            return Some(state.at + place + 1);
        }
        state.depth = state.depth + opens.count_ones() as usize - closing;
        state.in_text = within >> 63 == 1;
        state.at += 64;
    }
    state.walk(data, data.len())
}

/// The position of the bracket that brings `depth` to zero.
fn end_in_block(depth: usize, opens: u64, closes: u64) -> Option<usize> {
    let mut rest = closes;
    let mut closed = 0;
    while rest != 0 {
        let place = rest.trailing_zeros();
        closed += 1;
        let opened = (opens & ((1 << place) - 1)).count_ones() as usize;
        if depth + opened <= closed {
            return Some(place as usize);
        }
        rest &= rest - 1;
    }
    None
}

/// Every bit becomes the parity of all bits up to it: bits between quotes are set.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// A byte-by-byte walk.
struct Walk {
    at: usize,
    depth: usize,
    in_text: bool,
}

impl Walk {
    /// Continues to `stop`, or one byte further if an escape straddles it; returns the end of the container
    /// if it is before that.
    fn walk(&mut self, data: &[u8], stop: usize) -> Option<usize> {
        while self.at < stop {
            let byte = *data.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => self.in_text = !self.in_text,
                b'\\' if self.in_text => self.at += 1,
                b'{' | b'[' if !self.in_text => self.depth += 1,
                b'}' | b']' if !self.in_text => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(self.at);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Walk, container_end, text_stop};

    #[test]
    fn every_stop_is_found_at_every_place() {
        for stop in 0..=u8::MAX {
            let stops = stop == b'"' || stop == b'\\' || stop < 0x20;
            for place in 0..40 {
                for filler in [b'a', b'!', b'#', b'[', b']', 0x20, 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut data = [filler; 40];
                    data[place] = stop;
                    let expected = if stops { place } else { 40 };
                    assert_eq!(text_stop(&data, 0), expected, "{stop:#x} at {place} in {filler:#x}");
                }
            }
        }
    }

    #[test]
    fn containers_end_where_they_end() {
        let check = |text: &str, expected: Option<usize>| {
            for padding in [0, 1, 50, 63, 64, 130] {
                let padded = format!("{}{text}{}", "x".repeat(padding), "}".repeat(padding));
                assert_eq!(
                    container_end(padded.as_bytes(), padding),
                    expected.map(|it| it + padding),
                    "{text}"
                );
            }
        };
        check("{}", Some(2));
        check("[[],[]],", Some(7));
        check(r#"{"a}":"]\"}","b":[{}]},"#, Some(22));
        let long = format!("[{}]", vec![r#"{"key":"value with }","list":[1,[2]]}"#; 20].join(","));
        check(&format!("{long},"), Some(long.len()));
        assert_eq!(container_end(b"{", 0), None);
        assert_eq!(container_end(br#"{"a":"}"#, 0), None);
    }

    proptest! {
        #[test]
        fn blocks_and_bytes_agree(text in r#"[\[\]{}"\\a,:]{0,300}"#) {
            let data = format!("{{{text}");
            let mut walk = Walk { at: 0, depth: 0, in_text: false };
            prop_assert_eq!(container_end(data.as_bytes(), 0), walk.walk(data.as_bytes(), data.len()));
        }
    }
}
