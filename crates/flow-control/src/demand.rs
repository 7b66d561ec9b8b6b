//! Seat demand of a priority level over time: the statistics from which borrowing is decided.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/fairqueuing/integrator.go and apf_controller.go, seatDemandStats (v1.36.4).

use crate::Nanos;

/// Weight of the past in each period of ten seconds: it fades by half in five minutes.
const SMOOTHING: f64 = 0.977;

/// Integrates the demand of a level (seats in use and asked for) over time.
#[derive(Clone, Copy, Debug)]
pub struct Integrator {
    value: f64,
    since: Nanos,
    /// Integrals of 1, of the value and of its square, in seconds.
    seconds: f64,
    sum: f64,
    square_sum: f64,
    highest: f64,
}

/// The demand of one period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    pub seconds: f64,
    pub average: f64,
    pub deviation: f64,
    pub highest: f64,
}

impl Integrator {
    pub fn new(now: Nanos) -> Integrator {
        Integrator { value: 0.0, since: now, seconds: 0.0, sum: 0.0, square_sum: 0.0, highest: 0.0 }
    }

    /// The demand is `seats` from now on.
    pub fn set(&mut self, seats: usize, now: Nanos) {
        self.advance(now);
        self.value = seats as f64;
        self.highest = self.highest.max(self.value);
    }

    /// Ends the period and begins the next one.
    pub fn next_period(&mut self, now: Nanos) -> Period {
        self.advance(now);
        let average = self.sum / self.seconds;
        let variance = self.square_sum / self.seconds - average * average;
        // Rounding may make the variance of a constant slightly negative.
        let deviation = if variance >= 0.0 { variance.sqrt() } else { 0.0 };
        let period = Period { seconds: self.seconds, average, deviation, highest: self.highest };
        *self = Integrator { value: self.value, highest: self.value, ..Integrator::new(now) };
        period
    }

    fn advance(&mut self, now: Nanos) {
        let seconds = (now - self.since) as f64 / 1e9;
        self.since = now;
        self.seconds += seconds;
        self.sum += self.value * seconds;
        self.square_sum += self.value * self.value * seconds;
    }
}

/// What borrowing knows about the demand of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    pub average: f64,
    pub deviation: f64,
    pub high_watermark: usize,
    /// Rises at once and falls slowly.
    pub smoothed: f64,
}

impl Demand {
    pub fn update(&mut self, period: &Period) {
        self.high_watermark = period.highest.round() as usize;
        if period.seconds <= 0.0 {
            return;
        }
        self.average = period.average;
        self.deviation = period.deviation;
        let envelope = period.average + period.deviation;
        self.smoothed = envelope.max(SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn demand_is_weighted_by_time() {
        let mut integrator = Integrator::new(0);
        integrator.set(4, 0);
        integrator.set(0, 5 * SECOND);
        let period = integrator.next_period(10 * SECOND);
        assert_eq!(period, Period { seconds: 10.0, average: 2.0, deviation: 2.0, highest: 4.0 });
        assert_eq!(integrator.next_period(20 * SECOND).highest, 0.0);
    }

    #[test]
    fn smoothed_demand_falls_slowly() {
        let mut demand = Demand::default();
        let period = |average| Period { seconds: 10.0, average, deviation: 0.0, highest: average };
        demand.update(&period(100.0));
        assert_eq!(demand.smoothed, 100.0);
        demand.update(&period(0.0));
        assert_eq!(demand.smoothed, 97.7);
        assert_eq!(demand.high_watermark, 0);
    }

    #[test]
    fn an_empty_period_changes_only_the_high_watermark() {
        let mut integrator = Integrator::new(0);
        integrator.set(7, 0);
        let mut demand = Demand { average: 1.0, deviation: 2.0, high_watermark: 3, smoothed: 4.0 };
        demand.update(&integrator.next_period(0));
        assert_eq!(demand, Demand { average: 1.0, deviation: 2.0, high_watermark: 7, smoothed: 4.0 });
    }
}
