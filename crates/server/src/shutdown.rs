//! Graceful shutdown: named moments, and their order.
//!
//! ```text
//! stop ─▶ ShutdownInitiated ── delay ──▶ AfterShutdownDelayDuration ─┐
//!              │ readyz fails                                        ├─▶ NotAcceptingNewRequest ─▶ drain ─┐
//!              └─ hooks ───────────────▶ PreShutdownHooksStopped ────┘                                   │
//!                                                        InFlightRequestsDrained ◀───────────────────────┘
//! ```
//!
//! The listener closes at NotAcceptingNewRequest, or, if late clients are asked to retry, at
//! InFlightRequestsDrained.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// A moment in the lifecycle of a server. Happens at most once.
#[derive(Clone, Debug)]
pub struct Moment {
    name: &'static str,
    token: CancellationToken,
}

impl Moment {
    fn new(name: &'static str) -> Moment {
        Moment { name, token: CancellationToken::new() }
    }

    /// It happens now; a second time changes nothing.
    pub fn happen(&self) {
        self.token.cancel();
    }

    /// It happens now, and is logged.
    pub fn announce(&self) {
        self.happen();
        info!(name = self.name, "[graceful-termination] shutdown event");
    }

    /// Whether it has happened.
    pub fn has_happened(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Waits until it has happened.
    pub async fn wait(&self) {
        self.token.cancelled().await;
    }

    /// The name in logs.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The moment as a token, to combine several.
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

/// The moments of a server.
#[derive(Clone, Debug)]
pub struct Moments {
    /// The stop signal was received.
    pub shutdown_initiated: Moment,
    /// Load balancers have had time to notice.
    pub after_shutdown_delay: Moment,
    /// All pre-shutdown hooks are done.
    pub pre_shutdown_hooks_stopped: Moment,
    /// New requests are refused.
    pub not_accepting_new_request: Moment,
    /// The last request in flight is answered.
    pub in_flight_requests_drained: Moment,
    /// The socket is closed.
    pub http_server_stopped_listening: Moment,
    /// `/readyz` succeeded for the first time.
    pub has_been_ready: Moment,
    /// Everything that is served from the start is served: from now on an unknown path is an error of the
    /// client.
    pub mux_and_discovery_complete: Moment,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments {
            shutdown_initiated: Moment::new("ShutdownInitiated"),
            after_shutdown_delay: Moment::new("AfterShutdownDelayDuration"),
            pre_shutdown_hooks_stopped: Moment::new("PreShutdownHooksStopped"),
            not_accepting_new_request: Moment::new("NotAcceptingNewRequest"),
            in_flight_requests_drained: Moment::new("InFlightRequestsDrained"),
            http_server_stopped_listening: Moment::new("HTTPServerStoppedListening"),
            has_been_ready: Moment::new("HasBeenReady"),
            mux_and_discovery_complete: Moment::new("MuxAndDiscoveryComplete"),
        }
    }
}

/// Requests in flight. Once the shutdown waits for the last one, no further ones are admitted.
///
/// The lowest bit of `state` says whether it is closed, the others count.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    state: AtomicU64,
    changed: Notify,
}

const CLOSED: u64 = 1;
const ONE: u64 = 2;

impl UnderWay {
    /// Counts a request until the pass is dropped; `None` if it is closed.
    pub fn enter(&self) -> Option<Pass> {
        let before = self.0.state.fetch_add(ONE, Ordering::AcqRel);
        let pass = Pass(Arc::clone(&self.0));
        (before & CLOSED == 0).then_some(pass)
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.0.state.load(Ordering::Acquire) / ONE
    }

    /// Closes, and waits until there are no requests.
    pub async fn drained(&self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }
}

/// One request in flight.
#[derive(Debug)]
pub struct Pass(Arc<Counter>);

impl Drop for Pass {
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(ONE, Ordering::AcqRel);
        if before & CLOSED != 0 {
            self.0.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Moments, UnderWay};

    #[tokio::test]
    async fn a_moment_happens_once_and_releases_all() {
        let moments = Moments::default();
        let moment = moments.shutdown_initiated.clone();
        assert!(!moment.has_happened());
        moments.shutdown_initiated.announce();
        moments.shutdown_initiated.happen();
        moment.wait().await;
        moments.shutdown_initiated.wait().await;
        assert_eq!(moment.name(), "ShutdownInitiated");
    }

    #[tokio::test]
    async fn the_door_closes_before_the_last_one_leaves() {
        let under_way = UnderWay::default();
        let (first, second) = (under_way.enter().unwrap(), under_way.enter().unwrap());
        let drained = keelson_stdx::task::spawn("drained", {
            let under_way = under_way.clone();
            async move { under_way.drained().await }
        });
        drop(first);
        while under_way.enter().is_some() {
            tokio::task::yield_now().await;
        }
        assert!(!drained.is_finished());
        drop(second);
        drained.await.unwrap();
        assert!(under_way.enter().is_none());
        assert_eq!(under_way.count(), 0);
    }
}
