//! Ranges: the least and the most that a size or a cost can be.

/// From the least to the most, both included. Arithmetic does not overflow: it stops at the largest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

impl Range {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    /// Exactly this.
    pub const fn fixed(value: u64) -> Self {
        Self { min: value, max: value }
    }

    pub(super) const fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) const fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// Rounded up. A conversion of a float to `u64` stops at the largest number by itself.
fn scaled(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stops_at_the_largest_number() {
        let most = Range { min: 2, max: u64::MAX };
        assert_eq!(most.add(most), Range { min: 4, max: u64::MAX });
        assert_eq!(most.times(most), Range { min: 4, max: u64::MAX });
        assert_eq!(most.scaled(0.1), Range { min: 1, max: 1_844_674_407_370_955_264 });
        assert_eq!(most.scaled(2.0), Range { min: 4, max: u64::MAX });
    }
}
