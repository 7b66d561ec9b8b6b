//! Metrics of the cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use keelson_stdx::histogram::Histogram;
use keelson_store::Revision;

use crate::page::Page;
use crate::scope::Scope;

/// Counts since the start, and how things are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The revision of the cache.
    pub revision: Revision,
    /// Whether the watch of the store is up.
    pub following: bool,
    /// Objects now.
    pub objects: usize,
    /// Their bytes in memory, roughly.
    pub bytes: u64,
    /// Events in the history now.
    pub history: usize,
    /// The number of events that the history keeps before it drops the oldest.
    pub history_capacity: usize,
    /// How often the history was enlarged.
    pub history_grown: u64,
    /// How often the history was reduced.
    pub history_shrunk: u64,
    /// Snapshots kept for paging now.
    pub kept: usize,
    /// Watchers now.
    pub watchers: usize,
    /// Events so far.
    pub events: u64,
    /// Initial events of watches: existing objects, and the events since the client's revision.
    pub initial_events: u64,
    /// Events put into queues so far.
    pub queued: u64,
    /// The number of wake-ups of sleeping watchers.
    pub wakeups: u64,
    /// How often a queue was full, so that its watcher continued from the history.
    pub overflows: u64,
    /// The number of watchers that were ended because the history no longer had their position.
    pub lagged: u64,
    /// Values that were not objects.
    pub decode_failures: u64,
    /// How often the watch of the store failed.
    pub reconnects: u64,
    /// How often everything was listed again because the store had compacted the revision of the cache.
    pub relists: u64,
    /// Consistent reads that were answered.
    pub consistent_reads: u64,
    /// Consistent reads that failed: the store was away, or the cache did not catch up.
    pub failed_consistent_reads: u64,
    /// Objects that lists gave.
    pub listed: u64,
    /// The number of comparisons with the store that found no difference.
    pub checks_passed: u64,
    /// The number of comparisons that found a difference.
    pub checks_failed: u64,
    /// The number of comparisons that failed.
    pub checks_broken: u64,
}

/// Lists that were answered with the help of one index, or of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListStats {
    /// The position of the field in [`keelson_object::Index::fields`]; `None` without an index.
    pub index: Option<usize>,
    /// The number of lists.
    pub lists: u64,
    /// The number of objects that were examined for them.
    pub fetched: u64,
}

/// Upper bounds, in seconds, of how long readers wait until the cache is fresh.
///
/// Upstream: cacher/metrics/metrics.go, WatchCacheReadWait (v1.36.4).
const WAIT_BOUNDS: &[f64] = &[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0];

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) following: AtomicBool,
    pub(crate) events: Counter,
    pub(crate) initial_events: Counter,
    pub(crate) queued: Counter,
    pub(crate) wakeups: Counter,
    pub(crate) overflows: Counter,
    pub(crate) lagged: Counter,
    pub(crate) decode_failures: Counter,
    pub(crate) reconnects: Counter,
    pub(crate) relists: Counter,
    pub(crate) consistent_reads: Counter,
    pub(crate) failed_consistent_reads: Counter,
    pub(crate) checks_passed: Counter,
    pub(crate) checks_failed: Counter,
    pub(crate) checks_broken: Counter,
    pub(crate) read_waits: Arc<Histogram>,
    listed: Counter,
    /// The first is for lists without an index.
    lists: Box<[Lists]>,
}

#[derive(Debug)]
struct Lists {
    index: Option<usize>,
    lists: Counter,
    fetched: Counter,
}

impl Counters {
    /// Nothing is counted yet. `indexes` are the positions of the indexed fields.
    pub(crate) fn new(indexes: &[usize]) -> Counters {
        let lists = |index| Lists { index, lists: Counter::default(), fetched: Counter::default() };
        Counters {
            following: AtomicBool::default(),
            events: Counter::default(),
            initial_events: Counter::default(),
            queued: Counter::default(),
            wakeups: Counter::default(),
            overflows: Counter::default(),
            lagged: Counter::default(),
            decode_failures: Counter::default(),
            reconnects: Counter::default(),
            relists: Counter::default(),
            consistent_reads: Counter::default(),
            failed_consistent_reads: Counter::default(),
            checks_passed: Counter::default(),
            checks_failed: Counter::default(),
            checks_broken: Counter::default(),
            read_waits: Arc::new(Histogram::new(WAIT_BOUNDS)),
            listed: Counter::default(),
            lists: [None].into_iter().chain(indexes.iter().copied().map(Some)).map(lists).collect(),
        }
    }

    /// Counts a list of `scope` that returned `page`.
    pub(crate) fn count_list(&self, scope: &Scope, page: &Page) {
        let index = match scope {
            Scope::Field { index, .. } => Some(*index),
            Scope::All | Scope::Namespace(_) | Scope::Name { .. } => None,
        };
        let counted = self.lists.iter().find(|it| it.index == index).unwrap_or(&self.lists[0]);
        counted.lists.add(1);
        counted.fetched.add(page.fetched as u64);
        self.listed.add(page.objects.len() as u64);
    }

    pub(crate) fn listed(&self) -> u64 {
        self.listed.get()
    }

    pub(crate) fn lists(&self) -> Vec<ListStats> {
        let stats =
            |it: &Lists| ListStats { index: it.index, lists: it.lists.get(), fetched: it.fetched.get() };
        self.lists.iter().map(stats).collect()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        if count > 0 {
            self.0.fetch_add(count, Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
