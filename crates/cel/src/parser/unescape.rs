//! String literals: from what is written between quotes to the value.

use std::borrow::Cow;

const UNABLE: &str = "unable to unescape string";

/// The bytes of a literal with its quotes and `r` prefix, without its `b` prefix.
/// Upstream: cel-go parser/unescape.go, unescape (v0.26.0).
pub(super) fn unescape(literal: &str, is_bytes: bool) -> Result<Cow<'_, [u8]>, &'static str> {
    let raw = literal.starts_with(['r', 'R']);
    let quoted = if raw { &literal[1..] } else { literal };
    let quotes =
        if quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\"")) { 3 } else { 1 };
    if quoted.len() < 2 * quotes {
        return Err(UNABLE);
    }
    let inner = &quoted[quotes..quoted.len() - quotes];
    let inner = if inner.contains('\r') {
        Cow::Owned(inner.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(inner)
    };
    if raw || !inner.contains('\\') {
        return Ok(match inner {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first != b'\\' {
            out.push(*first);
            rest = tail;
            continue;
        }
        rest = escape(tail, is_bytes, &mut out)?;
    }
    Ok(Cow::Owned(out))
}

/// Writes what the escape sequence after a backslash stands for, and returns what follows.
fn escape<'a>(s: &'a [u8], is_bytes: bool, out: &mut Vec<u8>) -> Result<&'a [u8], &'static str> {
    let (kind, tail) = s.split_first().ok_or(UNABLE)?;
    let simple = match kind {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0B,
        b'\\' | b'\'' | b'"' | b'`' | b'?' => *kind,
        b'x' | b'X' => return number(tail, 2, 16, is_bytes, out),
        b'u' | b'U' if is_bytes => return Err(UNABLE),
        b'u' => return number(tail, 4, 16, is_bytes, out),
        b'U' => return number(tail, 8, 16, is_bytes, out),
        b'0'..=b'3' => {
            return number(s, 3, 8, is_bytes, out).map_err(|error| {
                if error == UNABLE { "unable to unescape octal sequence in string" } else { error }
            });
        }
        _ => return Err(UNABLE),
    };
    out.push(simple);
    Ok(tail)
}

fn number<'a>(
    s: &'a [u8],
    length: usize,
    radix: u32,
    is_bytes: bool,
    out: &mut Vec<u8>,
) -> Result<&'a [u8], &'static str> {
    let digits = s.get(..length).ok_or(UNABLE)?;
    let mut value: u32 = 0;
    for digit in digits {
        let digit = char::from(*digit).to_digit(radix).ok_or(UNABLE)?;
        value = value.wrapping_mul(radix).wrapping_add(digit);
    }
    if is_bytes {
        out.push(value as u8);
    } else {
        let character = char::from_u32(value).ok_or("invalid unicode code point")?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(&s[length..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(literal: &str, expected: Result<&str, &str>) {
        let found = unescape(literal, false).map(|bytes| String::from_utf8(bytes.into_owned()).unwrap());
        assert_eq!(found.as_deref().map_err(|error| *error), expected);
    }

    #[test]
    fn escapes_of_text() {
        check(r"'a\n\x41\101\u00e9\U0001F600'", Ok("a\nAAé😀"));
        check("'''a'b'''", Ok("a'b"));
        check(r"r'\n'", Ok(r"\n"));
        check("'''a\r\nb'''", Ok("a\nb"));
        check(r"'\uD800'", Err("invalid unicode code point"));
    }

    #[test]
    fn escapes_of_bytes() {
        assert_eq!(unescape(r"'\xff\377é'", true).unwrap().as_ref(), b"\xff\xff\xc3\xa9");
        assert_eq!(unescape(r"'\u0041'", true), Err(UNABLE));
    }
}
