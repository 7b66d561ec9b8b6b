//! Self-check: a cache compares itself with the store from time to time, because it must not trust its memory
//! for ever.
//!
//! Upstream: cacher/delegator.go, consistencyChecker (v1.36.4). There a wrong cache is bypassed until it is
//! right again; here the feed lists everything, and watchers are ended, so that clients list again, too.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Weak;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::Key;
use tokio::task::AbortHandle;
use tracing::{error, warn};

use crate::cache::Cache;

/// The number of differences that are logged.
const SHOWN: usize = 10;

/// Compares every `period` and up to half as much more, until the cache is dropped.
pub(crate) fn start(cache: Weak<Cache>, clock: &Clock, prefix: &Key, period: Duration) -> AbortHandle {
    let (clock, pause) = (clock.clone(), period + spread(prefix, period / 2));
    let check = async move {
        loop {
            clock.sleep(pause).await;
            let Some(cache) = cache.upgrade() else { return };
            cache.check().await;
        }
    };
    task::spawn("watch-cache-check", check).abort_handle()
}

/// A part of `range` that differs for each prefix, so that not all caches are checked at the same time.
fn spread(prefix: &Key, range: Duration) -> Duration {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(prefix.as_str());
    range * (hash % 1000) as u32 / 1000
}

impl Cache {
    async fn check(&self) {
        let (counters, prefix) = (&self.shared.counters, self.prefix().as_str());
        match self.verify_revisions().await {
            Ok(differences) if differences.is_empty() => counters.checks_passed.add(1),
            Ok(differences) => {
                counters.checks_failed.add(1);
                let (count, shown) = (differences.len(), &differences[..differences.len().min(SHOWN)]);
                error!(prefix, count, ?shown, "the cache is not what the store is, and is listed again");
                self.shared.doubt.notify_one();
            }
            Err(error) => {
                counters.checks_broken.add(1);
                let error = &error as &dyn std::error::Error;
                warn!(prefix, error, "the cache could not be compared with the store");
            }
        }
    }
}
