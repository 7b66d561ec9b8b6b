//! What the cache counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use keelson_store::Revision;

/// Counts since the start, and how things are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Where the cache is.
    pub revision: Revision,
    /// Whether the watch of the store is up.
    pub following: bool,
    /// Objects now.
    pub objects: usize,
    /// Their bytes in memory, roughly.
    pub bytes: u64,
    /// Events in the history now.
    pub history: usize,
    /// How many events the history keeps before it forgets the oldest.
    pub history_capacity: usize,
    /// Snapshots kept for paging now.
    pub kept: usize,
    /// Watchers now.
    pub watchers: usize,
    /// Events so far.
    pub events: u64,
    /// Events put into queues so far.
    pub queued: u64,
    /// How often a sleeping watcher was woken.
    pub wakeups: u64,
    /// How often a queue was full, so that its watcher went on from the history.
    pub overflows: u64,
    /// How many watchers were ended because the history went on without them.
    pub lagged: u64,
    /// Values that were not objects.
    pub decode_failures: u64,
    /// How often the watch of the store broke.
    pub reconnects: u64,
    /// How often everything was listed again because the store had forgotten where we were.
    pub relists: u64,
    /// Consistent reads that were answered.
    pub consistent_reads: u64,
    /// Consistent reads that failed: the store was away, or the cache did not catch up.
    pub failed_consistent_reads: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) following: AtomicBool,
    pub(crate) events: Counter,
    pub(crate) queued: Counter,
    pub(crate) wakeups: Counter,
    pub(crate) overflows: Counter,
    pub(crate) lagged: Counter,
    pub(crate) decode_failures: Counter,
    pub(crate) reconnects: Counter,
    pub(crate) relists: Counter,
    pub(crate) consistent_reads: Counter,
    pub(crate) failed_consistent_reads: Counter,
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
