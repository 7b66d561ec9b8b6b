//! Formats of strings: Go's `strfmt` as Kubernetes uses it (durations, dates, base64, UUIDs).

use keelson_object::scalar::{Duration, quote};

use crate::value::Timestamp;

/// Units of the words that `strfmt.ParseDuration` takes: names and nanoseconds. The last name of a unit is a prefix.
const UNITS: &[(&[&str], i64)] = &[
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

/// A duration of Go, or numbers with words: `3 days`.
///
/// Upstream: kube-openapi/pkg/validation/strfmt/duration.go, ParseDuration.
pub fn parse_scala_duration(text: &str) -> Result<Duration, String> {
    if let Ok(duration) = Duration::parse(text) {
        return Ok(duration);
    }
    let mut sum: i64 = 0;
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let word_start = after.trim_start();
        let word_end =
            word_start.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(word_start.len());
        let unit = word_start[..word_end].to_lowercase();
        rest = &word_start[word_end..];
        if unit.is_empty() {
            continue;
        }
        let factor = crate::gotext::atoi(digits)?;
        for (names, nanos) in UNITS {
            for (position, name) in names.iter().enumerate() {
                if unit == *name || position + 1 == names.len() && unit.starts_with(name) {
                    found = true;
                    sum = sum.wrapping_add(factor.wrapping_mul(*nanos));
                }
            }
        }
    }
    if found { Ok(Duration::from_nanos(sum)) } else { Err(format!("unable to parse {text} as duration")) }
}

