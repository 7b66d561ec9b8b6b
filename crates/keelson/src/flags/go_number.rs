//! Numbers as Go's `strconv` parses them, with its errors.

use keelson_object::scalar::quote;

/// `true`, `t`, `1` and so on.
pub(crate) fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(failure("ParseBool", text, "invalid syntax")),
    }
}

/// A signed number of `bits` bits; `0x`, `0o`, `0b` and underscores between digits are allowed.
pub(super) fn parse_int(text: &str, bits: u32) -> Result<i64, String> {
    let fail = |what| failure("ParseInt", text, what);
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = magnitude(digits).map_err(fail)?;
    let limit = 1u64 << (bits - 1);
    match negative {
        false if magnitude < limit => Ok(i64::try_from(magnitude).expect("it is below 2^63")),
        true if magnitude <= limit => Ok(0i64.wrapping_sub_unsigned(magnitude)),
        _ => Err(fail("value out of range")),
    }
}

/// An unsigned number of `bits` bits, written as for [`parse_int`].
pub(super) fn parse_uint(text: &str, bits: u32) -> Result<u64, String> {
    let fail = |what| failure("ParseUint", text, what);
    let magnitude = magnitude(text).map_err(fail)?;
    if bits < 64 && magnitude >> bits != 0 {
        return Err(fail("value out of range"));
    }
    Ok(magnitude)
}

/// An unsigned decimal number of `bits` bits.
pub(crate) fn parse_decimal(text: &str, bits: u32) -> Result<i64, String> {
    let fail = |what| failure("ParseUint", text, what);
    let number = accumulate(text, 10).map_err(fail)?;
    i64::try_from(number)
        .ok()
        .filter(|it| bits >= 64 || it >> bits == 0)
        .ok_or_else(|| fail("value out of range"))
}

/// A number with a fraction.
pub(super) fn parse_float(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| failure("ParseFloat", text, "invalid syntax"))
}

fn magnitude(text: &str) -> Result<u64, &'static str> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    // An underscore needs a digit, or the prefix, before it and a digit after it.
    let begins_badly = radix == 10 && digits.starts_with('_');
    if begins_badly || digits.ends_with('_') || digits.contains("__") {
        return Err("invalid syntax");
    }
    accumulate(&digits.replace('_', ""), radix)
}

fn accumulate(digits: &str, radix: u32) -> Result<u64, &'static str> {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err("invalid syntax");
    }
    u64::from_str_radix(digits, radix).map_err(|_| "value out of range")
}

fn failure(function: &str, text: &str, what: &str) -> String {
    format!("strconv.{function}: parsing {}: {what}", quote(text))
}

#[cfg(test)]
mod tests {
    use super::{parse_bool, parse_decimal, parse_float, parse_int, parse_uint};

    #[track_caller]
    fn check(text: &str, expected: Result<i64, &str>) {
        let expected = expected.map_err(|what| format!("strconv.ParseInt: parsing {text:?}: {what}"));
        assert_eq!(parse_int(text, 64), expected);
    }

    #[test]
    fn prefixes_and_underscores_are_read_as_go_reads_them() {
        check("0", Ok(0));
        check("-12", Ok(-12));
        check("+12", Ok(12));
        check("0x10", Ok(16));
        check("0b11", Ok(3));
        check("0o17", Ok(15));
        check("017", Ok(15));
        check("1_000", Ok(1000));
        check("0x_10", Ok(16));
        for bad in ["", "x", "-", "1_", "_1", "1__0", "08", "0x", "1.5", " 1", "++1"] {
            check(bad, Err("invalid syntax"));
        }
    }

    #[test]
    fn limits_are_those_of_the_type() {
        check("9223372036854775807", Ok(i64::MAX));
        check("-9223372036854775808", Ok(i64::MIN));
        check("9223372036854775808", Err("value out of range"));
        check("99999999999999999999", Err("value out of range"));
        assert!(parse_int("2147483648", 32).is_err());
        assert_eq!(parse_int("-2147483648", 32), Ok(-2_147_483_648));
        assert!(parse_uint("-1", 64).is_err());
        assert_eq!(parse_uint("18446744073709551615", 64), Ok(u64::MAX));
        assert!(parse_decimal("2147483648", 31).is_err());
        assert!(parse_decimal("0x1", 31).is_err());
    }

    #[test]
    fn booleans_have_a_few_spellings() {
        assert_eq!(parse_bool("T"), Ok(true));
        assert_eq!(parse_bool("FALSE"), Ok(false));
        assert!(parse_bool("yes").is_err());
        assert!(parse_bool("").is_err());
    }

    #[test]
    fn fractions_are_numbers() {
        assert_eq!(parse_float("0.01"), Ok(0.01));
        assert!(parse_float("1,5").is_err());
    }
}
