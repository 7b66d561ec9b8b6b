//! Watchers: the registered watches by prefix, and their queues.
//!
//! A prefix normally ends with a slash, so the prefixes of a key are found by its slashes:
//!
//! ```text
//! /registry/pods/default/nginx
//! ▲        ▲    ▲       ▲
//! "/"      │    │       "/registry/pods/default/"    four lookups, whatever the number of watches
//!          │    "/registry/pods/"
//!          "/registry/"
//! ```
//!
//! Prefixes of another form are tested one by one; there are never many of them.
//!
//! A queue is bounded. A full queue is marked as behind and gets no more events, so a slow reader costs
//! nothing; when it continues, it reads the history and starts a new queue.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use keelson_store::{Event, Key, Revision};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// All watches of a store.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    /// Watches whose prefix ends with a slash, by prefix.
    folders: HashMap<Key, Watched>,
    /// Watches with other prefixes.
    others: HashMap<Key, Watched>,
}

/// A prefix that is watched.
#[derive(Debug)]
struct Watched {
    /// The last revision that changed anything under it.
    changed: Revision,
    queues: Vec<Arc<Queue>>,
}

impl Watchers {
    /// The last change of a prefix, if it is watched.
    pub(crate) fn changed(&self, prefix: &Key) -> Option<Revision> {
        Some(self.of(prefix).get(prefix)?.changed)
    }

    /// Adds a watch of a prefix; `changed` gives the last change of the prefix.
    pub(crate) fn add(&mut self, prefix: &Key, queue: Arc<Queue>, changed: impl FnOnce() -> Revision) {
        let new = || Watched { changed: changed(), queues: Vec::new() };
        self.of_mut(prefix).entry(prefix.clone()).or_insert_with(new).queues.push(queue);
    }

    pub(crate) fn remove(&mut self, prefix: &Key, queue: &Arc<Queue>) {
        let all = self.of_mut(prefix);
        if let Some(watched) = all.get_mut(prefix) {
            watched.queues.retain(|other| !Arc::ptr_eq(other, queue));
            if watched.queues.is_empty() {
                all.remove(prefix);
            }
        }
    }

    /// Records that a key changed, and returns the queues of the watches it concerns.
    pub(crate) fn note(&mut self, key: &Key, revision: Revision) -> Vec<Arc<Queue>> {
        let mut interested = Vec::new();
        let mut note = |watched: &mut Watched| {
            watched.changed = revision;
            interested.extend(watched.queues.iter().cloned());
        };
        if !self.folders.is_empty() {
            let text = key.as_str();
            for end in memchr_slashes(text) {
                if let Some(watched) = self.folders.get_mut(&text[..=end]) {
                    note(watched);
                }
            }
        }
        for (_, watched) in self.others.iter_mut().filter(|(prefix, _)| key.is_under(prefix)) {
            note(watched);
        }
        interested
    }

    fn of(&self, prefix: &Key) -> &HashMap<Key, Watched> {
        if prefix.as_str().ends_with('/') { &self.folders } else { &self.others }
    }

    fn of_mut(&mut self, prefix: &Key) -> &mut HashMap<Key, Watched> {
        if prefix.as_str().ends_with('/') { &mut self.folders } else { &mut self.others }
    }
}

fn memchr_slashes(text: &str) -> impl Iterator<Item = usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'/').map(|(position, _)| position)
}

/// The way of events to one watch.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    capacity: usize,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// The last event that found no place.
    lost: Option<Revision>,
    /// The reader gets the events up to here from the history.
    skipped: Option<Revision>,
}

impl Waiting {
    fn lose(&mut self, revision: Revision) {
        if Some(revision) > self.skipped {
            self.lost = Some(revision);
        }
    }
}

/// Whether there are events that were not in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The queue had everything.
    Nothing,
    /// The queue ran over: the rest is in the history.
    InHistory,
}

impl Queue {
    pub(crate) fn new(capacity: usize) -> Arc<Queue> {
        Arc::new(Queue { waiting: Mutex::default(), capacity, news: Notify::new() })
    }

    /// Adds an event, unless the queue is full or was.
    pub(crate) fn push(&self, event: Event) {
        let mut waiting = self.waiting.lock();
        let revision = event.revision();
        if waiting.lost.is_some() || waiting.events.len() >= self.capacity {
            waiting.lose(revision);
        } else if Some(revision) > waiting.skipped {
            waiting.events.push_back(event);
        }
        drop(waiting);
        self.news.notify_one();
    }

