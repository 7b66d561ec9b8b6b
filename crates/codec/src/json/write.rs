//! JSON writer: trees to compact JSON, byte for byte as Go's `encoding/json` writes it.

use bytes::{BufMut, Bytes};
use keelson_object::{Map, Value};

/// The value alone, without a line end.
pub fn to_bytes(value: &Value) -> Bytes {
    let room = if matches!(value, Value::List(_) | Value::Map(_)) { 2048 } else { 64 };
    let mut out = Vec::with_capacity(room);
    write(value, &mut out);
    out.into()
}

/// Appends a value.
pub fn write(value: &Value, out: &mut impl BufMut) {
    let mut open = Vec::new();
    begin(value, &mut open, out);
    finish(&mut open, out);
}

/// Appends a map.
pub fn write_map(map: &Map, out: &mut impl BufMut) {
    out.put_u8(b'{');
    let mut open = vec![Open { members: Members::Map(map), next: 0 }];
    finish(&mut open, out);
}

/// A list or map of which `next` members have been written. A stack of these replaces recursion: nesting is
/// limited by the reader, not by a thread's stack.
struct Open<'v> {
    members: Members<'v>,
    next: usize,
}

enum Members<'v> {
    List(&'v [Value]),
    Map(&'v Map),
}

/// Writes a scalar, or opens a container.
fn begin<'v>(value: &'v Value, open: &mut Vec<Open<'v>>, out: &mut impl BufMut) {
    match value {
        Value::Null => out.put_slice(b"null"),
        Value::Bool(true) => out.put_slice(b"true"),
        Value::Bool(false) => out.put_slice(b"false"),
        Value::Int(number) => out.put_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Float(number) => write_float(*number, out),
        Value::String(text) => write_text(text, out),
        Value::List(items) => {
            out.put_u8(b'[');
            open.push(Open { members: Members::List(items), next: 0 });
        }
        Value::Map(map) => {
            out.put_u8(b'{');
            open.push(Open { members: Members::Map(map), next: 0 });
        }
    }
}

/// Writes everything that is open and closes it.
fn finish(open: &mut Vec<Open<'_>>, out: &mut impl BufMut) {
    while let Some(Open { members, next }) = open.last_mut() {
        let position = *next;
        *next += 1;
        let value = match members {
            Members::List(items) => items.get(position).map(|value| (None, value)),
            Members::Map(map) => map.nth(position).map(|(key, value)| (Some(key), value)),
        };
        let Some((key, value)) = value else {
            out.put_u8(if let Members::List(_) = members { b']' } else { b'}' });
            open.pop();
            continue;
        };
        if position > 0 {
            out.put_u8(b',');
        }
        if let Some(key) = key {
            write_text(key, out);
            out.put_u8(b':');
        }
        begin(value, open, out);
    }
}

/// Appends text in quotes. `<`, `>`, `&` and the two line separators of JavaScript are escaped, as Go does for the
/// sake of HTML.
pub fn write_text(text: &str, out: &mut impl BufMut) {
    out.put_u8(b'"');
    if is_plain(text.as_bytes()) {
        out.put_slice(text.as_bytes());
    } else {
        write_escaped(text.as_bytes(), out);
    }
    out.put_u8(b'"');
}

/// Whether nothing in `bytes` needs escaping. Words overlap at the end, so that no byte is checked alone; if
/// there is no whole word, all bytes are.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return !bytes.iter().any(|byte| STOPS[*byte as usize]);
    };
    let (words, _) = bytes.as_chunks::<8>();
    let stops = words.iter().fold(0, |stops, word| stops | word_stops(u64::from_le_bytes(*word)));
    (stops | word_stops(u64::from_le_bytes(*last))) == 0
}

/// Not zero if a byte of `word` is one of [`STOPS`]: see [`super::scan::text_stop`] for the trick.
#[inline]
fn word_stops(word: u64) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let equal = |byte: u8| {
        let same = word ^ (LOW * u64::from(byte));
        same.wrapping_sub(LOW) & !same
    };
    let control = word.wrapping_sub(LOW * 0x20) & !word;
    // `<` and `>` differ in one bit.
    let angle = (word | (LOW * 2)) ^ (LOW * u64::from(b'>'));
    let angle = angle.wrapping_sub(LOW) & !angle;
    (equal(b'"') | equal(b'\\') | equal(b'&') | equal(0xe2) | angle | control) & (LOW * 0x80)
}

fn write_escaped(bytes: &[u8], out: &mut impl BufMut) {
    let mut done = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if !STOPS[byte as usize] {
            at += 1;
            continue;
        }
        let length = if byte == 0xe2 { 3 } else { 1 };
        if byte == 0xe2 && !matches!(&bytes[at + 1..], [0x80, 0xa8 | 0xa9, ..]) {
            at += 1;
            continue;
        }
        out.put_slice(&bytes[done..at]);
        write_escape(&bytes[at..at + length], out);
        at += length;
        done = at;
    }
    out.put_slice(&bytes[done..]);
}

/// The bytes that are, or begin, something that needs escaping.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        stops[byte] = true;
        byte += 1;
    }
    stops[b'"' as usize] = true;
    stops[b'\\' as usize] = true;
    stops[b'<' as usize] = true;
    stops[b'>' as usize] = true;
    stops[b'&' as usize] = true;
    stops[0xe2] = true;
    stops
};

