//! The six guarantees that etcd gives about watches, one checker each.

use std::collections::{BTreeMap, HashSet};

use super::{Subject, next_change, until_progress};
use crate::{At, Entry, Event, Key, Revision};

/// The events of two watches from the beginning to the end of a history.
pub struct Observation<'s> {
    /// The store of which it is.
    pub subject: &'s Subject,
    /// The events of a watch of everything.
    pub whole: &'s [Event],
    /// The events of a watch of one prefix.
    pub part: &'s [Event],
    /// The prefix.
    pub prefix: Key,
}

impl Observation<'_> {
    fn both(&self) -> [&[Event]; 2] {
        [self.whole, self.part]
    }
}

fn changes(events: &[Event]) -> impl Iterator<Item = (&Key, &Event)> {
    events.iter().filter_map(|event| Some((event.key()?, event)))
}

/// Events are ordered by revision: an event never comes before one that happened earlier.
pub fn ordered(observation: &Observation<'_>) {
    for events in observation.both() {
        for pair in events.windows(2) {
            assert!(pair[0].revision() <= pair[1].revision(), "{pair:?} are out of order");
        }
    }
}

/// An event never comes twice.
pub fn unique(observation: &Observation<'_>) {
    for events in observation.both() {
        let mut seen = HashSet::new();
        for (_, event) in changes(events) {
            assert!(seen.insert(event.revision()), "{event:?} came twice");
        }
    }
}

/// A revision comes whole: its event carries the entry as the write left it.
pub fn atomic(observation: &Observation<'_>) {
    for events in observation.both() {
        let mut state: BTreeMap<&Key, &Entry> = BTreeMap::new();
        for (key, event) in changes(events) {
            let before = state.get(key).copied();
            match event {
                Event::Put { entry } => {
                    assert_eq!(entry.created, before.map_or(entry.modified, |before| before.created));
                    assert_eq!(entry.version, before.map_or(1, |before| before.version + 1));
                    state.insert(key, entry);
                }
                Event::Delete { .. } => {
                    assert!(before.is_some(), "before {event:?}");
                    state.remove(key);
                }
                Event::Progress(_) => unreachable!("progress has no key"),
            }
        }
    }
}

/// No event is left out: the watch of everything has one for each revision, that of a prefix all that belong
/// to it.
pub fn reliable(observation: &Observation<'_>) {
    let revisions: Vec<u64> = changes(observation.whole).map(|(_, event)| event.revision().get()).collect();
    let gapless: Vec<u64> = (Revision::FIRST.get() + 1..).take(revisions.len()).collect();
    assert_eq!(revisions, gapless);

    let end = observation.part.last().expect("it has an end").revision();
    let expected: Vec<&Event> = changes(observation.whole)
        .filter(|(key, event)| key.is_under(&observation.prefix) && event.revision() <= end)
        .map(|(_, event)| event)
        .collect();
    let seen: Vec<&Event> = changes(observation.part).map(|(_, event)| event).collect();
    assert_eq!(seen, expected);
}

/// A watch that failed can be resumed after the last revision that it delivered, as if it had not failed.
pub async fn resumable(observation: &Observation<'_>) {
    let seen: Vec<&Event> = changes(observation.part).map(|(_, event)| event).collect();
    for broke_after in (0..seen.len()).step_by(7) {
        let last = seen[broke_after].revision();
        let mut watch = observation.subject.store.watch(&observation.prefix, last);
        for expected in &seen[broke_after + 1..] {
            assert_eq!(&next_change(&mut watch).await, *expected, "resumed after {last}");
        }
    }
}

/// Progress to a revision means that everything up to it has come, and only later things follow.
pub fn bookmarkable(observation: &Observation<'_>) {
    for events in observation.both() {
        let mut progress = Revision::FIRST;
        for event in events {
            match event {
                Event::Progress(revision) => progress = *revision,
                change => assert!(change.revision() > progress, "{change:?} came after progress {progress}"),
            }
        }
    }
}

/// Replaying events results in the state that a list returns.
pub async fn state_is_what_events_say(observation: &Observation<'_>) {
    let mut watch = observation.subject.watch("/", Revision::FIRST);
    let mut state = BTreeMap::new();
    for event in until_progress(&mut watch).await {
        match event {
            Event::Put { entry, .. } => drop(state.insert(entry.key.clone(), entry)),
            Event::Delete { key, .. } => drop(state.remove(&key)),
            Event::Progress(_) => (),
        }
    }
    let listed = observation.subject.list("/", At::Latest).await.expect("listing works").entries;
    assert_eq!(state.into_values().collect::<Vec<_>>(), listed);
}
