//! Bucket: allowance that grows with time, up to a limit, and is used up.

use std::time::Duration;

/// The remaining tokens, and the time of that state.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    at: Duration,
}

impl Bucket {
    /// A full one.
    pub(super) fn full(burst: u32, now: Duration) -> Bucket {
        Bucket { left: f64::from(burst), at: now }
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, qps: u32, burst: u32, now: Duration) -> bool {
        let grown = now.saturating_sub(self.at).as_secs_f64() * f64::from(qps);
        self.left = (self.left + grown).min(f64::from(burst));
        self.at = self.at.max(now);
        let is_enough = self.left >= 1.0;
        if is_enough {
            self.left -= 1.0;
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Bucket;

    #[test]
    fn what_is_used_up_grows_again_but_not_beyond_the_burst() {
        let mut bucket = Bucket::full(3, Duration::ZERO);
        let mut at = |millis| bucket.take(2, 3, Duration::from_millis(millis));
        assert_eq!([at(0), at(0), at(0), at(0)], [true, true, true, false]);
        assert_eq!([at(499), at(500), at(500)], [false, true, false]);
        assert_eq!([at(60_000), at(60_000), at(60_000), at(60_000)], [true, true, true, false]);
    }
}
