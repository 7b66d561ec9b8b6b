//! Leases: the TTL of entries. Many entries share one etcd lease.
//!
//! ```text
//! 0 s   put for 600 s   a lease of 630 s is granted
//! 20 s  put for 600 s   ends at 620 s, the lease ends at 630 s: good enough
//! 31 s  put for 600 s   ends at 631 s, the lease ends before: a new lease
//! ```
//!
//! Upstream: apiserver/pkg/storage/etcd3/lease_manager.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use tokio::sync::Mutex;
use tonic::Status;

use crate::client::{Client, Repeat};
use crate::messages::{LeaseGrantRequest, LeaseGrantResponse, path};

/// A lease exceeds the TTL of an entry by at most this part of the TTL.
const REUSE_PART: f64 = 0.05;
/// The largest number of entries that share a lease.
const MAX_ENTRIES: u64 = 1000;

/// Gives leases.
pub(crate) struct Leases {
    clock: Clock,
    /// How long a lease is used for new entries at most.
    reuse: Duration,
    /// Called with the number of entries of a lease that is not used for new ones any more.
    filled: Filled,
    latest: Mutex<Option<Lease>>,
}

/// Hears how many entries share a lease, when no more of them will.
pub type Filled = Arc<dyn Fn(u64) + Send + Sync>;

struct Lease {
    id: i64,
    /// The end of the lease, in the time of the clock.
    ends: Duration,
    entries: u64,
}

impl Leases {
    pub(crate) fn new(clock: Clock, reuse: Duration, filled: Filled) -> Leases {
        Leases { clock, reuse, filled, latest: Mutex::new(None) }
    }

    /// A lease that ends after `lives`, or a little later.
    pub(crate) async fn lease(&self, client: &Client, lives: Duration) -> Result<i64, Status> {
        let mut latest = self.latest.lock().await;
        let now = self.clock.monotonic();
        let extra = self.extra(lives);
        if let Some(lease) = &mut *latest
            && lease.serves(now + lives, extra)
        {
            lease.entries += 1;
            return Ok(lease.id);
        }
        let ttl = lives + extra;
        let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX).max(1);
        // A lease whose grant got lost expires unused.
        let granted: LeaseGrantResponse =
            client.call(path::LEASE_GRANT, LeaseGrantRequest { ttl: seconds }, Repeat::Freely).await?;
        let before = latest.replace(Lease { id: granted.id, ends: now + ttl, entries: 1 });
        (self.filled)(before.map_or(0, |lease| lease.entries));
        Ok(granted.id)
    }

    /// Stops using the latest lease: etcd does not know it any more.
    pub(crate) async fn forget(&self) {
        *self.latest.lock().await = None;
    }

    /// The end of the latest lease, and its id.
    #[cfg(test)]
    pub(crate) async fn latest(&self) -> Option<(Duration, i64)> {
        self.latest.lock().await.as_ref().map(|lease| (lease.ends, lease.id))
    }

    fn extra(&self, lives: Duration) -> Duration {
        Duration::from_secs((lives.as_secs() as f64 * REUSE_PART) as u64).min(self.reuse)
    }
}

impl Lease {
    fn serves(&self, until: Duration, extra: Duration) -> bool {
        until < self.ends && until + extra > self.ends && self.entries < MAX_ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{Lease, Leases};

    #[track_caller]
    fn check(lives: u64, reuse: u64, expected: u64) {
        let leases = Leases::new(Clock::manual().0, Duration::from_secs(reuse), Arc::new(|_| ()));
        assert_eq!(leases.extra(Duration::from_secs(lives)).as_secs(), expected);
    }

    #[test]
    fn a_lease_is_a_little_longer_than_the_life() {
        check(3600, 60, 60);
        check(600, 60, 30);
        check(10, 60, 0);
        check(3600, 10, 10);
    }

    #[test]
    fn a_lease_serves_those_who_end_shortly_before_it() {
        let seconds = Duration::from_secs;
        let mut lease = Lease { id: 1, ends: seconds(630), entries: 1 };
        let serves =
            |lease: &Lease| [600, 601, 629, 630, 700].map(|until| lease.serves(seconds(until), seconds(30)));
        assert_eq!(serves(&lease), [false, true, true, false, false]);
        lease.entries = 1000;
        assert_eq!(serves(&lease), [false; 5]);
    }
}
