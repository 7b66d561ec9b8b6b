//! Clock: real and manual time.
//!
//! Time is a value that is handed in, so that a test decides when an hour has passed:
//!
//! ```
//! # use keelson_stdx::clock::Clock;
//! # use std::time::Duration;
//! let (clock, hand) = Clock::manual();
//! let before = clock.monotonic();
//! hand.advance(Duration::from_secs(3600));
//! assert_eq!(clock.monotonic() - before, Duration::from_secs(3600));
//! ```

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// What time it is, and how to wait. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    Real {
        start: Instant,
    },
    /// The time since the start of the manual clock; sleepers wait for it to change.
    Manual(watch::Receiver<Duration>),
}

/// The hand of a manual clock: nothing moves unless it is pushed. Keep it as long as somebody sleeps.
#[derive(Clone, Debug)]
pub struct ManualClock(watch::Sender<Duration>);

/// A manual clock starts here: 2026-01-01T00:00:00Z.
const MANUAL_START: Duration = Duration::from_secs(1_767_225_600);

impl Clock {
    /// The time of the machine.
    #[must_use]
    #[allow(clippy::disallowed_methods)] // the one place where time is taken from the machine
    pub fn real() -> Clock {
        Clock(Source::Real { start: Instant::now() })
    }

    /// A clock that stands still until its hand is advanced.
    #[must_use]
    pub fn manual() -> (Clock, ManualClock) {
        let (hand, face) = watch::channel(Duration::ZERO);
        (Clock(Source::Manual(face)), ManualClock(hand))
    }

    /// The wall-clock time.
    #[must_use]
    #[allow(clippy::disallowed_methods)] // the one place where time is taken from the machine
    pub fn now(&self) -> SystemTime {
        match &self.0 {
            Source::Real { .. } => SystemTime::now(),
            Source::Manual(face) => UNIX_EPOCH + MANUAL_START + *face.borrow(),
        }
    }

    /// The wall-clock time since 1970-01-01T00:00:00Z; zero for a machine that lives before it.
    #[must_use]
    pub fn since_epoch(&self) -> Duration {
        self.now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The wall-clock time in nanoseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_nanos(&self) -> u128 {
        self.since_epoch().as_nanos()
    }

    /// The wall-clock time in milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_millis(&self) -> u64 {
        u64::try_from(self.since_epoch().as_millis()).unwrap_or(u64::MAX)
    }

    /// The wall-clock time in whole seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_seconds(&self) -> u64 {
        self.since_epoch().as_secs()
    }

    /// The time since the clock was made. Never goes back.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        match &self.0 {
            Source::Real { start } => start.elapsed(),
            Source::Manual(face) => *face.borrow(),
        }
    }

    /// Waits for `time` to pass.
    pub async fn sleep(&self, time: Duration) {
        match &self.0 {
            Source::Real { .. } => tokio::time::sleep(time).await,
            Source::Manual(_) => self.sleep_until(self.monotonic().saturating_add(time)).await,
        }
    }

    /// Waits until [`Clock::monotonic`] is at least `deadline`.
    pub async fn sleep_until(&self, deadline: Duration) {
        match &self.0 {
            Source::Real { start } => {
                tokio::time::sleep(deadline.saturating_sub(start.elapsed())).await;
            }
            Source::Manual(face) => {
                let mut face = face.clone();
                if face.wait_for(|elapsed| *elapsed >= deadline).await.is_err() {
                    // The hand is gone: this time never comes.
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// Runs `work`, but not longer than `time`: `None` when time is up.
    pub async fn timeout<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            result = work => Some(result),
            () = self.sleep(time) => None,
        }
    }
}

impl ManualClock {
    /// Lets `time` pass and wakes who has slept long enough.
    pub fn advance(&self, time: Duration) {
        self.0.send_modify(|elapsed| *elapsed = elapsed.saturating_add(time));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Clock;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn manual_time_stands_still_until_advanced() {
        let (clock, hand) = Clock::manual();
        assert_eq!(clock.unix_seconds(), 1_767_225_600);
        assert_eq!(clock.monotonic(), Duration::ZERO);

        hand.advance(90 * SECOND);
        assert_eq!(clock.unix_seconds(), 1_767_225_690);
        assert_eq!(clock.unix_millis(), 1_767_225_690_000);
        assert_eq!(clock.unix_nanos(), 1_767_225_690_000_000_000);
        assert_eq!(clock.monotonic(), 90 * SECOND);
    }

    #[test]
    fn real_time_does_not_go_back() {
        let clock = Clock::real();
        let (first, second) = (clock.monotonic(), clock.monotonic());
        assert!(second >= first);
        assert!(clock.unix_seconds() > 1_700_000_000);
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_has_come() {
        let (clock, hand) = Clock::manual();
        let sleep = clock.sleep(10 * SECOND);
        tokio::pin!(sleep);
        assert!(futures_poll(sleep.as_mut()).await.is_none());

        hand.advance(9 * SECOND);
        assert!(futures_poll(sleep.as_mut()).await.is_none());

        hand.advance(SECOND);
        sleep.await;
    }

    #[tokio::test]
    async fn a_timeout_ends_work_that_never_ends() {
        let (clock, hand) = Clock::manual();
        let work = clock.timeout(SECOND, std::future::pending::<()>());
        tokio::pin!(work);
        assert!(futures_poll(work.as_mut()).await.is_none());
        hand.advance(SECOND);
        assert_eq!(work.await, None);
        assert_eq!(clock.timeout(SECOND, async { 7 }).await, Some(7));
    }

    /// Polls once.
    async fn futures_poll<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
