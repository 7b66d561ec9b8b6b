//! Metrics of dials through proxies, for the whole process: clients are created in many places.
//!
//! Upstream: apiserver/pkg/server/egressselector/metrics/metrics.go (v1.36.4).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use keelson_stdx::histogram::Histogram;

/// 5 ms to 12.5 seconds.
const SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 2.5, 12.5];

/// Dials over one kind of connection to the proxy.
pub struct Dials {
    /// `tcp` or `uds`.
    pub transport: &'static str,
    started: AtomicU64,
    not_connected: AtomicU64,
    not_proxied: AtomicU64,
    seconds: Arc<Histogram>,
}

static TCP: LazyLock<Dials> = LazyLock::new(|| Dials::new("tcp"));
static UNIX: LazyLock<Dials> = LazyLock::new(|| Dials::new("uds"));

impl Dials {
    fn new(transport: &'static str) -> Dials {
        Dials {
            transport,
            started: AtomicU64::new(0),
            not_connected: AtomicU64::new(0),
            not_proxied: AtomicU64::new(0),
            seconds: Arc::new(Histogram::new(SECONDS)),
        }
    }

    /// The dials through all proxies, by transport.
    #[must_use]
    pub fn all() -> [&'static Dials; 2] {
        [&TCP, &UNIX]
    }

    pub(crate) fn over_tcp() -> &'static Dials {
        &TCP
    }

    pub(crate) fn over_unix() -> &'static Dials {
        &UNIX
    }

    /// The number of dials.
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// The number of failures, by stage: `connect` to the proxy, and `proxy` for errors of the proxy.
    #[must_use]
    pub fn failures(&self) -> [(&'static str, u64); 2] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("connect", of(&self.not_connected)), ("proxy", of(&self.not_proxied))]
    }

    /// The durations of successful dials.
    #[must_use]
    pub fn seconds(&self) -> &Arc<Histogram> {
        &self.seconds
    }

    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn not_connected(&self) {
        self.not_connected.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn not_proxied(&self) {
        self.not_proxied.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn took(&self, time: Duration) {
        self.seconds.observe(time.as_secs_f64());
    }
}
