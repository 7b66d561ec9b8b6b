//! Fan-out: delivers each event to the watchers it concerns.
//!
//! Every watcher is in exactly one place, chosen by its scope, so that an event finds its watchers by looking
//! up a handful of keys, and no watcher gets it twice:
//!
//! ```text
//! event: pod a/web moves from node n1 to n2
//!   all                       ─▶ the scheduler, controllers
//!   namespaces["a"]           ─▶ watchers of the namespace
//!   names[("a", "web")]       ─▶ watchers of this pod
//!   fields[(nodeName, "n1")]  ─▶ the node that loses it
//!   fields[(nodeName, "n2")]  ─▶ the node that gets it
//! ```

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use keelson_object::{Frozen, SmolStr};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::event::Event;
use crate::metrics::Counters;
use crate::scope::Scope;

/// All watchers of a cache.
#[derive(Debug)]
pub(crate) struct FanOut {
    all: Members,
    namespaces: HashMap<SmolStr, Members>,
    names: HashMap<(SmolStr, SmolStr), Members>,
    fields: HashMap<(usize, SmolStr), Members>,
    /// The positions of the fields by which watchers are found.
    indexed: Box<[usize]>,
    /// The number of events that may wait for a watcher.
    queue: usize,
    next_id: u64,
    count: usize,
    closed: bool,
}

type Members = HashMap<u64, Arc<Mailbox>>;

impl FanOut {
    pub(crate) fn new(indexes: &[usize], queue: usize) -> FanOut {
        FanOut {
            all: Members::new(),
            namespaces: HashMap::new(),
            names: HashMap::new(),
            fields: HashMap::new(),
            indexed: indexes.into(),
            queue: queue.max(1),
            next_id: 0,
            count: 0,
            closed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns an id by which the watcher can be removed; `None` when the cache is closed.
    pub(crate) fn add(&mut self, scope: &Scope, mailbox: Arc<Mailbox>) -> Option<u64> {
        if self.closed {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.count += 1;
        let members = match scope {
            Scope::All => &mut self.all,
            Scope::Namespace(namespace) => self.namespaces.entry(namespace.clone()).or_default(),
            Scope::Name { namespace, name } => {
                self.names.entry((namespace.clone(), name.clone())).or_default()
            }
            Scope::Field { index, value } if self.indexed.contains(index) => {
                self.fields.entry((*index, value.clone())).or_default()
            }
            // It gets all events, and filters them itself.
            Scope::Field { .. } => &mut self.all,
        };
        members.insert(id, mailbox);
        Some(id)
    }

    pub(crate) fn remove(&mut self, scope: &Scope, id: u64) {
        let removed = match scope {
            Scope::All => self.all.remove(&id),
            Scope::Namespace(namespace) => remove_from(&mut self.namespaces, namespace.clone(), id),
            Scope::Name { namespace, name } => {
                remove_from(&mut self.names, (namespace.clone(), name.clone()), id)
            }
            Scope::Field { index, value } if self.indexed.contains(index) => {
                remove_from(&mut self.fields, (*index, value.clone()), id)
            }
            Scope::Field { .. } => self.all.remove(&id),
        };
        self.count -= usize::from(removed.is_some());
    }

    /// Hands the event to the watchers it concerns, without waiting for them.
    pub(crate) fn deliver(&self, event: &Arc<Event>, counters: &Counters) {
        let mut tally = Tally::default();
        let mut hand_to = |members: Option<&Members>| {
            for mailbox in members.into_iter().flat_map(HashMap::values) {
                tally.count(mailbox.deliver(event, self.queue));
            }
        };
        let at = event.object().index();
        hand_to(Some(&self.all));
        if !self.namespaces.is_empty() {
            hand_to(self.namespaces.get(&at.namespace));
        }
        if !self.names.is_empty() {
            hand_to(self.names.get(&(at.namespace.clone(), at.name.clone())));
        }
        if !self.fields.is_empty() {
            for position in &self.indexed {
                let value = |object: &Frozen| object.index().fields.get(*position).cloned();
                let (new, old) = (value(event.object()), event.previous().and_then(|object| value(object)));
                let left = old.filter(|old| new.as_ref() != Some(old));
                for value in new.into_iter().chain(left) {
                    hand_to(self.fields.get(&(*position, value)));
                }
            }
        }
        counters.queued.add(tally.queued);
        counters.wakeups.add(tally.wakeups);
        counters.overflows.add(tally.overflows);
    }

    /// Ends all watchers, and accepts no new ones.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.end_all();
    }

    /// Ends all current watchers; new ones may come.
    pub(crate) fn end_all(&self) {
        let maps = self.namespaces.values().chain(self.names.values()).chain(self.fields.values());
        for mailbox in maps.chain([&self.all]).flat_map(HashMap::values) {
            mailbox.close();
        }
    }
}

fn remove_from<K: std::hash::Hash + Eq>(
    map: &mut HashMap<K, Members>,
    key: K,
    id: u64,
) -> Option<Arc<Mailbox>> {
    let std::collections::hash_map::Entry::Occupied(mut place) = map.entry(key) else {
        return None;
    };
    let removed = place.get_mut().remove(&id);
    if place.get().is_empty() {
        place.remove();
    }
    removed
}

#[derive(Default)]
struct Tally {
    queued: u64,
    wakeups: u64,
    overflows: u64,
}

impl Tally {
    fn count(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Skipped => (),
            Delivery::Queued => self.queued += 1,
            Delivery::Woken => {
                self.queued += 1;
                self.wakeups += 1;
            }
            Delivery::Overflowed => self.overflows += 1,
        }
    }
}

/// The queue of events for a watcher.
///
/// It takes events only while the watcher listens. A watcher that is busy with its initial objects, or that
/// could not keep up, reads the history instead, and listens again when it has reached the end of the
/// history.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inbox: Mutex<Inbox>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Inbox {
    mode: Mode,
    events: VecDeque<Arc<Event>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// The watcher reads the history.
    #[default]
    Away,
    Listening,
    /// The queue was full and was dropped; `from` is the sequence of the first event in it.
    Overflowed {
        from: u64,
    },
    Closed,
}

