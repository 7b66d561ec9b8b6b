//! Quoted texts: as Go's `strconv.Unquote` reads them, with single quotes too.
//!
//! Upstream: client-go/util/jsonpath/parser.go, UnquoteExtend (v1.36.4).

/// The text between quotes. `None` if it is malformed.
pub(super) fn unquote(text: &str) -> Option<String> {
    let mark = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = text.strip_prefix(mark)?.strip_suffix(mark)?;
    let mut out = Vec::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == mark => return None,
            '\\' => escape(&mut chars, mark, &mut out)?,
            c => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn escape(chars: &mut std::str::Chars<'_>, mark: char, out: &mut Vec<u8>) -> Option<()> {
    let c = chars.next()?;
    let plain = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '\'' | '"' if c == mark => c as u8,
        'x' => digits(chars, 2, 16)? as u8,
        '0'..='7' => {
            let value = c.to_digit(8)? * 64 + digits(chars, 2, 8)?;
            u8::try_from(value).ok()?
        }
        'u' | 'U' => {
            let value = char::from_u32(digits(chars, if c == 'u' { 4 } else { 8 }, 16)?)?;
            out.extend(value.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(());
        }
        _ => return None,
    };
    out.push(plain);
    Some(())
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Option<u32> {
    let mut value: u32 = 0;
    for _ in 0..count {
        value = value.checked_mul(radix)?.checked_add(chars.next()?.to_digit(radix)?)?;
    }
    Some(value)
}
