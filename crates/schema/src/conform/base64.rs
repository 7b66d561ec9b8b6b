//! Base64 as Go reads it: line breaks are skipped, padding is demanded, loose bits at the end are ignored.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The one form of `text`, or `None` if it has it already; the offset at which it stops being base64.
pub fn canonical(text: &str) -> Result<Option<String>, usize> {
    let bytes = text.as_bytes();
    if bytes.len().is_multiple_of(4) && bytes.iter().all(|byte| value(*byte).is_some()) {
        return Ok(None);
    }
    let canonical = encode(&decode(bytes)?);
    Ok((canonical != text).then_some(canonical))
}

/// Base64 with padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { digit.into() } else { '=' });
        }
    }
    out
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut quantum = Vec::with_capacity(4);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\r' | b'\n' => {}
            b'=' => {
                padding(text, at, quantum.len())?;
                flush(&mut out, &mut quantum);
                return Ok(out);
            }
            _ => quantum.push(value(*byte).ok_or(at)?),
        }
        if quantum.len() == 4 {
            flush(&mut out, &mut quantum);
        }
    }
    if quantum.is_empty() { Ok(out) } else { Err(text.len() - quantum.len()) }
}

/// Checks everything from the first `=` on; `digits` of its quantum stand before it.
fn padding(text: &[u8], at: usize, digits: usize) -> Result<(), usize> {
    if digits < 2 {
        return Err(at);
    }
    let skip =
        |from: usize| text[from..].iter().position(|it| !matches!(it, b'\r' | b'\n')).map(|it| from + it);
    let mut next = at + 1;
    if digits == 2 {
        let second = skip(next).ok_or(text.len())?;
        if text[second] != b'=' {
            return Err(second - 1);
        }
        next = second + 1;
    }
    skip(next).map_or(Ok(()), Err)
}

fn flush(out: &mut Vec<u8>, quantum: &mut Vec<u8>) {
    let bits =
        quantum.iter().fold(0u32, |bits, six| bits << 6 | u32::from(*six)) << (6 * (4 - quantum.len()));
    let whole = quantum.len() * 6 / 8;
    out.extend_from_slice(&bits.to_be_bytes()[1..=whole]);
    quantum.clear();
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn text_is_read_as_go_reads_it() {
        let check = |text: &str, expected: Result<Option<&str>, usize>| {
            assert_eq!(canonical(text), expected.map(|it| it.map(str::to_owned)), "{text:?}");
        };
        check("", Ok(None));
        check("YWJj", Ok(None));
        check("YWI=", Ok(None));
        check("YQ==", Ok(None));
        check("YW\nJj\r\n", Ok(Some("YWJj")));
        check("YQ=\n=\n", Ok(Some("YQ==")));
        check("YR==", Ok(Some("YQ==")));
        check("YWJ", Err(0));
        check("YWJjYW", Err(4));
        check("YWJj!", Err(4));
        check("Y===", Err(1));
        check("YQ=", Err(3));
        check("YQ=a", Err(2));
        check("YQ==a", Err(4));
        check("YWI=YWI=", Err(4));
        check("====", Err(0));
        check("ü", Err(0));
    }
}
