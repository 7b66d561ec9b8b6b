//! State shared by the feed, the readers and the watchers of a cache.
//!
//! Two locks, always taken in this order: `fan_out` (held by the feed while it publishes, so that its holder
//! knows that all events of the history were handed out), then `state` (held for a few steps only; this is all that
//! readers take).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use keelson_object::Frozen;
use keelson_stdx::clock::Clock;
use keelson_store::{Key, Revision};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event::{Event, Place};
use crate::fan_out::{FanOut, Mailbox};
use crate::freshness::Freshness;
use crate::history::History;
use crate::kept::Kept;
use crate::metrics::{Counters, Stats};
use crate::snapshot::Snapshot;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) fan_out: Mutex<FanOut>,
    pub(crate) state: Mutex<State>,
    pub(crate) freshness: Freshness,
    pub(crate) counters: Counters,
    /// Notified when the cache differs from the store: the feed lists everything again.
    pub(crate) doubt: Notify,
}

#[derive(Debug)]
pub(crate) struct State {
    /// The present. Its revision is at least `applied`.
    pub(crate) snapshot: Snapshot,
    pub(crate) history: History,
    pub(crate) kept: Kept,
    /// Everything that the store's watch delivered up to here is in the snapshot.
    applied: Revision,
    /// The revision of the last change.
    changed: Revision,
    bytes: u64,
}

/// The new state of a key: an object, or none.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) key: Key,
    pub(crate) revision: Revision,
    pub(crate) object: Option<Arc<Frozen>>,
}

/// The result of reading the history for a watcher.
pub(crate) enum Replay {
    /// Everything up to `next`, and whether that is the end.
    Read { next: u64, at_end: bool },
    /// The history does not reach back that far.
    Gone,
}

/// The number of history events that a watcher reads before it releases the lock.
const REPLAY_BATCH: usize = 512;

impl State {
    /// `changed` is a revision since which the objects in `snapshot` have not changed.
    pub(crate) fn new(snapshot: Snapshot, changed: Revision, history: usize) -> State {
        let footprint = |(_, object): (&Key, &Arc<Frozen>)| object.footprint() as u64;
        State {
            history: History::new(changed, history),
            kept: Kept::default(),
            applied: snapshot.revision(),
            changed,
            bytes: snapshot.iter().map(footprint).sum(),
            snapshot,
        }
    }

    fn apply(&mut self, change: Change, clock: &Clock) -> Option<Arc<Event>> {
        let Change { key, revision, object } = change;
        let previous = self.snapshot.set(&key, object.as_ref());
        self.bytes += object.as_ref().map_or(0, |object| object.footprint() as u64);
        self.bytes -= previous.as_ref().map_or(0, |object| object.footprint() as u64);
        let recorded = clock.monotonic();
        self.kept.forget(recorded);
        let place = Place { revision, sequence: self.history.end(), recorded };
        let event = Arc::new(Event::between(previous, object, place)?);
        self.changed = revision;
        self.history.push(event.clone());
        Some(event)
    }

    fn reach(&mut self, revision: Revision) {
        let reached = self.snapshot.revision().max(revision);
        self.snapshot.set_revision(reached);
    }

    /// The state at a revision, if the cache has it.
    pub(crate) fn exact(&self, revision: Revision) -> Option<Snapshot> {
        if revision >= self.changed && revision <= self.snapshot.revision() {
            return Some(self.snapshot.clone().at(revision));
        }
        self.kept.get(revision).cloned()
    }
}

