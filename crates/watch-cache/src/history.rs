//! History: the recent events, in order.
//!
//! ```text
//!            first = 41                                end = 45
//! forgotten │ 41: rev 90 │ 42: rev 93 │ 43: rev 97 │ 44: rev 99 │
//! floor = 88 ◀─ the revision of the last forgotten event: watches may start after 88, not after 87
//! ```
//!
//! Clients give their position as a revision, watchers as the sequence of the next event. The difference
//! matters after a relist: then the order of the missed changes is a guess, so the floor is raised for
//! clients, while existing watchers continue through these events.
//!
//! The capacity doubles while the whole ring is younger than [`FRESH`], and halves when three quarters are older.
//! Upstream: cacher/watch_cache.go, resizeCacheLocked (v1.36.4).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use keelson_store::Revision;

use crate::error::{Error, Result};
use crate::event::Event;

/// The age up to which events are kept, if the capacity allows it.
pub(crate) const FRESH: Duration = Duration::from_secs(75);
/// The number of events that are kept, however old.
pub(crate) const MIN_CAPACITY: usize = 100;

/// The size limit of all events in bytes, beyond the first [`MIN_CAPACITY`]. Events that are dropped because
/// of it are still in the store, where a client that resumes gets them from.
const MAX_BYTES: usize = 128 << 20;

/// Far from zero, so that events from before a restart can be added in front.
const FIRST_SEQUENCE: u64 = 1 << 40;

#[derive(Debug)]
pub(crate) struct History {
    events: VecDeque<Arc<Event>>,
    /// The sequence of the first event.
    first: u64,
    floor: Revision,
    capacity: usize,
    /// How often the capacity was increased, and how often it was decreased.
    pub(crate) grown: u64,
    pub(crate) shrunk: u64,
    min: usize,
    max: usize,
    bytes: usize,
    max_bytes: usize,
}

/// The room for older events in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// The weight of an event: the object, and as much again for the frame that watchers share.
fn weight(event: &Event) -> usize {
    2 * event.object().footprint()
}

impl Room {
    /// The room that is left after adding `event`.
    pub(crate) fn without(self, event: &Event) -> Option<Room> {
        let events = self.events.checked_sub(1)?;
        Some(Room { events, bytes: self.bytes.checked_sub(weight(event))? })
    }
}

impl History {
    /// Begins after `floor`; never keeps more than `max` events.
    pub(crate) fn new(floor: Revision, max: usize) -> History {
        let max = max.max(1);
        let min = MIN_CAPACITY.min(max);
        let (events, first, capacity) = (VecDeque::new(), FIRST_SEQUENCE, min);
        History {
            events,
            first,
            floor,
            capacity,
            grown: 0,
            shrunk: 0,
            min,
            max,
            bytes: 0,
            max_bytes: MAX_BYTES,
        }
    }

    /// The sequence of the next event.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Drops everything before `floor` for clients, but not for watchers.
    pub(crate) fn raise_floor(&mut self, floor: Revision) {
        self.floor = self.floor.max(floor);
    }

    pub(crate) fn push(&mut self, event: Arc<Event>) {
        debug_assert_eq!(event.sequence(), self.end(), "events come one after the other");
        self.resize(event.recorded());
        self.bytes += weight(&event);
        while self.is_full()
            && let Some(oldest) = self.events.pop_front()
        {
            self.first += 1;
            self.bytes -= weight(&oldest);
            self.raise_floor(oldest.revision());
        }
        if self.events.capacity() > 4 * self.capacity {
            self.events.shrink_to(2 * self.capacity);
        }
        self.events.push_back(event);
    }

    /// The revision after which all events up to the floor are missing, if they can be added in front: after
    /// a relist the order of events is a guess, and nothing can be added in front of a guess.
    pub(crate) fn gap(&self) -> Option<Revision> {
        let follows = self.events.front().is_none_or(|event| event.revision() > self.floor);
        follows.then_some(self.floor)
    }

    fn is_full(&self) -> bool {
        let count = self.events.len();
        count >= self.capacity || (self.bytes > self.max_bytes && count >= self.min)
    }

    /// The room for older events in front.
    pub(crate) fn room(&self) -> Room {
        let events = self.max.saturating_sub(self.events.len());
        Room { events, bytes: self.max_bytes.saturating_sub(self.bytes) }
    }

    /// Puts `older` in front: all events after `after` and up to the floor, with the sequences that they get here.
    pub(crate) fn prepend(&mut self, older: Vec<Event>, after: Revision) {
        debug_assert!(older.len() <= self.room().events, "the caller has asked how much room there is");
        self.set_capacity(self.capacity.max((self.events.len() + older.len()).min(self.max)));
        for event in older.into_iter().rev() {
            self.first -= 1;
            self.bytes += weight(&event);
            self.events.push_front(Arc::new(event.with_sequence(self.first)));
        }
        self.floor = after;
    }

