//! Parser of quantities, which also decides whether Go would print a text unchanged.

use num_bigint::BigInt;

use super::decimal::Decimal;
use super::{Format, Quantity};
use crate::scalar::ScalarError;

/// The binary suffixes: 1024 to the power of 1, 2, 3 …
pub(super) const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const NANO: i64 = -9;
const MAX_DIGITS: usize = 2048;

/// The suffix of 10^`exponent`, if there is one.
pub(super) fn decimal_suffix(exponent: i64) -> Option<&'static str> {
    DECIMAL.iter().find(|(_, it)| *it == exponent).map(|(suffix, _)| *suffix)
}

pub(super) fn parse(text: &str) -> Result<Quantity, ScalarError> {
    if text.is_empty() {
        return Err(ScalarError::QuantityFormat);
    }
    let parts = split(text)?;
    let suffix = read_suffix(parts.suffix).ok_or(ScalarError::QuantitySuffix)?;
    let digits = format!("{}{}", parts.whole, parts.fraction);
    if digits.len() > MAX_DIGITS {
        return Err(ScalarError::QuantityNumber);
    }
    let scale = suffix.exponent - parts.fraction.len() as i64;
    let takes_fast_path = fits_fast_path(&parts, &suffix, scale);
    if !takes_fast_path && !parts.has_digits {
        return Err(ScalarError::QuantityNumber);
    }
    let mut mantissa: BigInt = match digits.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => digits.parse().map_err(|_| ScalarError::QuantityNumber)?,
    };
    let keeps_text = takes_fast_path && is_printed_as_is(&digits, &suffix, scale);
    if parts.negative {
        mantissa = -mantissa;
    }
    let mut quantity = Quantity {
        amount: Decimal::new(mantissa << suffix.shift, scale),
        format: suffix.format,
        text: keeps_text.then(|| text.into()),
    };
    if !takes_fast_path {
        bound(&mut quantity);
    }
    Ok(quantity)
}

/// Rounds and limits numbers that do not fit into upstream's fast path, as upstream does.
fn bound(quantity: &mut Quantity) {
    quantity.amount = quantity.amount.round_up(NANO).0;
    if quantity.format != Format::BinarySi {
        return;
    }
    let max = Decimal::new(i64::MAX, 0);
    let one = Decimal::new(1, 0);
    if quantity.amount > max {
        quantity.amount = max;
    } else if quantity.amount < max.negated() {
        quantity.amount = max.negated();
    } else if !quantity.is_zero() && quantity.amount < one && one.negated() < quantity.amount {
        quantity.format = Format::DecimalSi;
    }
}

/// The parts of a text: `-01.50Gi` is negative, `1`, `50`, `Gi`.
struct Parts<'t> {
    negative: bool,
    /// Digits before the point, without leading zeros; `0` if there are none.
    whole: &'t str,
    /// Digits after the point.
    fraction: &'t str,
    suffix: &'t str,
    /// Whether there is any digit, zeros included.
    has_digits: bool,
}

fn split(text: &str) -> Result<Parts<'_>, ScalarError> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (digits, rest) = take_while(unsigned, |byte| byte.is_ascii_digit());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => take_while(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, rest) = take_while(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ScalarError::QuantityFormat);
    }
    let has_digits = !digits.is_empty() || !fraction.is_empty();
    let whole = match digits.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    Ok(Parts { negative, whole, fraction, suffix, has_digits })
}

fn take_while(text: &str, is_part: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    text.split_at(end)
}

/// The factor of a suffix: `2^shift × 10^exponent`.
struct Suffix {
    shift: u32,
    exponent: i64,
    format: Format,
}

fn read_suffix(suffix: &str) -> Option<Suffix> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(it, _)| *it == suffix) {
        return Some(Suffix { shift: 0, exponent: *exponent, format: Format::DecimalSi });
    }
    if let Some(step) = BINARY.iter().position(|it| *it == suffix) {
        return Some(Suffix { shift: (step as u32 + 1) * 10, exponent: 0, format: Format::BinarySi });
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Go drops the upper half of the exponent.
    Some(Suffix { shift: 0, exponent: i64::from(exponent as i32), format: Format::DecimalExponent })
}

/// Whether Go reads this into a 64-bit number. Only such numbers may keep their text.
fn fits_fast_path(parts: &Parts<'_>, suffix: &Suffix, scale: i64) -> bool {
    let whole = parts.whole.len();
    match suffix.format {
        // One binary suffix step is about three decimal digits.
        Format::BinarySi => parts.fraction.is_empty() && whole + suffix.shift as usize * 3 / 10 < 15,
        _ => whole + parts.fraction.len() <= 18 && scale >= NANO,
    }
}

/// Go's guess whether a text is canonical; it is too generous with `1.500` and `+7`, but clients see its result.
fn is_printed_as_is(digits: &str, suffix: &Suffix, scale: i64) -> bool {
    match suffix.format {
        Format::BinarySi => digits.parse::<u64>().is_ok_and(|number| number % 8 != 0),
        _ => scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
    }
}
