//! How readers wait until the cache has seen a revision: without polling, all woken by one message.

use std::time::Duration;

use keelson_store::Revision;
use tokio::sync::watch;

use crate::error::{Error, Result};

/// How long a reader waits for a revision before it is told that it is too large.
///
/// Upstream: cacher/watch_cache.go, blockTimeout (v1.36.4).
pub const BLOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// How often the store is asked whether it has come to a revision that it had not come to.
pub(crate) const FUTURE_PERIOD: Duration = Duration::from_millis(100);

/// How far the cache is.
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

    /// Wakes those who wait for `revision` or less.
    pub(crate) fn reach(&self, revision: Revision) {
        self.reached.send_if_modified(|progress| match progress {
            Progress::Reached(known) if *known < revision => {
                *known = revision;
                true
            }
            _ => false,
        });
    }

    /// Tells those who wait that there is nothing to wait for.
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