    fn resize(&mut self, now: Duration) {
        if self.events.len() < self.capacity {
            return;
        }
        let age = |at: usize| now.saturating_sub(self.events[at].recorded());
        if age(0) < FRESH {
            self.set_capacity((self.capacity * 2).min(self.max));
        } else if age(self.capacity - self.capacity.div_ceil(4)) > FRESH {
            self.set_capacity((self.capacity / 2).max(self.min));
        }
    }

    fn set_capacity(&mut self, capacity: usize) {
        self.grown += u64::from(capacity > self.capacity);
        self.shrunk += u64::from(capacity < self.capacity);
        self.capacity = capacity;
    }

    /// The sequence of the first event after a revision.
    pub(crate) fn start_after(&self, revision: Revision) -> Result<u64> {
        if revision < self.floor {
            return Err(Error::Compacted { asked: revision, oldest: self.floor });
        }
        let position = self.events.partition_point(|event| event.revision() <= revision);
        Ok(self.first + position as u64)
    }

    /// The events from a sequence on; `None` if it has been dropped.
    pub(crate) fn starting_at(&self, sequence: u64) -> Option<impl Iterator<Item = &Arc<Event>>> {
        let position = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        Some(self.events.range(position.min(self.events.len())..))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use keelson_store::Revision;

    use super::History;
    use crate::error::Error;
    use crate::event::{Event, Place};
    use crate::tests::object;

    fn revision(number: u64) -> Revision {
        Revision::new(number).unwrap()
    }

    fn push(history: &mut History, number: u64, seconds: u64) {
        let place = Place {
            revision: revision(number),
            sequence: history.end(),
            recorded: Duration::from_secs(seconds),
        };
        let event = Event::between(None, Some(object("a", "b", "", number)), place).unwrap();
        history.push(Arc::new(event));
    }

    fn revisions(history: &History, sequence: u64) -> Option<Vec<u64>> {
        Some(history.starting_at(sequence)?.map(|event| event.revision().get()).collect())
    }

    #[test]
    fn large_objects_are_forgotten_sooner() {
        let mut history = History::new(revision(1), 10_000);
        let weight = object("a", "b", "", 2).footprint();
        history.max_bytes = 150 * 2 * weight;
        for number in 2..1000 {
            push(&mut history, number, 0);
        }
        assert!((140..=151).contains(&history.len()), "{}", history.len());
        history.max_bytes = 1;
        push(&mut history, 1000, 0);
        assert_eq!(history.len(), super::MIN_CAPACITY, "some are kept, however large");
    }

    #[test]
    fn a_watch_starts_where_nothing_is_forgotten() {
        let mut history = History::new(revision(10), 3);
        for number in [12, 14, 16] {
            push(&mut history, number, 0);
        }
        let check = |history: &History, after, expected: Option<Vec<u64>>| {
            let start = history.start_after(revision(after));
            assert_eq!(start.ok().and_then(|start| revisions(history, start)), expected, "after {after}");
        };
        check(&history, 9, None);
        check(&history, 10, Some(vec![12, 14, 16]));
        check(&history, 13, Some(vec![14, 16]));
        check(&history, 14, Some(vec![16]));
        check(&history, 16, Some(vec![]));
        check(&history, 99, Some(vec![]));

        push(&mut history, 18, 0);
        check(&history, 11, None);
        check(&history, 12, Some(vec![14, 16, 18]));
        let error = history.start_after(revision(11)).unwrap_err();
        assert!(
            matches!(error, Error::Compacted { asked, oldest } if asked.get() == 11 && oldest.get() == 12)
        );

        history.raise_floor(revision(17));
        check(&history, 16, None);
        assert_eq!(
            revisions(&history, super::FIRST_SEQUENCE + 1),
            Some(vec![14, 16, 18]),
            "watchers are still led through"
        );
        assert_eq!(revisions(&history, 1), None);
    }

    #[test]
    fn the_ring_grows_while_events_are_young_and_shrinks_when_they_are_old() {
        let mut history = History::new(revision(1), 1000);
        let mut number = 1;
        let mut push_at = |history: &mut History, count: u64, seconds| {
            for _ in 0..count {
                number += 1;
                push(history, number, seconds);
            }
        };
        push_at(&mut history, 100, 0);
        assert_eq!((history.len(), history.capacity()), (100, 100));
        push_at(&mut history, 1, 1);
        assert_eq!((history.len(), history.capacity()), (101, 200));
        push_at(&mut history, 5000, 2);
        assert_eq!((history.len(), history.capacity()), (1000, 1000));
        for second in 0..5000 {
            push_at(&mut history, 1, 100 + second);
        }
        assert_eq!((history.len(), history.capacity()), (100, 100), "the last hundred, however old");
        assert_eq!((history.grown, history.shrunk), (4, 4));
    }
}
