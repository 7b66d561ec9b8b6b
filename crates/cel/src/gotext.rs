//! Go's texts of numbers: what `strconv` and `fmt` read and print.

/// The digits and the exponent of a finite number: `d.ddd × 10^exponent`, with as few digits as identify it.
fn shortest(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits = mantissa.replace('.', "");
    if let Some(last) = even_digit(number, digits.len()) {
        digits.pop();
        digits.push(last);
    }
    (digits, exponent.parse().unwrap_or(0))
}

/// The last of `count` digits, if the number lies exactly between two shortest forms: Go takes the even one.
fn even_digit(number: f64, count: usize) -> Option<char> {
    // Fewer digits than these are exact, or further away from the middle.
    if count < 15 {
        return None;
    }
    let exact = format!("{:.60e}", number.abs()).replace('.', "");
    let digits = exact.split('e').next()?;
    let (kept, rest) = digits.split_at_checked(count)?;
    let is_middle = rest.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    match kept.chars().last().filter(|_| is_middle)? {
        last @ ('0' | '2' | '4' | '6' | '8') => Some(last),
        '9' => None,
        odd => char::from_digit(odd.to_digit(10)? + 1, 10),
    }
}

fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "+Inf" } else { "-Inf" })
    } else {
        None
    }
}

/// `%g` and `%v` of a float.
pub fn float_g(number: f64) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let (digits, exponent) = shortest(number);
    // Go decides with a precision of six where the shortest form is asked for.
    if !(-4..6).contains(&exponent) {
        return float_e(number, &digits, exponent);
    }
    float_f(number)
}

fn float_e(number: f64, digits: &str, exponent: i32) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let point = if digits.len() > 1 { "." } else { "" };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}{point}{}e{exponent_sign}{:02}", &digits[..1], &digits[1..], exponent.abs())
}

/// `strconv.FormatFloat(number, 'f', -1, 64)`
pub fn float_f(number: f64) -> String {
    if let Some(text) = special(number) {
        return text.to_owned();
    }
    let mut text = format!("{number}");
    let count = shortest(number).0.len();
    if let (Some(last), Some(at)) =
        (even_digit(number, count), text.rfind(|digit: char| matches!(digit, '1'..='9')))
    {
        text.replace_range(at..=at, last.encode_utf8(&mut [0; 4]));
    }
    text
}

/// `strconv.ParseInt(text, 10, 64)`
pub fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// `strconv.ParseUint(text, 10, 64)`, which takes no sign.
pub fn parse_uint(text: &str) -> Option<u64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// `strconv.ParseBool(text)`
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// `strconv.ParseFloat(text, 64)`: decimal and hexadecimal numbers, infinities and NaN; what is too large is refused.
pub fn parse_float(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = |number: f64| if negative { -number } else { number };
    match rest.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(signed(f64::INFINITY)),
        "nan" if rest.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    if rest.len() > 2 && rest.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x")) {
        // The prefix counts as a digit before an underscore.
        let digits = rest[2..].strip_prefix('_').unwrap_or(&rest[2..]);
        return parse_hex_float(&remove_underscores(digits)?).map(signed);
    }
    let plain = remove_underscores(rest)?;
    let is_number =
        plain.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_number || !plain.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let number: f64 = plain.parse().ok()?;
    number.is_finite().then(|| signed(number))
}

/// The text without underscores, which may stand only between digits.
fn remove_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_hexdigit);
    for (at, _) in text.match_indices('_') {
        if !is_digit(at.checked_sub(1)) || !is_digit(Some(at + 1)) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

/// The mantissa and the exponent, which must be there, of a number after `0x`.
fn parse_hex_float(text: &str) -> Option<f64> {
    let split = text.find(['p', 'P'])?;
    let (mantissa, exponent) = (&text[..split], &text[split + 1..]);
    let exponent: i64 = exponent.parse().ok()?;
    let mut bits: u128 = 0;
    let mut scale: i64 = 0;
    let mut seen_point = false;
    let mut digits = 0;
    for byte in mantissa.bytes() {
        match byte {
            b'.' if !seen_point => seen_point = true,
            _ => {
                let digit = u128::from((byte as char).to_digit(16)?);
                digits += 1;
                if bits >> 120 == 0 {
                    bits = bits << 4 | digit;
                    scale -= if seen_point { 4 } else { 0 };
                } else {
                    bits |= u128::from(digit != 0);
                    scale += if seen_point { 0 } else { 4 };
                }
            }
        }
    }
    if digits == 0 {
        return None;
    }
    let power = scale.checked_add(exponent)?.clamp(-3000, 3000) as i32;
    let number = scale_by_power_of_two(bits, power);
    number.is_finite().then_some(number)
}

/// `bits × 2^power`, rounded once.
fn scale_by_power_of_two(bits: u128, power: i32) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let top = 127 - bits.leading_zeros() as i32 + power;
    if top > 1023 {
        return f64::INFINITY;
    }
    // How many bits below the last kept bit must go: 53 bits remain, fewer for subnormal numbers.
    let last = (top - 52).max(-1074);
    let drop = last - power;
    let kept = if drop <= 0 {
        bits << (-drop).min(127)
    } else if drop > 127 {
        0
    } else {
        let (whole, rest) = (bits >> drop, bits & ((1 << drop) - 1));
        let half = 1u128 << (drop - 1);
        whole + u128::from(rest > half || rest == half && whole & 1 == 1)
    };
    // Two steps keep the factors in range; the product is exact because it was rounded above.
    let (first, second) = (last / 2, last - last / 2);
    kept as f64 * f64::powi(2.0, first) * f64::powi(2.0, second)
}

/// `strconv.Atoi(text)` with its error text.
pub fn atoi(text: &str) -> Result<i64, String> {
    let quoted = keelson_object::scalar::quote(text);
    text.parse::<i64>().map_err(|error| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let reason = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {quoted}: {reason}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_between_two_shortest_forms_gets_the_even_one() {
        assert_eq!(super::float_g(7_379_435_573_041_125.0 / 4.0), "1.8448588932602812e+15");
        assert_eq!(super::float_f(7_379_435_573_041_125.0 / 4.0), "1844858893260281.2");
        assert_eq!(super::float_f(7_379_435_573_041_127.0 / 4.0), "1844858893260281.8");
        assert_eq!(super::float_f(0.1), "0.1");
    }

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (100000.0, "100000"),
            (1e6, "1e+06"),
            (123456789.0, "1.23456789e+08"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(float_g(number), expected);
        }
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("1", Some(1.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e3", Some(1000.0)),
            ("0x1p-2", Some(0.25)),
            ("0X1.8P1", Some(3.0)),
            ("-0x1p4", Some(-16.0)),
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("1e400", None),
            ("", None),
            ("+", None),
            ("e5", None),
            ("1__0", None),
            ("1_0.5", Some(10.5)),
            ("0x_1p1", Some(2.0)),
            ("0x1", None),
            ("1 ", None),
            ("日本", None),
        ] {
            assert_eq!(parse_float(text), expected, "{text}");
        }
    }
}
