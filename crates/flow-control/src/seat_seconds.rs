//! Seat-seconds: the unit of work in fair queuing, one seat held for one second.
//!
//! Fixed point with eight decimals, as upstream has it, because its rounding decides which of two queues is first.

use std::fmt;

use crate::Nanos;

/// Units of one seat-second.
const SCALE: u64 = 100_000_000;
/// Nanoseconds of one unit, for one seat.
const NANOS_PER_UNIT: f64 = 10.0;

/// An amount of work, or a reading of the progress meter R, in units of 1e-8 seat-seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatSeconds(u64);

impl SeatSeconds {
    pub const ZERO: SeatSeconds = SeatSeconds(0);
    pub const MAX: SeatSeconds = SeatSeconds(u64::MAX);

    /// The work of `seats` seats that are held for a time.
    ///
    /// Upstream: apiserver/pkg/util/flowcontrol/request/seat_seconds.go, SeatsTimesDuration (v1.36.4).
    pub fn of(seats: f64, time: Nanos) -> SeatSeconds {
        SeatSeconds(signed_units(seats, time) as u64)
    }

    /// Moves forward. Readings are compared, so they must not wrap; see `QueueSet`'s epochs.
    #[must_use]
    pub fn plus(self, other: SeatSeconds) -> SeatSeconds {
        SeatSeconds(self.0.wrapping_add(other.0))
    }

    #[must_use]
    pub fn minus(self, other: SeatSeconds) -> SeatSeconds {
        SeatSeconds(self.0.wrapping_sub(other.0))
    }

    /// For how long `seats` seats can be held with this work.
    pub fn time_with(self, seats: f64) -> Nanos {
        (self.0 as f64 / seats * NANOS_PER_UNIT) as Nanos
    }

    pub fn to_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    pub(crate) const fn units(units: u64) -> SeatSeconds {
        SeatSeconds(units)
    }
}

/// The time may be negative: a request that ran for less than the guess gives work back.
fn signed_units(seats: f64, time: Nanos) -> i64 {
    (seats * time as f64 / NANOS_PER_UNIT).round() as i64
}

/// As in upstream's debug dumps: `1.50000000ss`.
impl fmt::Display for SeatSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08}ss", self.0 / SCALE, self.0 % SCALE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seats_times_time() {
        assert_eq!(SeatSeconds::of(3.0, 500_000_000).to_string(), "1.50000000ss");
        assert_eq!(SeatSeconds::of(1.0, 4), SeatSeconds::ZERO);
        assert_eq!(SeatSeconds::of(1.0, 5), SeatSeconds::units(1));
        assert_eq!(SeatSeconds::of(2.0, 3_000_000).time_with(3.0), 2_000_000);
    }

    #[test]
    fn negative_work_moves_backwards() {
        let reading = SeatSeconds::of(1.0, 1_000_000_000);
        let later = reading.minus(SeatSeconds::of(2.0, -500_000_000));
        assert_eq!(later.to_string(), "2.00000000ss");
    }
}
