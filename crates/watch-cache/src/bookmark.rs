//! Bookmarks: when a watcher is due for one.
//!
//! A bookmark tells a client how far the watch has come although nothing happened to the watched objects, so
//! that the client can resume close to the present. It comes about every minute, and once more shortly before
//! the watch ends.

use std::time::Duration;

use rand::RngExt;

/// The bookmarks that a watcher wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bookmarks {
    /// None.
    #[default]
    Off,
    /// At regular intervals.
    Regular,
    /// At regular intervals, and one that marks the end of the initial objects.
    WithInitialEnd,
}

/// Upstream: cacher/cacher.go, defaultBookmarkFrequency (v1.36.4).
pub(crate) const PERIOD: Duration = Duration::from_secs(60);
/// The time between the last bookmark and the end of a watch.
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// The times of one watcher's bookmarks, on the cache's clock.
#[derive(Debug)]
pub(crate) struct Schedule {
    next: Option<Duration>,
    /// When the last bookmark before the end of the watch is due.
    last: Option<Duration>,
}

impl Schedule {
    /// `lives` is the duration of the watch, if it is known.
    pub(crate) fn new(bookmarks: Bookmarks, now: Duration, lives: Option<Duration>) -> Schedule {
        if bookmarks == Bookmarks::Off {
            return Schedule { next: None, last: None };
        }
        let last = lives.map(|lives| now + lives.saturating_sub(BEFORE_THE_END));
        let mut schedule = Schedule { next: None, last };
        schedule.arm(now);
        schedule
    }

    /// The time of the next bookmark.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.next
    }

    /// Whether a bookmark is due. If so, the next one is scheduled.
    pub(crate) fn take(&mut self, now: Duration) -> bool {
        let due = self.next.is_some_and(|next| next <= now);
        if due {
            self.arm(now);
        }
        due
    }

    fn arm(&mut self, now: Duration) {
        // A twentieth of jitter keeps watchers that came together from being woken together for ever.
        let regular = now + PERIOD.mul_f64(rand::rng().random_range(0.95..=1.05));
        self.next = match self.last {
            None => Some(regular),
            Some(last) if last <= now => None,
            Some(last) => Some(last.min(regular)),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Bookmarks, Schedule};

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// The times at which bookmarks are due when one looks every second.
    fn times(bookmarks: Bookmarks, lives: Option<Duration>) -> Vec<u64> {
        let mut schedule = Schedule::new(bookmarks, Duration::ZERO, lives);
        (0..200).filter(|now| schedule.take(seconds(*now))).collect()
    }

    #[test]
    fn bookmarks_come_about_every_minute() {
        assert!(times(Bookmarks::Off, None).is_empty());
        let times = times(Bookmarks::Regular, None);
        assert_eq!(times.len(), 3, "{times:?}");
        for pair in times.windows(2) {
            assert!((57..=64).contains(&(pair[1] - pair[0])), "{times:?}");
        }
    }

    #[test]
    fn the_last_bookmark_comes_before_the_end() {
        assert_eq!(times(Bookmarks::Regular, Some(seconds(30))), [28]);
        assert_eq!(times(Bookmarks::Regular, Some(seconds(100))).last(), Some(&98));
        assert!(times(Bookmarks::Regular, Some(seconds(1))).is_empty());
    }
}