impl Shared {
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.state.lock().snapshot.clone()
    }

    /// The revision after which the feed continues.
    pub(crate) fn applied(&self) -> Revision {
        self.state.lock().applied
    }

    /// Applies a change from the store's watch.
    pub(crate) fn publish(&self, change: Change) {
        let fan_out = self.fan_out.lock();
        let (event, revision) = {
            let mut state = self.state.lock();
            if change.revision <= state.applied {
                return;
            }
            let revision = change.revision;
            state.applied = revision;
            let event = state.apply(change, &self.clock);
            state.reach(revision);
            (event, revision)
        };
        // Readers before watchers: a writer may be waiting to read its own write.
        self.freshness.reach(revision);
        if let Some(event) = event {
            self.counters.events.add(1);
            fan_out.deliver(&event, &self.counters);
        }
    }

    /// Applies the differences between the cache and a list of the store at `revision`: readers see all of
    /// them or none.
    ///
    /// The order of the changes is a guess, so no watch may start among them.
    pub(crate) fn replace(&self, changes: Vec<Change>, revision: Revision) {
        let fan_out = self.fan_out.lock();
        let events: Vec<_> = {
            let mut state = self.state.lock();
            if !changes.is_empty() {
                state.history.raise_floor(revision);
            }
            let changed = if changes.is_empty() { state.changed } else { revision };
            let events = changes.into_iter().filter_map(|change| state.apply(change, &self.clock)).collect();
            state.changed = changed;
            state.applied = revision;
            state.reach(revision);
            events
        };
        self.freshness.reach(revision);
        self.counters.events.add(events.len() as u64);
        for event in &events {
            fan_out.deliver(event, &self.counters);
        }
    }

    /// The store's watch has delivered everything up to here.
    pub(crate) fn progress(&self, revision: Revision) {
        {
            let mut state = self.state.lock();
            state.applied = state.applied.max(revision);
            state.reach(revision);
        }
        self.freshness.reach(revision);
    }

    /// Records that our objects did not change up to here, and returns the state at this revision or later.
    pub(crate) fn unchanged_up_to(&self, revision: Revision) -> Snapshot {
        let snapshot = {
            let mut state = self.state.lock();
            state.reach(revision);
            state.snapshot.clone()
        };
        self.freshness.reach(snapshot.revision());
        snapshot
    }

    /// Moves events from the history to `buffer`: those from `sequence` on that are wanted.
    pub(crate) fn replay(
        &self,
        sequence: u64,
        wanted: impl Fn(&Event) -> bool,
        buffer: &mut VecDeque<Arc<Event>>,
    ) -> Replay {
        let state = self.state.lock();
        let Some(events) = state.history.starting_at(sequence) else {
            return Replay::Gone;
        };
        let mut next = sequence;
        for event in events.take(REPLAY_BATCH) {
            next = event.sequence() + 1;
            if wanted(event) {
                buffer.push_back(event.clone());
            }
        }
        Replay::Read { next, at_end: next == state.history.end() }
    }

    /// The revision up to which a watcher has seen everything, if it has nothing left to read.
    pub(crate) fn settled(&self, mailbox: &Mailbox) -> Option<Revision> {
        let _nobody_publishes = self.fan_out.lock();
        mailbox.is_quiet().then(|| self.state.lock().snapshot.revision())
    }

    /// Ends all watchers and all waiting readers.
    pub(crate) fn close(&self) {
        self.counters.following.store(false, Relaxed);
        self.fan_out.lock().close();
        self.freshness.close();
    }

    pub(crate) fn stats(&self) -> Stats {
        let watchers = self.fan_out.lock().len();
        let state = self.state.lock();
        let counters = &self.counters;
        Stats {
            revision: state.snapshot.revision(),
            following: counters.following.load(Relaxed),
            objects: state.snapshot.len(),
            bytes: state.bytes,
            history: state.history.len(),
            history_capacity: state.history.capacity(),
            history_grown: state.history.grown,
            history_shrunk: state.history.shrunk,
            kept: state.kept.len(),
            watchers,
            events: counters.events.get(),
            initial_events: counters.initial_events.get(),
            queued: counters.queued.get(),
            wakeups: counters.wakeups.get(),
            overflows: counters.overflows.get(),
            lagged: counters.lagged.get(),
            decode_failures: counters.decode_failures.get(),
            reconnects: counters.reconnects.get(),
            relists: counters.relists.get(),
            consistent_reads: counters.consistent_reads.get(),
            failed_consistent_reads: counters.failed_consistent_reads.get(),
            listed: counters.listed(),
            checks_passed: counters.checks_passed.get(),
            checks_failed: counters.checks_failed.get(),
            checks_broken: counters.checks_broken.get(),
        }
    }
}
