//! Quantities: `resource.Quantity`, a decimal number of any size with a suffix.
//!
//! | text     | value      | format           | printed  | why                                            |
//! |----------|------------|------------------|----------|------------------------------------------------|
//! | `0.5`    | 5 × 10⁻¹   | decimal          | `500m`   | no fractions: the suffix takes them            |
//! | `1024Mi` | 2³⁰        | binary           | `1Gi`    | the largest suffix that leaves a whole number  |
//! | `1.5Gi`  | 3 × 2²⁹    | binary           | `1536Mi` | both rules                                     |
//! | `0.1Gi`  | 2³⁰ / 10   | binary           | `107374182400m` | not whole, so decimal                   |
//! | `512Ki`  | 2¹⁹        | binary           | `512Ki`  |                                                |
//! | `1e2`    | 100        | decimal exponent | `100`    | exponents are multiples of three               |
//! | `1.500`  | 15 × 10⁻¹  | decimal          | `1.500`  | Go keeps texts that its fast path takes for canonical |
//!
//! Anything finer than a billionth is rounded away from zero, so that a positive request does not become
//! zero.

mod decimal;
mod parse;

use std::cmp::Ordering;
use std::fmt;

use smol_str::SmolStr;

use self::decimal::Decimal;
use super::ScalarError;
use crate::value::Value;

/// The exponent of the largest suffix, `E`.
const MAX_EXPONENT: i64 = 18;

/// The family of suffixes with which a quantity is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySi,
    /// `12M`
    #[default]
    DecimalSi,
}

/// An amount of a resource. Comparison is by value: `1` equals `1000m`.
#[derive(Clone, Debug, Default)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// The original text, if Go prints that instead of the canonical form.
    text: Option<SmolStr>,
}

impl Quantity {
    /// Parses a number with a suffix.
    ///
    /// Upstream: apimachinery/pkg/api/resource/quantity.go, ParseQuantity (v1.36.4). A number of more than 2048
    /// significant digits is refused, because the cost of reading it grows with the square of its length.
    pub fn parse(text: &str) -> Result<Quantity, ScalarError> {
        parse::parse(text)
    }

    /// Whether `text` is surely a quantity that is printed unchanged, which most are: up to three digits and
    /// a common suffix. Other texts may be such quantities, too.
    pub fn is_plain(text: &str) -> bool {
        let bytes = text.as_bytes();
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Below a thousand there is no larger suffix, and no smaller one without a leading zero.
        (1..=3).contains(&digits)
            && bytes[0] != b'0'
            && matches!(&bytes[digits..], b"" | b"m" | b"k" | b"M" | b"G" | b"Ki" | b"Mi" | b"Gi" | b"Ti")
    }

    /// Reads a value: text with spaces around it, a number, or null, which is zero.
    pub fn from_value(value: &Value) -> Result<Quantity, ScalarError> {
        match value {
            Value::String(text) => Quantity::parse(text.trim()),
            Value::Int(number) => Quantity::parse(&format!("{number}")),
            Value::Float(number) => Quantity::parse(&format!("{number}")),
            Value::Null => Ok(Quantity::default()),
            Value::Bool(_) | Value::List(_) | Value::Map(_) => Err(ScalarError::QuantityFormat),
        }
    }

    /// A quantity of `value` units.
    pub fn from_int(value: i64, format: Format) -> Quantity {
        Quantity { amount: Decimal::new(value, 0), format, text: None }
    }

    /// A quantity of `value` thousandths.
    pub fn from_milli(value: i64, format: Format) -> Quantity {
        Quantity { amount: Decimal::new(value, -3), format, text: None }
    }

    /// The family of suffixes with which this is printed.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whole units, rounded away from zero, saturated.
    pub fn value(&self) -> i64 {
        self.amount.to_i64(0)
    }

    /// Thousandths, rounded away from zero, saturated.
    pub fn milli_value(&self) -> i64 {
        self.amount.to_i64(-3)
    }

    /// Whether this is zero.
    pub fn is_zero(&self) -> bool {
        self.amount.sign() == Ordering::Equal
    }

    /// The comparison with zero: `Less` if it is negative.
    pub fn sign(&self) -> Ordering {
        self.amount.sign()
    }

    /// Rounds away from zero to a multiple of ten to the power of `scale`; returns whether the value was
    /// already a multiple.
    pub fn round_up(&mut self, scale: i64) -> bool {
        let (rounded, exact) = self.amount.round_up(scale);
        if !exact {
            self.amount = rounded;
            self.text = None;
        }
        exact
    }

    /// Adds `other`. Zero takes over the format of what is added to it.
    pub fn add(&mut self, other: &Quantity) {
        self.adopt_format(other);
        self.amount = self.amount.add(&other.amount);
    }

    /// Subtracts `other`. Zero takes over the format of what is subtracted from it.
    pub fn sub(&mut self, other: &Quantity) {
        self.adopt_format(other);
        self.amount = self.amount.add(&other.amount.negated());
    }

    /// The same amount with the other sign.
    pub fn negated(&self) -> Quantity {
        Quantity { amount: self.amount.negated(), format: self.format, text: None }
    }

    /// `factor` times this.
    pub fn times(&self, factor: i64) -> Quantity {
        Quantity { amount: self.amount.times(factor), format: self.format, text: None }
    }

    fn adopt_format(&mut self, other: &Quantity) {
        self.text = None;
        if self.is_zero() {
            self.format = other.format;
        }
    }

    /// Small and fractional numbers have no binary form, and huge ones no suffix at all.
    fn prints_binary(&self) -> bool {
        let is_binary = self.format == Format::BinarySi && self.amount.is_whole();
        is_binary && !self.amount.is_smaller_than_1024() && self.amount.by_1000_exponent() <= MAX_EXPONENT
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.prints_binary() {
            let (number, steps) = self.amount.by_1024(parse::BINARY.len());
            return write!(f, "{number}{}", if steps == 0 { "" } else { parse::BINARY[steps - 1] });
        }
        let (number, exponent) = self.amount.by_1000();
        match parse::decimal_suffix(exponent) {
            _ if exponent == 0 => write!(f, "{number}"),
            Some(suffix) if self.format != Format::DecimalExponent => write!(f, "{number}{suffix}"),
            // Upstream prints the bare number if no suffix is large enough; that would be another amount.
            _ => write!(f, "{number}e{exponent}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.amount == other.amount
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

#[cfg(test)]
mod tests;
