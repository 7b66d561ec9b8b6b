//! Exact decimal numbers: a whole number times a power of ten.
//!
//! `1.50` is 15 × 10⁻¹: the mantissa never ends in a zero, so that equal numbers have equal parts. The exponent
//! comes from clients (`1e2000000000` is a valid quantity), so no operation may write such a number out.

use std::cmp::Ordering;

use num_bigint::BigInt;

/// Numbers further apart than this many digits are not added up: the smaller one is dropped.
const MAX_SPREAD: i64 = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decimal {
    mantissa: BigInt,
    exponent: i64,
}

impl Decimal {
    pub(super) fn new(mantissa: impl Into<BigInt>, exponent: i64) -> Decimal {
        let mut it = Decimal { mantissa: mantissa.into(), exponent };
        it.normalize();
        it
    }

    fn normalize(&mut self) {
        if self.sign() == Ordering::Equal {
            self.exponent = 0;
            return;
        }
        // Almost all numbers are small, and dividing large ones allocates.
        if let Ok(mut small) = i128::try_from(&self.mantissa) {
            while small % 10 == 0 {
                small /= 10;
                self.exponent += 1;
            }
            self.mantissa = small.into();
            return;
        }
        while &self.mantissa % 10 == BigInt::ZERO {
            self.mantissa /= 10;
            self.exponent += 1;
        }
    }

    pub(super) fn sign(&self) -> Ordering {
        self.mantissa.cmp(&BigInt::ZERO)
    }

    pub(super) fn negated(&self) -> Decimal {
        Decimal { mantissa: -&self.mantissa, exponent: self.exponent }
    }

    pub(super) fn times(&self, factor: i64) -> Decimal {
        Decimal::new(&self.mantissa * factor, self.exponent)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    pub(super) fn is_smaller_than_1024(&self) -> bool {
        let limit = Decimal::new(1024, 0);
        *self < limit && limit.negated() < *self
    }

    pub(super) fn add(&self, other: &Decimal) -> Decimal {
        if self.sign() == Ordering::Equal {
            return other.clone();
        }
        if other.sign() == Ordering::Equal {
            return self.clone();
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if high.exponent - low.exponent > MAX_SPREAD {
            return if self.magnitude() >= other.magnitude() { self.clone() } else { other.clone() };
        }
        Decimal::new(high.mantissa_at(low.exponent) + &low.mantissa, low.exponent)
    }

    /// Rounded away from zero to a multiple of 10^`scale`, and whether that changed nothing.
    pub(super) fn round_up(&self, scale: i64) -> (Decimal, bool) {
        if self.exponent >= scale || self.sign() == Ordering::Equal {
            return (self.clone(), true);
        }
        let one = if self.sign() == Ordering::Less { -1 } else { 1 };
        if self.magnitude() <= scale {
            return (Decimal::new(one, scale), false);
        }
        // The mantissa does not end in a zero, so something is always cut off.
        let whole = &self.mantissa / power_of_ten(scale - self.exponent);
        (Decimal::new(whole + one, scale), false)
    }

    /// This in units of 10^`scale`, rounded away from zero, saturated.
    pub(super) fn to_i64(&self, scale: i64) -> i64 {
        let limit = if self.sign() == Ordering::Less { i64::MIN } else { i64::MAX };
        let (rounded, _) = self.round_up(scale);
        if rounded.magnitude() - scale > 19 {
            return limit;
        }
        i64::try_from(rounded.mantissa_at(scale)).unwrap_or(limit)
    }

    /// As `number × 10^exponent` with an exponent that is a multiple of three.
    pub(super) fn by_1000(&self) -> (BigInt, i64) {
        let exponent = self.by_1000_exponent();
        (self.mantissa_at(exponent), exponent)
    }

    /// The largest exponent that is a multiple of three and leaves a whole number.
    pub(super) fn by_1000_exponent(&self) -> i64 {
        self.exponent - self.exponent.rem_euclid(3)
    }

    /// This whole number as `number × 1024^steps` with as many steps as possible, but not more than `largest`.
    pub(super) fn by_1024(&self, largest: usize) -> (BigInt, usize) {
        let number = self.mantissa_at(0);
        let steps = number.trailing_zeros().map_or(0, |zeros| zeros as usize / 10).min(largest);
        (number >> (steps * 10), steps)
    }

    /// The mantissa when the exponent, which must not be smaller, becomes `exponent`.
    fn mantissa_at(&self, exponent: i64) -> BigInt {
        &self.mantissa * power_of_ten(self.exponent - exponent)
    }

    /// The number of digits before the point; negative for numbers with zeros after it.
    fn magnitude(&self) -> i64 {
        let digits = match i128::try_from(&self.mantissa) {
            Ok(small) => i64::from(small.unsigned_abs().checked_ilog10().unwrap_or(0)) + 1,
            Err(_) => self.mantissa.magnitude().to_string().len() as i64,
        };
        digits + self.exponent
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let sign = self.sign();
        let by_size = || {
            let by_magnitude = self.magnitude().cmp(&other.magnitude());
            if sign == Ordering::Less { by_magnitude.reverse() } else { by_magnitude }
        };
        // With equal magnitudes the exponents differ by less than the number of digits.
        let by_digits = || {
            let exponent = self.exponent.min(other.exponent);
            self.mantissa_at(exponent).cmp(&other.mantissa_at(exponent))
        };
        match sign.cmp(&other.sign()) {
            Ordering::Equal if sign == Ordering::Equal => Ordering::Equal,
            Ordering::Equal => by_size().then_with(by_digits),
            different => different,
        }
    }
}

fn power_of_ten(exponent: i64) -> BigInt {
    let exponent = u32::try_from(exponent).expect("the callers bound the exponent and know its sign");
    match 10i128.checked_pow(exponent) {
        Some(small) => small.into(),
        None => BigInt::from(10).pow(exponent),
    }
}
