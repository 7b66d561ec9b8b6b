//! Freshness: readers wait until the cache has reached a revision. No polling; one message wakes all of them.

use std::sync::Arc;
use std::time::Duration;

use keelson_object::Frozen;
use keelson_store::Revision;
use tokio::sync::watch;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;

/// How long a reader waits for a revision before it gets the error that the revision is too large.
///
/// Upstream: cacher/watch_cache.go, blockTimeout (v1.36.4).
pub const BLOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the store is asked whether it has reached a future revision.
const FUTURE_PERIOD: Duration = Duration::from_millis(100);

/// The progress of the cache.
#[derive(Debug)]
pub(crate) struct Freshness {
    reached: watch::Sender<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Reached(Revision),
    Closed,
}

impl Freshness {
    pub(crate) fn new(revision: Revision) -> Freshness {
        Freshness { reached: watch::Sender::new(Progress::Reached(revision)) }
    }

    /// Wakes the readers that wait for `revision` or less.
    pub(crate) fn reach(&self, revision: Revision) {
        self.reached.send_if_modified(|progress| match progress {
            Progress::Reached(known) if *known < revision => {
                *known = revision;
                true
            }
            _ => false,
        });
    }

    /// Ends all waits because the cache is closed.
    pub(crate) fn close(&self) {
        self.reached.send_replace(Progress::Closed);
    }

    /// Waits until `revision` was seen.
    pub(crate) async fn wait(&self, revision: Revision) -> Result<()> {
        let mut reached = self.reached.subscribe();
        let progress = reached.wait_for(|progress| match progress {
            Progress::Reached(known) => *known >= revision,
            Progress::Closed => true,
        });
        match progress.await.as_deref() {
            Ok(Progress::Reached(_)) => Ok(()),
            Ok(Progress::Closed) | Err(_) => Err(Error::Closed),
        }
    }
}

impl Cache {
    /// A consistent read: includes everything that was committed before the call.
    ///
    /// The store is asked for its tip, and the cache waits until it has seen the last change of its own
    /// objects. Later changes of other objects do not matter.
    pub async fn fresh(&self) -> Result<Snapshot> {
        let counters = &self.shared.counters;
        let read = self.read_fresh().await;
        match &read {
            Ok(_) => counters.consistent_reads.add(1),
            Err(_) => counters.failed_consistent_reads.add(1),
        }
        read
    }

    async fn read_fresh(&self) -> Result<Snapshot> {
        let tip = self.source.store.tip(&self.source.prefix).await?;
        if self.revision() >= tip.changed {
            self.shared.counters.read_waits.observe(0.0);
        } else {
            self.within(BLOCK_TIMEOUT, tip.changed, self.wait(tip.changed)).await?;
        }
        Ok(self.shared.unchanged_up_to(tip.latest))
    }

    /// A read without freshness requirements: the latest state if the store has its tip in memory, else the
    /// state of the cache. Never fails.
    pub async fn at_hand(&self) -> Snapshot {
        if self.source.store.is_near()
            && let Ok(snapshot) = self.fresh().await
        {
            return snapshot;
        }
        self.snapshot()
    }

    /// One object for a policy, which may be as old as the cache; only if it is missing, the latest state is
    /// read.
    pub async fn find(&self, namespace: &str, name: &str) -> Result<Option<Arc<Frozen>>> {
        if !self.source.store.is_near()
            && let Some(found) = self.snapshot().get(namespace, name)
        {
            return Ok(Some(found.clone()));
        }
        Ok(self.fresh().await?.get(namespace, name).cloned())
    }

    /// A read of a state at least as recent as a revision. Waits for it, but not longer than `deadline`.
    pub async fn at_least(&self, revision: Revision, deadline: Duration) -> Result<Snapshot> {
        let snapshot = self.snapshot();
        if snapshot.revision() >= revision {
            self.shared.counters.read_waits.observe(0.0);
            return Ok(snapshot);
        }
        self.within(deadline, revision, self.reach(revision)).await
    }

    /// Waits for a revision, but not longer than `deadline`. The duration is counted in the metrics.
    async fn within<T>(
        &self,
        deadline: Duration,
        revision: Revision,
        reached: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let clock = &self.shared.clock;
        let begin = clock.monotonic();
        let reached = clock.timeout(deadline, reached).await;
        self.shared.counters.read_waits.observe((clock.monotonic() - begin).as_secs_f64());
        reached.unwrap_or_else(|| Err(self.too_large(revision)))
    }

    async fn reach(&self, revision: Revision) -> Result<Snapshot> {
        loop {
            let tip = self.source.store.tip(&self.source.prefix).await?;
            if tip.latest >= revision {
                self.wait(revision.min(tip.changed)).await?;
                let snapshot = self.snapshot();
                if snapshot.revision() >= revision {
                    return Ok(snapshot);
                }
                // Earlier than requested, but after our last change: the later changes are of other objects.
                return Ok(self.shared.unchanged_up_to(tip.latest));
            }
            // The store has not reached the revision. The feed reports only our own changes, so the store is
            // asked again.
            let clock = &self.shared.clock;
            if let Some(reached) = clock.timeout(FUTURE_PERIOD, self.wait(revision)).await {
                reached?;
                return Ok(self.snapshot());
            }
        }
    }

    async fn wait(&self, revision: Revision) -> Result<()> {
        if self.revision() >= revision {
            return Ok(());
        }
        self.shared.freshness.wait(revision).await
    }

    fn too_large(&self, asked: Revision) -> Error {
        Error::TooLarge { asked, current: self.revision() }
    }
}
