//! Waiting longer after each failure, at random so that clients do not come back together.

use std::time::Duration;

use rand::RngExt;

/// Delays that double from `first` up to `cap`; each is drawn from the upper half of its range.
///
/// ```
/// # use keelson_stdx::backoff::Backoff;
/// # use std::time::Duration;
/// let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
/// let delay = backoff.delay();
/// assert!(delay >= Duration::from_millis(50) && delay <= Duration::from_millis(100));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
}

impl Backoff {
    /// Starts at `first`, never waits longer than `cap`.
    #[must_use]
    pub fn new(first: Duration, cap: Duration) -> Backoff {
        Backoff { first, cap, failures: 0 }
    }

    /// How long to wait after one more failure.
    pub fn delay(&mut self) -> Duration {
        let longest = self.longest();
        self.failures = self.failures.saturating_add(1);
        longest.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// It worked: the next failure is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How many failures there were since the last success.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    fn longest(&self) -> Duration {
        // 2^31 times anything useful is over any cap.
        self.first.saturating_mul(1 << self.failures.min(31)).min(self.cap)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;

    #[test]
    fn delays_double_up_to_the_cap() {
        let second = Duration::from_secs(1);
        let mut backoff = Backoff::new(second, 10 * second);
        for longest in [1, 2, 4, 8, 10, 10, 10] {
            let delay = backoff.delay();
            assert!(delay >= longest * second / 2, "{delay:?} is short for {longest} s");
            assert!(delay <= longest * second, "{delay:?} is long for {longest} s");
        }
        assert_eq!(backoff.failures(), 7);
    }

    #[test]
    fn success_starts_again() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        for _ in 0..40 {
            assert!(backoff.delay() <= Duration::from_secs(60));
        }
        backoff.reset();
        assert!(backoff.delay() <= Duration::from_secs(1));
    }
}