fn write_escape(character: &[u8], out: &mut impl BufMut) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match character {
        b"\"" => out.put_slice(b"\\\""),
        b"\\" => out.put_slice(b"\\\\"),
        b"\n" => out.put_slice(b"\\n"),
        b"\r" => out.put_slice(b"\\r"),
        b"\t" => out.put_slice(b"\\t"),
        b"\x08" => out.put_slice(b"\\b"),
        b"\x0c" => out.put_slice(b"\\f"),
        [0xe2, 0x80, last] => out.put_slice(if *last == 0xa8 { b"\\u2028" } else { b"\\u2029" }),
        _ => {
            let byte = character[0];
            out.put_slice(b"\\u00");
            out.put_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// Appends a float: shortest digits, with an exponent below 1e-6 and from 1e21 on. A number that JSON cannot
/// express becomes `null`.
pub fn write_float(number: f64, out: &mut impl BufMut) {
    debug_assert!(number.is_finite(), "no reader makes a float that JSON cannot say");
    if !number.is_finite() {
        return out.put_slice(b"null");
    }
    if number.is_sign_negative() {
        out.put_u8(b'-');
    }
    let size = number.abs();
    let (digits, point) = shortest(size);
    if size == 0.0 {
        out.put_u8(b'0');
    } else if !(1e-6..1e21).contains(&size) {
        out.put_slice(&digits.as_bytes()[..1]);
        if digits.len() > 1 {
            out.put_u8(b'.');
            out.put_slice(&digits.as_bytes()[1..]);
        }
        out.put_slice(format!("e{:+}", point - 1).as_bytes());
    } else if point <= 0 {
        out.put_slice(b"0.");
        (point..0).for_each(|_| out.put_u8(b'0'));
        out.put_slice(digits.as_bytes());
    } else {
        let whole = point.unsigned_abs() as usize;
        let (before, behind) = digits.as_bytes().split_at(whole.min(digits.len()));
        out.put_slice(before);
        (digits.len()..whole).for_each(|_| out.put_u8(b'0'));
        if !behind.is_empty() {
            out.put_u8(b'.');
            out.put_slice(behind);
        }
    }
}

/// The digits of a number, and the position of the point. Of two shortest forms that are equally near, Go
/// takes the even one, as this does; the standard library takes the greater one.
fn shortest(number: f64) -> (String, i32) {
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(number);
    let (text, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = i32::try_from(all.len() - digits.len()).unwrap_or_default();
    let point = i32::try_from(whole.len()).unwrap_or_default() + exponent.parse().unwrap_or(0) - leading;
    (digits.trim_end_matches('0').to_owned(), point)
}

#[cfg(test)]
mod tests {
    use keelson_object::{Map, Value};

    use super::{to_bytes, write_float, write_map, write_text};

    #[test]
    fn text_is_escaped_as_go_escapes_it() {
        let check = |text: &str, expected: &str| {
            let mut out = Vec::new();
            write_text(text, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check("", r#""""#);
        check("plain text", r#""plain text""#);
        check("a\"b\\c/d", r#""a\"b\\c/d""#);
        check("<a href='x'>&amp;", r#""\u003ca href='x'\u003e\u0026amp;""#);
        check("\n\r\t\u{8}\u{c}", r#""\n\r\t\b\f""#);
        check("\0\u{1}\u{1f}\u{7f}", "\"\\u0000\\u0001\\u001f\u{7f}\"");
        for (place, stop) in
            (0..20).flat_map(|place| "\"\\<>&\n\u{1f}".chars().map(move |stop| (place, stop)))
        {
            let text = format!("{}{stop}{}", "~".repeat(place), "=".repeat(19 - place));
            let mut out = Vec::new();
            write_text(&text, &mut out);
            let escaped = match stop {
                '"' => "\\\"",
                '\\' => "\\\\",
                '<' => "\\u003c",
                '>' => "\\u003e",
                '&' => "\\u0026",
                '\n' => "\\n",
                _ => "\\u001f",
            };
            assert_eq!(String::from_utf8(out).unwrap(), format!("\"{}\"", text.replace(stop, escaped)));
        }
        check("é €\u{2028}\u{2029}\u{2027}\u{202a}…😀", "\"é €\\u2028\\u2029\u{2027}\u{202a}…😀\"");
    }

    #[test]
    fn floats_are_written_as_go_writes_them() {
        let check = |number: f64, expected: &str| {
            let mut out = Vec::new();
            write_float(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0.0, "0");
        check(-0.0, "-0");
        check(1.0, "1");
        check(1.5, "1.5");
        check(-2.75, "-2.75");
        check(0.1, "0.1");
        check(1e20, "100000000000000000000");
        check(1e21, "1e+21");
        check(-1.5e300, "-1.5e+300");
        check(1e-6, "0.000001");
        check(1e-7, "1e-7");
        check(1.234e-10, "1.234e-10");
        check(5e-324, "5e-324");
        check(f64::MAX, "1.7976931348623157e+308");
        check(834.2568969726562, "834.2568969726562");
        check(-0.0018053054809570313, "-0.0018053054809570312");
        check(100.0, "100");
        check(9007199254740993.0, "9007199254740992");
        check(18446744073709551615.0, "18446744073709552000");
    }

    #[test]
    fn containers_are_compact_and_keep_their_order() {
        let mut inner = Map::new();
        inner.set("z", 1);
        inner.set("a", Value::List(vec![Value::Null, true.into(), Value::List(vec![]), Map::new().into()]));
        let mut outer = Map::new();
        outer.set("m", inner);
        outer.set("f", Value::Float(0.5));
        let expected = r#"{"m":{"z":1,"a":[null,true,[],{}]},"f":0.5}"#;
        let mut out = Vec::new();
        write_map(&outer, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(to_bytes(&Value::Map(outer)), expected);
    }
}
