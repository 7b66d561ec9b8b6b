//! Resolution of scalars: the rules of YAML 1.1 as go-yaml v2 implements them.
//!
//! `yes`, `on` and `y` are booleans, `0777` is octal, `1_000` a thousand, `1:30` text, and everything that
//! looks like a timestamp is text, too.

use super::error::Error;
use super::timestamp::is_timestamp;

/// A scalar after resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above the range of [`Scalar::Int`].
    Uint(u64),
    Float(f64),
    /// Text that looks like a timestamp.
    Timestamp,
    Text,
}

impl Scalar {
    /// The tag of the type.
    fn tag(self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::Uint(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Timestamp => "!!timestamp",
            Scalar::Text => "!!str",
        }
    }
}

/// The meaning of plain text without a tag.
///
/// Upstream: go.yaml.in/yaml/v2, resolve.
pub(super) fn resolve(text: &str) -> Scalar {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => word(text),
        Some(b'.') => match word(text) {
            Scalar::Text => float(text),
            special => special,
        },
        Some(b'+' | b'-' | b'0'..=b'9') => match word(text) {
            Scalar::Text if is_timestamp(text) => Scalar::Timestamp,
            Scalar::Text => number(text),
            special => special,
        },
        Some(_) => Scalar::Text,
    }
}

/// The meaning of text with a tag, which is in upstream's short form: `!!int`.
pub(super) fn resolve_tagged(tag: &str, text: &str) -> Result<Scalar, Error> {
    if !matches!(tag, "!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp") {
        return Ok(Scalar::Text);
    }
    let found = resolve(text);
    match (tag, found) {
        ("!!float", Scalar::Int(number)) => Ok(Scalar::Float(number as f64)),
        (_, found) if found.tag() == tag => Ok(found),
        (_, found) => Err(Error::Tag {
            found: found.tag(),
            text: text.chars().take(200).collect(),
            wanted: tag.to_owned(),
        }),
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    let without;
    let plain = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    whole(plain).unwrap_or_else(|| float(plain))
}

/// An integer: decimal, `0x`, `0o`, `0b`, or octal after a mere `0`.
fn whole(plain: &str) -> Option<Scalar> {
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&unsigned[2..], 16),
        [b'0', b'o' | b'O', _, ..] => (&unsigned[2..], 8),
        [b'0', b'b' | b'B', _, ..] => (&unsigned[2..], 2),
        [b'0', _, ..] => (&unsigned[1..], 8),
        _ => (unsigned, 10),
    };
    // Rust would accept a second sign.
    if !digits.bytes().all(|it| it.is_ascii_alphanumeric()) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    if plain.starts_with('-') {
        return 0i64.checked_sub_unsigned(size).map(Scalar::Int);
    }
    match i64::try_from(size) {
        Ok(number) => Some(Scalar::Int(number)),
        // A leading `+` is allowed for signed numbers only.
        Err(_) if plain.starts_with('+') => None,
        Err(_) => Some(Scalar::Uint(size)),
    }
}

fn float(plain: &str) -> Scalar {
    if !is_float(plain) {
        return Scalar::Text;
    }
    match plain.parse::<f64>() {
        Ok(number) if number.is_finite() => Scalar::Float(number),
        _ => Scalar::Text,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(plain: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let whole = digits(rest);
    let mut rest = &rest[whole..];
    if let Some(behind) = rest.strip_prefix('.') {
        let fraction = digits(behind);
        if whole + fraction == 0 {
            return false;
        }
        rest = &behind[fraction..];
    } else if whole == 0 {
        return false;
    }
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else { return rest.is_empty() };
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !exponent.is_empty() && digits(exponent) == exponent.len()
}

#[cfg(test)]
mod tests {
    use super::{Scalar, resolve, resolve_tagged};

    #[test]
    fn plain_scalars_follow_the_old_rules() {
        let check = |text: &str, expected: Scalar| assert_eq!(resolve(text), expected, "{text}");
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, Scalar::Null);
        }
        for text in ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"] {
            check(text, Scalar::Bool(true));
        }
        for text in ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"] {
            check(text, Scalar::Bool(false));
        }
        for text in [
            "yEs", "nULL", "tRUE", "none", "x", "<<", "1:30", "0b2", "0x", "08x", "--1", "+-1", "1e",
            "1e999", ".",
        ] {
            check(text, Scalar::Text);
        }
        check("0", Scalar::Int(0));
        check("-12", Scalar::Int(-12));
        check("+12", Scalar::Int(12));
        check("0777", Scalar::Int(511));
        check("0o17", Scalar::Int(15));
        check("-0x1F", Scalar::Int(-31));
        check("0b101", Scalar::Int(5));
        check("1_000", Scalar::Int(1000));
        check("9223372036854775807", Scalar::Int(i64::MAX));
        check("-9223372036854775808", Scalar::Int(i64::MIN));
        check("9223372036854775808", Scalar::Uint(1 << 63));
        check("18446744073709551616", Scalar::Float(18446744073709551616.0));
        check("08", Scalar::Float(8.0));
        check("1.5", Scalar::Float(1.5));
        check("1.", Scalar::Float(1.0));
        check(".5", Scalar::Float(0.5));
        check("-.5e1", Scalar::Float(-5.0));
        check("1e3", Scalar::Float(1000.0));
        check("+.inf", Scalar::Float(f64::INFINITY));
        check("2026-01-02", Scalar::Timestamp);
    }

    #[test]
    fn a_tag_must_fit() {
        let check = |tag: &str, text: &str, expected: Result<Scalar, &str>| {
            let found = resolve_tagged(tag, text).map_err(|it| it.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{tag} {text}");
        };
        check("!!str", "12", Ok(Scalar::Text));
        check("!custom", "12", Ok(Scalar::Text));
        check("!!int", "12", Ok(Scalar::Int(12)));
        check("!!float", "12", Ok(Scalar::Float(12.0)));
        check("!!bool", "on", Ok(Scalar::Bool(true)));
        check("!!int", "x", Err("yaml: cannot decode !!str `x` as a !!int"));
        check("!!null", "5", Err("yaml: cannot decode !!int `5` as a !!null"));
    }
}
