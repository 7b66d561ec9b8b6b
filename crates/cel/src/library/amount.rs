//! Small amounts: how Go keeps a quantity that fits into 64 bits, as a whole number and a power of ten.
//!
//! Expressions see the difference to a larger amount: only small amounts without a fraction have an integer, and
//! `quantity('3.00')` keeps its two digits behind the point.

/// `value` × 10^`scale`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Small {
    value: i64,
    scale: i32,
}

/// The most digits of a small amount.
const MAX_DIGITS: i32 = 18;
/// The finest scale.
const NANO: i32 = -9;

impl Small {
    /// A whole number.
    pub fn whole(value: i64) -> Small {
        Small { value, scale: 0 }
    }

    /// The small amount that a text means; `None` if Go keeps it as a number of any size. The text must be a quantity.
    ///
    /// Upstream: apimachinery/pkg/api/resource/quantity.go, ParseQuantity (v1.36.4).
    pub fn parse(text: &str) -> Option<Small> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            whole => whole,
        };
        let (scale, factor, precision) = match binary_exponent(suffix) {
            Some(exponent) if fraction.is_empty() => {
                let precision = 15 - whole.len() as i32 - (exponent as f32 * 3.0 / 10.0) as i32 - 1;
                (0, 1i64 << exponent, precision)
            }
            Some(_) => return None,
            None => (decimal_exponent(suffix)?, 1, MAX_DIGITS - (whole.len() + fraction.len()) as i32),
        };
        let scale = scale - fraction.len() as i32;
        if precision < 0 || scale < NANO {
            return None;
        }
        let value = format!("{whole}{fraction}").parse::<i64>().ok()?.checked_mul(factor)?;
        Some(Small { value: if text.starts_with('-') { -value } else { value }, scale })
    }

    /// Upstream: apimachinery/pkg/api/resource/amount.go, int64Amount.Add (v1.36.4).
    pub fn plus(self, other: Small) -> Option<Small> {
        if other.value == 0 {
            return Some(self);
        }
        if self.value == 0 {
            return Some(other);
        }
        let scale = self.scale.min(other.scale);
        let value = self.at(scale)?.checked_add(other.at(scale)?)?;
        Some(Small { value, scale })
    }

    /// The amount with the other sign.
    pub fn negated(self) -> Small {
        Small { value: self.value.wrapping_neg(), scale: self.scale }
    }

    fn at(self, scale: i32) -> Option<i64> {
        let power = u32::try_from(self.scale - scale).ok()?;
        self.value.checked_mul(10i64.checked_pow(power)?)
    }

    /// The whole number, if it is kept without a fraction.
    pub fn integer(self) -> Option<i64> {
        if self.scale < 0 { None } else { self.at(0) }
    }

    /// The nearest floating point number, as Go computes it.
    pub fn approximate(self) -> f64 {
        let power: f64 = format!("1e{}", self.scale).parse().unwrap_or(1.0);
        if self.scale == 0 { self.value as f64 } else { self.value as f64 * power }
    }
}

fn binary_exponent(suffix: &str) -> Option<u32> {
    let at = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|known| *known == suffix)?;
    u32::try_from(10 * (at + 1)).ok()
}

fn decimal_exponent(suffix: &str) -> Option<i32> {
    Some(match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::Small;

    #[test]
    fn only_small_amounts_without_a_fraction_have_an_integer() {
        let integer = |text: &str| Small::parse(text).and_then(Small::integer);
        assert_eq!(integer("-3"), Some(-3));
        assert_eq!(integer("12e6"), Some(12_000_000));
        assert_eq!(integer("1Gi"), Some(1 << 30));
        assert_eq!(integer("3.00"), None);
        assert_eq!(integer("1.5Gi"), None);
        assert_eq!(integer("2Ei"), None);
        assert_eq!(integer("1000000000000000000"), None);
        let sum = Small::parse("500m").and_then(|half| half.plus(Small::whole(1)));
        assert_eq!(sum.map(Small::approximate), Some(1.5));
        assert_eq!(sum.and_then(Small::integer), None);
    }
}
