//! `Retry-After` of rejected requests: grows while a priority level rejects many, and shrinks again.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go (v1.36.4).

use std::collections::VecDeque;

const LONGEST: i64 = 32;
/// So many rejections per second of waiting mean that clients come back too early.
const TOO_MANY: i64 = 3;

/// The rejections of one priority level.
#[derive(Clone, Debug)]
pub struct RetryAfter {
    /// Value of the header, in seconds.
    seconds: i64,
    raised_at: i64,
    /// The second that is counted now, and its rejections.
    current: (i64, i64),
    /// Seconds before it, oldest first.
    history: VecDeque<(i64, i64)>,
}

impl Default for RetryAfter {
    fn default() -> RetryAfter {
        RetryAfter { seconds: 1, raised_at: 0, current: (0, 0), history: VecDeque::new() }
    }
}

impl RetryAfter {
    /// Value of the header, in seconds.
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// A request was rejected at `now`, in seconds since 1970.
    pub fn rejected(&mut self, now: i64) {
        if self.current.0 == now {
            self.current.1 += 1;
            return;
        }
        self.history.push_back(self.current);
        let kept = (2 * self.seconds).min(LONGEST);
        while self.history.front().is_some_and(|(second, _)| self.current.0 - second > kept) {
            self.history.pop_front();
        }
        self.current = (now, 1);
        self.adjust(now);
    }

    fn adjust(&mut self, now: i64) {
        let recent = self.history.iter().filter(|(second, _)| now - second <= self.seconds && *second < now);
        let rejected: i64 = recent.map(|(_, count)| count).sum();
        if now - self.raised_at >= self.seconds && rejected >= TOO_MANY * self.seconds {
            self.seconds = (2 * self.seconds).min(LONGEST);
            self.raised_at = now;
        } else if rejected < self.seconds && self.seconds > 1 {
            self.seconds -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RetryAfter;

    /// Rejects `count` requests in each second of `seconds`; returns the value of the header afterwards.
    fn reject(retry_after: &mut RetryAfter, seconds: std::ops::Range<i64>, count: usize) -> i64 {
        for second in seconds {
            (0..count).for_each(|_| retry_after.rejected(second));
        }
        retry_after.seconds()
    }

    #[test]
    fn it_doubles_while_many_are_rejected_and_falls_by_one_a_second() {
        let mut retry_after = RetryAfter::default();
        assert_eq!(retry_after.seconds(), 1);
        assert_eq!(reject(&mut retry_after, 100..102, 5), 2);
        assert_eq!(reject(&mut retry_after, 102..200, 100), 32);
        assert_eq!(reject(&mut retry_after, 300..301, 1), 31);
        // One rejection per second: as many as there are seconds to wait, from 16 seconds on.
        assert_eq!(reject(&mut retry_after, 301..400, 1), 16);
    }

    #[test]
    fn a_few_rejections_change_nothing() {
        let mut retry_after = RetryAfter::default();
        assert_eq!(reject(&mut retry_after, 100..200, 2), 1);
    }
}
