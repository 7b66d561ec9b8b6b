//! The health check `log`: whether log lines can still be written.
//!
//! Upstream: apiserver/pkg/server/healthz/healthz.go, LogHealthz (v1.36.4).

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keelson_server::NamedCheck;
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;

/// How often the log is flushed.
const FLUSHED_EVERY: Duration = Duration::from_secs(60);

/// A log that could not be flushed for this long is blocked.
const BLOCKED_AFTER: Duration = Duration::from_secs(120);

/// The check, and the task that flushes the log for it.
pub fn check(clock: &Clock, tasks: &Tasks) -> NamedCheck {
    let flushed = Flushed::new(clock);
    let (kept, clock) = (flushed.clone(), clock.clone());
    tasks.spawn("log", async move {
        loop {
            // The reader of standard error may have stopped: that must not block a worker thread.
            let _ = tokio::task::spawn_blocking(|| io::stderr().lock().flush()).await;
            kept.now();
            clock.sleep(FLUSHED_EVERY).await;
        }
    });
    NamedCheck::new("log", move || flushed.check())
}

/// The time of the last flush.
#[derive(Clone)]
struct Flushed {
    /// Milliseconds on the monotonic clock.
    last: Arc<AtomicU64>,
    clock: Clock,
}

impl Flushed {
    fn new(clock: &Clock) -> Flushed {
        let flushed = Flushed { last: Arc::default(), clock: clock.clone() };
        flushed.now();
        flushed
    }

    fn now(&self) {
        let now = u64::try_from(self.clock.monotonic().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), String> {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        let is_fresh = self.clock.monotonic().saturating_sub(last) < BLOCKED_AFTER;
        if is_fresh { Ok(()) } else { Err("logging blocked".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use keelson_stdx::clock::Clock;

    use super::{BLOCKED_AFTER, FLUSHED_EVERY, Flushed};

    #[test]
    fn a_log_that_is_not_flushed_for_two_minutes_is_blocked() {
        let (clock, hand) = Clock::manual();
        let flushed = Flushed::new(&clock);
        hand.advance(FLUSHED_EVERY);
        assert_eq!(flushed.check(), Ok(()));
        flushed.now();
        hand.advance(FLUSHED_EVERY);
        assert_eq!(flushed.check(), Ok(()));
        hand.advance(BLOCKED_AFTER);
        assert_eq!(flushed.check(), Err("logging blocked".to_owned()));
        flushed.now();
        assert_eq!(flushed.check(), Ok(()));
    }
}
