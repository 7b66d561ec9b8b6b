//! `IntOrString`: a number or a text, such as a port by number or name, or `25%`.

use std::fmt;
use std::num::IntErrorKind;

use smol_str::SmolStr;

use super::ScalarError;
use crate::value::Value;

/// A number or a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text: a name or a percentage.
    String(SmolStr),
}

/// How a fraction is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the next larger number.
    Up,
    /// To the next smaller number.
    Down,
}

impl IntOrString {
    /// Parses a text: a number if it is one that fits.
    pub fn parse(text: &str) -> IntOrString {
        text.parse().map_or_else(|_| IntOrString::String(text.into()), IntOrString::Int)
    }

    /// Reads a value; `None` if it is neither, or a number that does not fit.
    pub fn from_value(value: &Value) -> Option<IntOrString> {
        match value {
            Value::Int(number) => i32::try_from(*number).ok().map(IntOrString::Int),
            Value::String(text) => Some(IntOrString::String(text.clone())),
            _ => None,
        }
    }

    /// The number itself, or the percentage of `total`.
    pub fn scaled_value(&self, total: i64, rounding: Rounding) -> Result<i64, ScalarError> {
        let text = match self {
            IntOrString::Int(number) => return Ok(i64::from(*number)),
            IntOrString::String(text) => text,
        };
        let number = text.strip_suffix('%').ok_or(ScalarError::NotPercent)?;
        let percent: i64 = number.parse().map_err(|error: std::num::ParseIntError| {
            let problem = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            ScalarError::PercentNumber { value: text.as_str().to_owned(), number: number.to_owned(), problem }
        })?;
        let share = i128::from(percent) * i128::from(total);
        let rounded = match rounding {
            Rounding::Up => -(-share).div_euclid(100),
            Rounding::Down => share.div_euclid(100),
        };
        Ok(i64::try_from(rounded).unwrap_or(if rounded > 0 { i64::MAX } else { i64::MIN }))
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrString::Int(number) => write!(f, "{number}"),
            IntOrString::String(text) => f.write_str(text),
        }
    }
}

impl From<IntOrString> for Value {
    fn from(it: IntOrString) -> Value {
        match it {
            IntOrString::Int(number) => Value::Int(number.into()),
            IntOrString::String(text) => Value::String(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IntOrString, Rounding};
    use crate::value::Value;

    #[test]
    fn percentages_are_shares_of_a_total() {
        let check = |text: &str, total: i64, up: i64, down: i64| {
            let it = IntOrString::parse(text);
            assert_eq!(it.scaled_value(total, Rounding::Up), Ok(up), "{text} of {total}");
            assert_eq!(it.scaled_value(total, Rounding::Down), Ok(down), "{text} of {total}");
        };
        check("3", 10, 3, 3);
        check("25%", 10, 3, 2);
        check("50%", 10, 5, 5);
        check("0%", 10, 0, 0);
        check("+1%", 1, 1, 0);
        check("150%", 3, 5, 4);
        check("-25%", 10, -2, -3);
    }

    #[test]
    fn errors_are_what_upstream_says() {
        let check = |text: &str, expected: &str| {
            let result = IntOrString::String(text.into()).scaled_value(10, Rounding::Up);
            assert_eq!(result.map_err(|error| error.to_string()), Err(expected.to_owned()));
        };
        check("3", "invalid value for IntOrString: invalid type: string is not a percentage");
        check(
            "a%",
            r#"invalid value for IntOrString: invalid value "a%": strconv.Atoi: parsing "a": invalid syntax"#,
        );
        check(
            "%",
            r#"invalid value for IntOrString: invalid value "%": strconv.Atoi: parsing "": invalid syntax"#,
        );
        check(
            "99999999999999999999%",
            "invalid value for IntOrString: invalid value \"99999999999999999999%\": \
             strconv.Atoi: parsing \"99999999999999999999\": value out of range",
        );
    }

    #[test]
    fn both_faces_go_to_the_tree_and_back() {
        for it in [IntOrString::parse("80"), IntOrString::parse("http"), IntOrString::parse("2147483648")] {
            assert_eq!(IntOrString::from_value(&Value::from(it.clone())), Some(it));
        }
        assert_eq!(IntOrString::parse("80").to_string(), "80");
        assert_eq!(IntOrString::parse("http").to_string(), "http");
        assert_eq!(IntOrString::from_value(&Value::Int(1 << 31)), None);
    }
}
