//! Quoting as Go prints it, because messages with quoted text reach clients.

use std::fmt::Write as _;

/// The text as `strconv.Quote` (`%q`) writes it: non-ASCII text stays, unprintable characters are escaped.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{07}' => out.push_str("\\a"),
            '\u{08}' => out.push_str("\\b"),
            '\u{0c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{0b}' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            _ => push_wide(&mut out, c),
        }
    }
    out.push('"');
    out
}

/// The text as Go's `time` package quotes it: every byte outside of ASCII is written as `\xNN`.
pub(super) fn quote_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte.into());
            }
            b' '..=0x7f => out.push(byte.into()),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

fn push_wide(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = match code {
        _ if can_be_printed(c) => out.write_char(c),
        0..=0x7f => write!(out, "\\x{code:02x}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Rust's escaping leaves printable characters as they are; a letter before an accent makes that true of
/// accents as well. Go also escapes spaces other than the plain one, and the soft hyphen.
fn can_be_printed(c: char) -> bool {
    let mut buffer = [b'a'; 5];
    let length = c.encode_utf8(&mut buffer[1..]).len();
    let text = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
    !c.is_whitespace() && c != '\u{ad}' && text.escape_debug().nth(1) == Some(c)
}

#[cfg(test)]
mod tests {
    use super::{quote, quote_ascii};

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        let check = |text: &str, expected: &str| assert_eq!(quote(text), expected);
        check("", r#""""#);
        check("plain", r#""plain""#);
        check("it's", r#""it's""#);
        check("a\"b\\c", r#""a\"b\\c""#);
        check("\t\n\u{0}\u{7f}\u{7}", r#""\t\n\x00\x7f\a""#);
        check("grün ☃ 世界", r#""grün ☃ 世界""#);
        check("e\u{301}", "\"e\u{301}\"");
        check("\u{a0}\u{200b}\u{ad}\u{e000}", r#""\u00a0\u200b\u00ad\ue000""#);
        check("\u{10ffff}", r#""\U0010ffff""#);
    }

    #[test]
    fn times_are_quoted_byte_by_byte() {
        assert_eq!(quote_ascii("a\"ü\n"), r#""a\"\xc3\xbc\x0a""#);
    }
}
