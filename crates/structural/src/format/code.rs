//! Formats of codes and numbers that are written as text.
//!
//! Upstream: kube-openapi/pkg/internal/third_party/govalidator, kube-openapi/pkg/validation/strfmt (v1.36.4).

/// A UUID with or without dashes; `version` and `is_variant` restrict two of its digits.
pub(super) fn is_uuid(text: &str, version: Option<u8>, is_variant: bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    let mut previous = None;
    for byte in text.bytes() {
        match byte {
            b'-' if matches!(digits.len(), 8 | 12 | 16 | 20) && previous != Some(b'-') => {}
            byte if byte.is_ascii_hexdigit() && digits.len() < 32 => digits.push(byte.to_ascii_lowercase()),
            _ => return false,
        }
        previous = Some(byte);
    }
    digits.len() == 32
        && version.is_none_or(|version| digits[12] == version)
        && (!is_variant || matches!(digits[16], b'8' | b'9' | b'a' | b'b'))
}

/// The white space of Go's `\s`, and dashes.
fn without_spaces(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0xc | b'-')).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let digits = without_spaces(text);
    let [first @ .., last] = digits.as_slice() else { return false };
    if first.len() != 9 || !first.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let check = match last {
        b'X' => 10,
        last if last.is_ascii_digit() => u32::from(last - b'0'),
        _ => return false,
    };
    let sum: u32 = (1..).zip(first).map(|(factor, digit)| factor * u32::from(digit - b'0')).sum();
    (sum + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let digits = without_spaces(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let mut numbers = digits.iter().map(|digit| u32::from(digit - b'0'));
    let sum: u32 =
        numbers.clone().take(12).enumerate().map(|(at, it)| if at % 2 == 0 { it } else { 3 * it }).sum();
    numbers.next_back() == Some((10 - sum % 10) % 10)
}

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let begins = |prefix: &str| digits.starts_with(prefix.as_bytes());
    let at = |index: usize| digits.get(index).copied().unwrap_or_default();
    let is_kind = match digits.len() {
        13 => begins("4"),
        14 => begins("3") && ((at(1) == b'0' && at(2) <= b'5') || matches!(at(1), b'6' | b'8')),
        15 => begins("34") || begins("37") || begins("2131") || begins("1800"),
        16 => {
            let is_mastercard = begins("5") && (b'1'..=b'5').contains(&at(1));
            begins("4") || is_mastercard || begins("6011") || begins("65") || begins("35")
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .map(|digit| u32::from(digit - b'0'))
        .enumerate()
        .map(|(index, digit)| if index % 2 == 0 { digit } else { 2 * digit / 10 + 2 * digit % 10 })
        .sum();
    is_kind && sum.is_multiple_of(10)
}

/// Eleven characters, so that both separators are there.
pub(super) fn is_ssn(text: &str) -> bool {
    let is_separator = |byte: u8| matches!(byte, b'-' | b' ');
    text.len() == 11
        && text.bytes().enumerate().all(|(at, byte)| match at {
            3 | 6 => is_separator(byte),
            _ => byte.is_ascii_digit(),
        })
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_rgb_color(text: &str) -> bool {
    let Some(inside) = text.strip_prefix("rgb(").and_then(|it| it.strip_suffix(')')) else { return false };
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}');
    let is_part = |part: &str| {
        let digits = part.trim_matches(is_space);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let has_no_zero = digits == "0" || !digits.starts_with('0');
        is_number && has_no_zero && digits.len() <= 3 && digits.parse::<u16>().is_ok_and(|it| it <= 255)
    };
    inside.split(',').count() == 3 && inside.split(',').all(is_part)
}

/// Base64 with padding, not empty.
pub(super) fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    !data.is_empty()
        && padding <= 2
        && text.len().is_multiple_of(4)
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}

pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}
