//! Cache: the public face.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::histogram::Histogram;
use keelson_stdx::task;
use keelson_store::{Key, Revision, Store};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::error::Result;
use crate::fan_out::FanOut;
use crate::feed::{Decode, Feed, Source};
use crate::freshness::Freshness;
use crate::metrics::{Counters, ListStats, Stats};
use crate::page::Page;
use crate::scope::Scope;
use crate::self_check;
use crate::shared::{Shared, State};
use crate::snapshot::Snapshot;
use crate::watcher::{WatchRequest, Watcher};

/// The default of the largest number of events in the history of a cache.
///
/// Upstream: cacher/watch_cache.go, defaultUpperBoundCapacity (v1.36.4).
pub const MAX_HISTORY: usize = 100 * 1024;

/// The default of the number of events that wait for a watcher before it continues from the history.
pub const QUEUE: usize = 100;

/// The settings of a cache.
#[derive(Clone)]
pub struct CacheOptions {
    /// The store of the objects.
    pub store: Arc<dyn Store>,
    /// The common prefix of their keys, with a trailing slash: `/registry/pods/`.
    pub prefix: Key,
    /// Makes objects of values.
    pub decode: Decode,
    /// The clock.
    pub clock: Clock,
    /// The largest number of events in the history; it begins small and grows to hold 75 s of them.
    pub history: usize,
    /// The positions in [`keelson_object::Index::fields`] of the fields by which objects and watchers are indexed.
    pub indexes: Vec<usize>,
    /// The number of events that may wait for a watcher before it continues from the history.
    pub queue: usize,
    /// How often the cache is compared with the store; `None` means never.
    pub check_every: Option<Duration>,
}

impl CacheOptions {
    /// The usual bounds, and no indexed fields.
    pub fn new(store: Arc<dyn Store>, prefix: Key, decode: Decode, clock: Clock) -> CacheOptions {
        CacheOptions {
            store,
            prefix,
            decode,
            clock,
            history: MAX_HISTORY,
            indexes: Vec::new(),
            queue: QUEUE,
            check_every: None,
        }
    }
}

/// The live objects of one resource, and their watchers. Closed when it is dropped.
pub struct Cache {
    pub(crate) source: Source,
    pub(crate) shared: Arc<Shared>,
    /// One reader at a time reads missing events from the store; the others then find them in the history.
    pub(crate) backfill: tokio::sync::Mutex<()>,
    feed: AbortHandle,
    check: Option<AbortHandle>,
}

impl Cache {
    /// Lists all objects and begins to follow the store. Fails if the store cannot be listed now.
    pub async fn start(options: CacheOptions) -> Result<Arc<Cache>> {
        let CacheOptions { store, prefix, decode, clock, history, indexes, queue, check_every } = options;
        let source = Source { store, prefix, decode };
        let listing = source.list(None).await?;
        // Watches from before the list can be served if nothing changed in between: clients survive our
        // restart.
        let tip = source.store.tip(&source.prefix).await?;
        let changed = if tip.changed <= listing.revision { tip.changed } else { listing.revision };

        let mut snapshot = Snapshot::empty(source.prefix.clone(), &indexes, listing.revision);
        for listed in &listing.objects {
            snapshot.set(&listed.key, Some(&listed.object));
        }
        let shared = Arc::new(Shared {
            clock,
            fan_out: Mutex::new(FanOut::new(&indexes, queue)),
            freshness: Freshness::new(listing.revision),
            state: Mutex::new(State::new(snapshot, changed, history)),
            counters: Counters::new(&indexes),
            doubt: Notify::new(),
        });
        shared.counters.decode_failures.add(listing.failures);
        let feed = Feed { source: source.clone(), shared: shared.clone() };
        let feed = task::spawn("watch-cache", feed.run()).abort_handle();
        Ok(Arc::new_cyclic(|cache| Cache {
            check: check_every
                .map(|period| self_check::start(cache.clone(), &shared.clock, &source.prefix, period)),
            source,
            shared,
            backfill: tokio::sync::Mutex::new(()),
            feed,
        }))
    }

    /// The objects as they are now in the cache, which may be a little behind the store.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// The revision of the cache.
    pub fn revision(&self) -> Revision {
        self.shared.state.lock().snapshot.revision()
    }

    /// The prefix of the keys of all objects.
    pub fn prefix(&self) -> &Key {
        &self.source.prefix
    }

    /// The state at exactly this revision, if it is the present or was kept; the store may still have it.
    ///
    /// Revisions that the store has compacted are not returned: a list expires with its history.
    pub fn exact(&self, revision: Revision) -> Option<Snapshot> {
        let oldest = self.source.store.forgotten_before(&self.source.prefix);
        let mut state = self.shared.state.lock();
        if let Some(oldest) = oldest {
            state.kept.forget_before(oldest);
        }
        state.exact(revision).filter(|_| oldest.is_none_or(|oldest| revision >= oldest))
    }

    /// Keeps a snapshot for some minutes, for the next page of a list.
    pub fn keep(&self, snapshot: &Snapshot) {
        let now = self.shared.clock.monotonic();
        self.shared.state.lock().kept.keep(snapshot, now);
    }

    /// Begins to watch. Between a snapshot and a watch after its revision no event is lost or repeated.
    pub fn watch(&self, request: WatchRequest) -> Result<Watcher> {
        Watcher::start(self.shared.clone(), request)
    }

    /// The metrics of the cache.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// How long readers waited for the required freshness, in seconds.
    pub fn read_waits(&self) -> Arc<Histogram> {
        self.shared.counters.read_waits.clone()
    }

    /// Counts a list that was answered with `page`.
    pub fn count_list(&self, scope: &Scope, page: &Page) {
        self.shared.counters.count_list(scope, page);
    }

    /// The metrics of lists, by the index that was used.
    pub fn lists(&self) -> Vec<ListStats> {
        self.shared.counters.lists()
    }

    /// Ends all watchers. The cache still follows the store, so that reads and writes that have begun can finish.
    pub fn end_watches(&self) {
        self.shared.fan_out.lock().end_all();
    }

    /// Stops following the store and ends all watchers. The cached objects can still be read.
    pub fn close(&self) {
        self.feed.abort();
        if let Some(check) = &self.check {
            check.abort();
        }
        self.shared.close();
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.revision();
        f.debug_struct("Cache")
            .field("prefix", &self.source.prefix)
            .field("revision", &revision)
            .finish_non_exhaustive()
    }
}
