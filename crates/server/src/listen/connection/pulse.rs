//! Pulse of a connection: how long it has been idle or reading the head of a request.
//!
//! ```text
//!  open ──▶ head of the first request ──▶ busy ──▶ idle ──▶ head ──▶ busy ──▶ idle ── … ──▶ finishing
//!           └── cut after header_time ┘            └ finished after idle_time ┘             └ cut after GRACE
//! ```
//!
//! HTTP/2 has no head phase after its first bytes: many requests share the connection, and frames are small.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use keelson_stdx::clock::Clock;

use super::Limits;

/// How long a finished HTTP/2 peer has to close its side.
const GRACE: Duration = Duration::from_secs(1);

/// How long a connection whose client may still be sending stays open after its last answer.
///
/// Upstream: Go's net/http, rstAvoidanceDelay.
const LINGER: Duration = Duration::from_millis(500);

/// The value for no time.
const NEVER: u64 = u64::MAX;

/// What must be done with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Shut it down gracefully.
    Finish,
    /// Drop it.
    Cut,
}

/// Times are milliseconds of the clock's monotonic time.
#[derive(Debug)]
pub(super) struct Pulse {
    clock: Clock,
    header_time: Duration,
    idle_time: Duration,
    has_heads: bool,
    busy: AtomicUsize,
    idle_since: AtomicU64,
    head_since: AtomicU64,
    finishing_since: AtomicU64,
    lingers: AtomicBool,
}

impl Pulse {
    pub(super) fn http1(clock: Clock, limits: &Limits) -> Pulse {
        let now = millis(clock.monotonic());
        Pulse {
            clock,
            header_time: limits.header_time,
            idle_time: limits.idle_time,
            has_heads: true,
            busy: AtomicUsize::new(0),
            idle_since: AtomicU64::new(now),
            head_since: AtomicU64::new(now),
            finishing_since: AtomicU64::new(NEVER),
            lingers: AtomicBool::new(false),
        }
    }

    pub(super) fn http2(clock: Clock, limits: &Limits) -> Pulse {
        Pulse { has_heads: false, ..Pulse::http1(clock, limits) }
    }

    /// Bytes were received.
    pub(super) fn heard(&self) {
        if !self.has_heads {
            self.head_since.store(NEVER, Ordering::Relaxed);
        } else if self.busy.load(Ordering::Relaxed) == 0 && self.head_since.load(Ordering::Relaxed) == NEVER {
            self.head_since.store(self.now(), Ordering::Relaxed);
        }
    }

    /// The connection was asked to shut down gracefully.
    pub(super) fn finish(&self) {
        self.finishing_since.store(self.now(), Ordering::Relaxed);
    }

    /// The client may still be sending when the connection ends.
    pub(super) fn linger(&self) {
        self.lingers.store(true, Ordering::Relaxed);
    }

    pub(super) fn timer(&self) -> Timer {
        Timer { at: Duration::ZERO, sleep: Box::pin(std::future::ready(())) }
    }

    fn now(&self) -> u64 {
        millis(self.clock.monotonic())
    }

    /// What must be done next, and when. `None` while a request is in flight.
    fn due(&self) -> Option<(Duration, Step)> {
        if self.busy.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let idle_since = self.idle_since.load(Ordering::Relaxed);
        let head_since = self.head_since.load(Ordering::Relaxed);
        let finishing_since = self.finishing_since.load(Ordering::Relaxed);
        Some(if head_since != NEVER {
            (Duration::from_millis(head_since) + self.header_time, Step::Cut)
        } else if finishing_since != NEVER {
            (Duration::from_millis(finishing_since.max(idle_since)) + GRACE, Step::Cut)
        } else {
            (Duration::from_millis(idle_since) + self.idle_time, Step::Finish)
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NEVER - 1)
}

/// A timer that is set again only if it would fire too late: most requests cost it nothing.
pub(super) struct Timer {
    at: Duration,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Timer {
    pub(super) fn poll(&mut self, pulse: &Pulse, context: &mut Context<'_>) -> Poll<Step> {
        loop {
            let now = pulse.clock.monotonic();
            let due = pulse.due();
            if let Some((at, step)) = due
                && at <= now
            {
                return Poll::Ready(step);
            }
            let at = due.map_or(now + pulse.header_time, |(at, _)| at);
            let has_rung = self.at <= now;
            if has_rung || at < self.at {
                let clock = pulse.clock.clone();
                self.at = at;
                self.sleep = Box::pin(async move { clock.sleep_until(at).await });
            }
            match self.sleep.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                // It has fired: check again. A finished sleep must not be polled again because of the clock's
                // rounding.
                Poll::Ready(()) => self.at = Duration::ZERO,
            }
        }
    }
}

/// A request in flight, until its response is sent.
#[derive(Debug)]
pub(super) struct Busy(Arc<Pulse>);

impl Busy {
    pub(super) fn new(pulse: &Arc<Pulse>) -> Busy {
        pulse.busy.fetch_add(1, Ordering::Relaxed);
        pulse.head_since.store(NEVER, Ordering::Relaxed);
        Busy(Arc::clone(pulse))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.idle_since.store(self.0.now(), Ordering::Relaxed);
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that notifies the pulse when bytes are received.
pub(super) struct Wire<S> {
    pub(super) stream: S,
    pub(super) pulse: Arc<Pulse>,
    /// Set while the connection lingers before it closes.
    linger: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<S> Wire<S> {
    pub(super) fn new(stream: S, pulse: Arc<Pulse>) -> Wire<S> {
        Wire { stream, pulse, linger: None }
    }

    /// Waits for [`LINGER`], if that was requested.
    pub(super) fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.pulse.lingers.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        let clock = &self.pulse.clock;
        let linger = self.linger.get_or_insert_with(|| {
            let clock = clock.clone();
            Box::pin(async move { clock.sleep(LINGER).await })
        });
        ready!(linger.as_mut().poll(context));
        self.pulse.lingers.store(false, Ordering::Relaxed);
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{Busy, Pulse, Step};
    use crate::listen::connection::Limits;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn heads_are_cut_and_idle_connections_finished() {
        let (clock, hand) = Clock::manual();
        let pulse = Arc::new(Pulse::http1(clock, &Limits::default()));
        assert_eq!(pulse.due(), Some((32 * SECOND, Step::Cut)));

        hand.advance(10 * SECOND);
        let busy = Busy::new(&pulse);
        assert_eq!(pulse.due(), None);
        hand.advance(100 * SECOND);
        drop(busy);
        assert_eq!(pulse.due(), Some((200 * SECOND, Step::Finish)));

        hand.advance(10 * SECOND);
        pulse.heard();
        hand.advance(10 * SECOND);
        pulse.heard();
        assert_eq!(pulse.due(), Some((152 * SECOND, Step::Cut)));
    }

    #[test]
    fn http2_has_only_an_idle_deadline_after_its_first_bytes() {
        let (clock, hand) = Clock::manual();
        let pulse = Arc::new(Pulse::http2(clock, &Limits::default()));
        assert_eq!(pulse.due(), Some((32 * SECOND, Step::Cut)));
        pulse.heard();
        assert_eq!(pulse.due(), Some((90 * SECOND, Step::Finish)));
        hand.advance(90 * SECOND);
        pulse.finish();
        assert_eq!(pulse.due(), Some((91 * SECOND, Step::Cut)));
    }
}