/// A date and time: RFC 3339, or without an offset. Nothing is the beginning of 1970.
///
/// Upstream: kube-openapi/pkg/validation/strfmt/time.go, ParseDateTime.
pub fn parse_date_time(text: &str) -> Option<Timestamp> {
    if text.is_empty() {
        return Some(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")))
}

/// The error of Go's `time.Parse` in its general form.
pub fn time_error(layout: &str, text: &str) -> String {
    let quoted = quote(text);
    format!("parsing time {quoted} as {}: cannot parse {quoted} as \"2006\"", quote(layout))
}

/// `base64.URLEncoding.Decode` with its error.
pub fn decode_base64_url(text: &str) -> Result<Vec<u8>, String> {
    decode_base64(text.as_bytes(), b'-', b'_').map_err(|at| format!("illegal base64 data at input byte {at}"))
}

/// Decodes padded base64 whose last two characters are `plus` and `slash`; line breaks are skipped. The error is the
/// position of the first byte that does not belong there.
fn decode_base64(text: &[u8], plus: u8, slash: u8) -> Result<Vec<u8>, usize> {
    let digit = |byte: u8| -> Option<u32> {
        Some(match byte {
            b'A'..=b'Z' => u32::from(byte - b'A'),
            b'a'..=b'z' => u32::from(byte - b'a') + 26,
            b'0'..=b'9' => u32::from(byte - b'0') + 52,
            _ if byte == plus => 62,
            _ if byte == slash => 63,
            _ => return None,
        })
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    let skip = |at: &mut usize| {
        while matches!(text.get(*at), Some(b'\r' | b'\n')) {
            *at += 1;
        }
    };
    loop {
        let mut bits = 0;
        let mut count = 0;
        while count < 4 {
            skip(&mut at);
            let Some(&byte) = text.get(at) else {
                return if count == 0 { Ok(out) } else { Err(at - count) };
            };
            if let Some(value) = digit(byte) {
                bits = bits << 6 | value;
                count += 1;
                at += 1;
                continue;
            }
            if byte != b'=' || count < 2 {
                return Err(at);
            }
            return finish_padding(text, at, (bits, count), out);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
}

/// Reads `=` or `==` at `at` and checks that nothing follows.
fn finish_padding(
    text: &[u8],
    at: usize,
    (bits, count): (u32, usize),
    mut out: Vec<u8>,
) -> Result<Vec<u8>, usize> {
    let mut rest = at + 1;
    let next = |rest: &mut usize| {
        while matches!(text.get(*rest), Some(b'\r' | b'\n')) {
            *rest += 1;
        }
        text.get(*rest).copied()
    };
    if count == 2 {
        match next(&mut rest) {
            Some(b'=') => rest += 1,
            Some(_) => return Err(rest),
            None => return Err(text.len()),
        }
    }
    if next(&mut rest).is_some() {
        return Err(rest);
    }
    if count == 2 {
        out.push((bits >> 4) as u8);
    } else {
        out.extend_from_slice(&[(bits >> 10) as u8, (bits >> 2) as u8]);
    }
    Ok(out)
}

/// Whether `text` is base64 as govalidator sees it: padded, without line breaks.
pub fn is_base64(text: &str) -> bool {
    let bytes = text.as_bytes();
    let padding = bytes.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &bytes[..bytes.len() - padding];
    padding <= 2
        && !bytes.is_empty()
        && bytes.len().is_multiple_of(4)
        && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Whether `text` is an UUID, with or without hyphens.
pub fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (position, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if position > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        if !part.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Whether `text` is a date.
pub fn is_date(text: &str) -> bool {
    Timestamp::parse_date(text).is_some()
}

/// Whether `text` is a date and time.
///
/// Upstream: kube-openapi/pkg/validation/strfmt/time.go, IsDateTime.
pub fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    lower.len() >= 4 && is_date(date) && is_time_of_day(time)
}

fn is_time_of_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((clock, rest)) = bytes.split_at_checked(8) else { return false };
    let is_clock = clock
        .iter()
        .enumerate()
        .all(|(at, byte)| if at == 2 || at == 5 { *byte == b':' } else { byte.is_ascii_digit() });
    if !is_clock || clock[..2] > b"23"[..] || clock[3..5] > b"59"[..] || clock[6..] > b"59"[..] {
        return false;
    }
    let Ok(rest) = std::str::from_utf8(rest) else { return false };
    // The pattern takes any character for the point.
    let mut characters = rest.chars();
    let decimals = if characters.next().is_some() { characters.as_str() } else { rest };
    let digits = decimals.bytes().take_while(u8::is_ascii_digit).count();
    is_zone(rest) || digits > 0 && (1..=digits).any(|end| is_zone(&decimals[end..]))
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos_or_words() {
        for (text, nanos) in [
            ("1h", 3_600_000_000_000),
            ("3 days", 259_200_000_000_000),
            ("1 hour 5 minutes", 3_900_000_000_000),
        ] {
            assert_eq!(parse_scala_duration(text).map(Duration::nanos), Ok(nanos), "{text}");
        }
        assert_eq!(parse_scala_duration("soon"), Err("unable to parse soon as duration".to_owned()));
    }

    #[test]
    fn base64_is_decoded_with_the_url_alphabet() {
        assert_eq!(decode_base64_url("YWI="), Ok(b"ab".to_vec()));
        assert_eq!(decode_base64_url("_-8="), Ok(vec![0xff, 0xef]));
        assert_eq!(decode_base64_url("YW\nI="), Ok(b"ab".to_vec()));
        assert_eq!(decode_base64_url("a+=="), Err("illegal base64 data at input byte 1".to_owned()));
        assert_eq!(decode_base64_url("YWI"), Err("illegal base64 data at input byte 0".to_owned()));
    }

    #[test]
    fn formats_are_recognized() {
        assert!(
            is_uuid("00000000-0000-0000-0000-00000000ABCD") && is_uuid("0000000000000000000000000000abcd")
        );
        assert!(!is_uuid("00000000-0000-0000-0000-00000000000"));
        assert!(is_base64("YWI=") && !is_base64("YWI") && !is_base64(""));
        assert!(is_date("2021-01-01") && !is_date("2021-02-30"));
        assert!(is_date_time("2021-01-01T00:00:00Z") && is_date_time("2021-01-01T00:00:00.123+01:00"));
        assert!(!is_date_time("2021-01-01T24:00:00Z") && !is_date_time("2021-01-01"));
    }
}