#[derive(Clone, Copy)]
enum Delivery {
    Skipped,
    Queued,
    Woken,
    Overflowed,
}

/// The content of a mailbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Events,
    /// Go on from this sequence of the history.
    Overflow {
        from: u64,
    },
    Closed,
}

impl Mailbox {
    fn deliver(&self, event: &Arc<Event>, limit: usize) -> Delivery {
        let mut inbox = self.inbox.lock();
        if inbox.mode != Mode::Listening {
            return Delivery::Skipped;
        }
        if inbox.events.len() < limit {
            inbox.events.push_back(event.clone());
            if inbox.events.len() > 1 {
                return Delivery::Queued;
            }
            drop(inbox);
            self.bell.notify_one();
            return Delivery::Woken;
        }
        let from = inbox.events.front().map_or(event.sequence(), |event| event.sequence());
        inbox.mode = Mode::Overflowed { from };
        inbox.events = VecDeque::new();
        Delivery::Overflowed
    }

    /// Begins to take events, with an empty queue. Returns whether the cache is still open.
    pub(crate) fn listen(&self) -> bool {
        let mut inbox = self.inbox.lock();
        inbox.events.clear();
        if inbox.mode != Mode::Closed {
            inbox.mode = Mode::Listening;
        }
        inbox.mode != Mode::Closed
    }

    /// Moves all waiting events to `buffer`, which is empty.
    pub(crate) fn take(&self, buffer: &mut VecDeque<Arc<Event>>) -> Found {
        let mut inbox = self.inbox.lock();
        match inbox.mode {
            Mode::Overflowed { from } => {
                inbox.mode = Mode::Away;
                Found::Overflow { from }
            }
            _ if !inbox.events.is_empty() => {
                std::mem::swap(&mut inbox.events, buffer);
                Found::Events
            }
            Mode::Closed => Found::Closed,
            Mode::Away | Mode::Listening => Found::Nothing,
        }
    }

    /// Whether the watcher listens and has taken everything.
    pub(crate) fn is_quiet(&self) -> bool {
        let inbox = self.inbox.lock();
        inbox.mode == Mode::Listening && inbox.events.is_empty()
    }

    /// Waits until there may be something new.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    fn close(&self) {
        self.inbox.lock().mode = Mode::Closed;
        self.bell.notify_one();
    }
}
