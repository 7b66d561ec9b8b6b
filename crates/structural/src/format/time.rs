//! Formats `date`, `date-time` and `duration`.
//!
//! Upstream: kube-openapi/pkg/validation/strfmt/{date,time,duration}.go (v1.36.4).

use keelson_object::scalar::Duration;

/// `2006-01-02`
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<u32> {
        let part = bytes.get(range)?;
        let is_number = part.iter().all(u8::is_ascii_digit);
        is_number.then(|| part.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-' && (1..=days).contains(&day)
}

/// A date, a `t` and a time with a zone. What stands after a second `t` is not looked at.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    text.len() >= 4 && is_date(date) && is_time(time)
}

/// `15:04:05`, perhaps a fraction after any character, and `z` or `+01:00`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(clock), Some(rest)) = (bytes.get(..8), text.get(8..)) else { return false };
    let is_pair = |at: usize, limit: &[u8]| {
        let pair = &clock[at..at + 2];
        pair.iter().all(u8::is_ascii_digit) && pair <= limit
    };
    let is_clock = is_pair(0, b"23") && is_pair(3, b"59") && is_pair(6, b"59");
    is_clock && clock[2] == b':' && clock[5] == b':' && is_fraction_and_zone(rest)
}

fn is_fraction_and_zone(text: &str) -> bool {
    if is_zone(text) {
        return true;
    }
    let mut chars = text.chars();
    // The dot of the expression stands for any character but a line break.
    let starts = chars.next().is_some_and(|c| c != '\n');
    let rest = chars.as_str();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    starts && end > 0 && is_zone(&rest[end..])
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes[at].is_ascii_digit();
    text == "z"
        || (bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].into_iter().all(is_digit))
}

/// What Go reads as a duration, or numbers with units anywhere in the text: `2 weeks`.
pub(super) fn is_duration(text: &str) -> bool {
    if Duration::parse(text).is_ok() {
        return true;
    }
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start_matches(is_space);
        let end = after.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        rest = after;
        if unit.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        found |= is_unit(&unit.to_lowercase());
    }
    found
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// The last variant of a unit may have any ending: `minutes`.
fn is_unit(unit: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    UNITS.iter().any(|(short, long)| short.contains(&unit) || unit.starts_with(long))
}
