//! Event: a change of one object.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use keelson_object::Frozen;
use keelson_store::Revision;

use crate::revise::at_revision;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The object came into being, or into view.
    Added,
    /// The object has another state.
    Modified,
    /// The object was deleted, or no longer matches.
    Deleted,
}

/// A change of one object; shared by all its watchers.
#[derive(Debug)]
pub struct Event {
    kind: EventKind,
    object: Arc<Frozen>,
    previous: Option<Arc<Frozen>>,
    revision: Revision,
    /// The place in the history.
    sequence: u64,
    /// The time at which the cache got it, on the cache's clock.
    recorded: Duration,
    departed: OnceLock<Arc<Frozen>>,
    frame: OnceLock<Bytes>,
}

/// The place of an event in the history of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) revision: Revision,
    pub(crate) sequence: u64,
    pub(crate) recorded: Duration,
}

impl Event {
    /// The event of a change from `previous` to `object`; `None` if both are absent.
    pub(crate) fn between(
        previous: Option<Arc<Frozen>>,
        object: Option<Arc<Frozen>>,
        place: Place,
    ) -> Option<Event> {
        let (kind, object) = match (&previous, object) {
            (None, None) => return None,
            (None, Some(object)) => (EventKind::Added, object),
            (Some(_), Some(object)) => (EventKind::Modified, object),
            (Some(last), None) => (EventKind::Deleted, Arc::new(at_revision(last, place.revision.get()))),
        };
        Some(Event {
            kind,
            object,
            previous,
            revision: place.revision,
            sequence: place.sequence,
            recorded: place.recorded,
            departed: OnceLock::new(),
            frame: OnceLock::new(),
        })
    }

    /// An object that a watcher sees for the first time, as of a snapshot.
    pub(crate) fn initial(object: Arc<Frozen>, snapshot: Revision) -> Event {
        Event {
            kind: EventKind::Added,
            revision: Revision::new(object.revision()).unwrap_or(snapshot),
            object,
            previous: None,
            sequence: 0,
            recorded: Duration::ZERO,
            departed: OnceLock::new(),
            frame: OnceLock::new(),
        }
    }

    /// The same event with both states in another form, such as another version.
    #[must_use]
    pub fn with_states(&self, object: Arc<Frozen>, previous: Option<Arc<Frozen>>) -> Event {
        Event {
            kind: self.kind,
            object,
            previous,
            revision: self.revision,
            sequence: self.sequence,
            recorded: self.recorded,
            departed: OnceLock::new(),
            frame: OnceLock::new(),
        }
    }

    /// The same event with another sequence number.
    pub(crate) fn with_sequence(self, sequence: u64) -> Event {
        Event { sequence, ..self }
    }

    /// The kind of the event, for a watcher of all objects.
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// The new state; for a deleted object the last state, with the revision of the deletion.
    pub fn object(&self) -> &Arc<Frozen> {
        &self.object
    }

    /// The state before.
    pub fn previous(&self) -> Option<&Arc<Frozen>> {
        self.previous.as_ref()
    }

    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The event for a watcher of matching objects only: an object that begins to match is added, one that no
    /// longer matches is deleted, with its last matching content and the revision of this event.
    ///
    /// Upstream: cacher/cache_watcher.go, convertToWatchEvent (v1.36.4).
    pub fn transition(&self, matches: impl Fn(&Frozen) -> bool) -> Option<(EventKind, Arc<Frozen>)> {
        let before = self.previous.as_deref().is_some_and(&matches);
        let now = self.kind != EventKind::Deleted && matches(&self.object);
        match (before, now) {
            (false, false) => None,
            (false, true) => Some((EventKind::Added, self.object.clone())),
            (true, true) => Some((EventKind::Modified, self.object.clone())),
            (true, false) => Some((EventKind::Deleted, self.departed()?.clone())),
        }
    }

    /// The previous content with the revision of this event, made on first use.
    fn departed(&self) -> Option<&Arc<Frozen>> {
        let previous = self.previous.as_ref()?;
        match self.kind {
            EventKind::Deleted => Some(&self.object),
            _ => Some(self.departed.get_or_init(|| Arc::new(at_revision(previous, self.revision.get())))),
        }
    }

    /// The encoded event, made by the first watcher that needs it and shared by all others.
    ///
    /// There is one slot, for the most common encoding of the unchanged event. It lives as long as the event
    /// is in the history, so a frame that is cheap to build should not be kept here.
    pub fn frame(&self, make: impl FnOnce() -> Bytes) -> &Bytes {
        self.frame.get_or_init(make)
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(crate) fn recorded(&self) -> Duration {
        self.recorded
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use keelson_object::Frozen;
    use keelson_store::Revision;

    use super::{Event, EventKind, Place};
    use crate::tests::object;

    /// `previous` and `now` are values of the field on which the selector looks for `in`; `None` is absent.
    #[track_caller]
    fn check(previous: Option<&str>, now: Option<&str>, expected: Option<(EventKind, &str, u64)>) {
        let place = Place { revision: Revision::new(9).unwrap(), sequence: 0, recorded: Duration::ZERO };
        let freeze = |value: Option<&str>, revision| value.map(|value| object("a", "b", value, revision));
        let event = Event::between(freeze(previous, 5), freeze(now, 9), place).expect("something happened");
        let field = |object: &Frozen| object.index().fields[0].clone();
        let seen = event.transition(|object| field(object) == "in");
        let seen = seen.map(|(kind, object)| (kind, field(&object), object.revision()));
        assert_eq!(seen, expected.map(|(kind, value, revision)| (kind, value.into(), revision)));
    }

    #[test]
    fn objects_come_into_view_and_leave_it() {
        use EventKind::{Added, Deleted, Modified};
        check(None, Some("in"), Some((Added, "in", 9)));
        check(None, Some("out"), None);
        check(Some("in"), Some("in"), Some((Modified, "in", 9)));
        check(Some("out"), Some("in"), Some((Added, "in", 9)));
        check(Some("in"), Some("out"), Some((Deleted, "in", 9)));
        check(Some("out"), Some("out"), None);
        check(Some("in"), None, Some((Deleted, "in", 9)));
        check(Some("out"), None, None);
    }

    #[test]
    fn a_deleted_object_carries_the_revision_of_its_deletion() {
        let place = Place { revision: Revision::new(9).unwrap(), sequence: 0, recorded: Duration::ZERO };
        let event = Event::between(Some(object("a", "b", "x", 5)), None, place).unwrap();
        assert_eq!(event.kind(), EventKind::Deleted);
        let text = String::from_utf8(event.object().json().to_vec()).unwrap();
        assert!(text.contains(r#""resourceVersion":"9""#), "{text}");
        assert_eq!(event.previous().unwrap().revision(), 5);
    }

    #[test]
    fn a_frame_is_made_once() {
        let event = Event::initial(object("a", "b", "x", 5), Revision::new(9).unwrap());
        assert_eq!(event.revision().get(), 5);
        assert_eq!(event.frame(|| Bytes::from_static(b"first")), "first");
        assert_eq!(event.frame(|| Bytes::from_static(b"second")), "first");
    }
}