    /// The events since the last call.
    pub(crate) fn take(&self) -> (VecDeque<Event>, Rest) {
        let mut waiting = self.waiting.lock();
        let rest = if waiting.lost.is_some() { Rest::InHistory } else { Rest::Nothing };
        (std::mem::take(&mut waiting.events), rest)
    }

    /// Begins to collect again. What is committed before this call must be read from the history.
    pub(crate) fn restart(&self) {
        *self.waiting.lock() = Waiting::default();
    }

    /// The reader takes everything up to here from the history. The writer may be about to push some of these
    /// events: they must not take places, or a reader that has seen everything would count as behind.
    pub(crate) fn skip(&self, through: Revision) {
        let mut waiting = self.waiting.lock();
        waiting.skipped = Some(through);
        waiting.events.retain(|event| event.revision() > through);
        waiting.lost = waiting.lost.filter(|lost| *lost > through);
    }

    /// Waits until there may be something new. Events before the call are not missed.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_store::{Event, Key, Revision};

    use super::{Queue, Rest, Watchers};

    const PREFIXES: [&str; 7] = [
        "/",
        "/registry/",
        "/registry/pods/",
        "/registry/pods/a/",
        "/registry/pod",
        "",
        "/registry/pods/a/x",
    ];

    /// Checks which prefixes are notified of a key.
    #[track_caller]
    fn check(key: &str, expected: &[&str]) {
        let mut watchers = Watchers::default();
        let queues: Vec<Arc<Queue>> = PREFIXES.iter().map(|_| Queue::new(1)).collect();
        for (prefix, queue) in PREFIXES.iter().zip(&queues) {
            watchers.add(&Key::from(*prefix), queue.clone(), || Revision::FIRST);
        }
        let seven = Revision::new(7).unwrap();
        let interested = watchers.note(&Key::from(key), seven);
        let mut heard = Vec::new();
        for (prefix, queue) in PREFIXES.iter().zip(&queues) {
            let hears = interested.iter().any(|other| Arc::ptr_eq(other, queue));
            assert_eq!(watchers.changed(&Key::from(*prefix)) == Some(seven), hears);
            if hears {
                heard.push(*prefix);
            }
        }
        assert_eq!(heard, expected);
        for (prefix, queue) in PREFIXES.iter().zip(&queues) {
            watchers.remove(&Key::from(*prefix), queue);
        }
        assert!(watchers.folders.is_empty() && watchers.others.is_empty());
    }

    #[test]
    fn a_key_concerns_its_prefixes() {
        check("/registry/pods/a/x", &PREFIXES);
        check("/registry/pods/b/x", &["/", "/registry/", "/registry/pods/", "/registry/pod", ""]);
        check("/registry/podtemplates/a/x", &["/", "/registry/", "/registry/pod", ""]);
        check("/registry/pods/", &["/", "/registry/", "/registry/pods/", "/registry/pod", ""]);
        check("/registry/pods", &["/", "/registry/", "/registry/pod", ""]);
        check("other", &[""]);
    }

    #[test]
    fn a_full_queue_keeps_what_it_has_and_says_that_there_is_more() {
        let queue = Queue::new(2);
        let event = |number| Event::Progress(Revision::new(number).unwrap());
        for number in 1..=4 {
            queue.push(event(number));
        }
        assert_eq!(queue.take(), (vec![event(1), event(2)].into(), Rest::InHistory));
        queue.push(event(5));
        assert_eq!(queue.take(), (vec![].into(), Rest::InHistory));
        queue.restart();
        queue.push(event(6));
        assert_eq!(queue.take(), (vec![event(6)].into(), Rest::Nothing));
    }

    #[test]
    fn what_is_read_from_the_history_takes_no_place_in_the_queue() {
        let queue = Queue::new(1);
        let revision = |number| Revision::new(number).unwrap();
        let event = |number| Event::Progress(revision(number));
        queue.push(event(1));
        queue.push(event(2));
        queue.skip(revision(3));
        assert_eq!(queue.take(), (vec![].into(), Rest::Nothing));
        queue.push(event(3));
        queue.push(event(4));
        assert_eq!(queue.take(), (vec![event(4)].into(), Rest::Nothing));
        queue.push(event(5));
        queue.push(event(6));
        queue.skip(revision(5));
        assert_eq!(queue.take(), (vec![].into(), Rest::InHistory));
    }
}
