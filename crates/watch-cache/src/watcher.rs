//! Watcher: one reader of events, at its own pace.
//!
//! ```text
//!  Initial ──────────▶ Replay ───────────▶ Live ─────▶ Ended
//!  objects of a        history from        own queue     ▲
//!  snapshot            the cursor on                     │ history no longer has the cursor
//!                        ▲   └───────────────────────────┤
//!                        └── queue was full ── Live      │ cache was closed
//! ```
//!
//! From Replay to Live nothing may be lost. The watcher first begins to listen and then reads the history once more:
//! the publisher writes the history first and the queue second, so an event is in one of them or in both, and those
//! in both are recognized by their sequence.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use keelson_store::{Key, Revision};

use crate::bookmark::{Bookmarks, Schedule};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fan_out::{Found, Mailbox};
use crate::scope::Scope;
use crate::shared::{Replay, Shared};
use crate::snapshot::Snapshot;

/// The parameters of a watch.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    /// The start.
    pub start: Start,
    /// The objects.
    pub scope: Scope,
    /// The bookmarks.
    pub bookmarks: Bookmarks,
    /// The duration of the watch, if it is known: a last bookmark comes shortly before the end.
    pub lives: Option<Duration>,
}

impl WatchRequest {
    /// Without bookmarks and without an end.
    pub fn new(start: Start, scope: Scope) -> WatchRequest {
        WatchRequest { start, scope, bookmarks: Bookmarks::Off, lives: None }
    }
}

/// The start of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With all current objects as added, followed by changes.
    Snapshot,
    /// With the changes after a revision. It may lie in the future: then everything up to it is left out.
    After(Revision),
}

/// An item that a watcher gets.
#[derive(Clone, Debug)]
pub enum Signal {
    /// Something happened.
    Event(Arc<Event>),
    /// Everything up to here was delivered.
    Bookmark(Revision),
    /// All initial objects were delivered: the state at this revision.
    InitialEventsEnd(Revision),
}

/// One reader of events. Leaves the cache when it is dropped.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    id: u64,
    scope: Scope,
    phase: Phase,
    /// The next events; unwanted ones are filtered out already.
    buffer: VecDeque<Arc<Event>>,
    /// The sequence of the next history event to read.
    cursor: u64,
    /// Nothing up to this revision is delivered, except initial objects.
    after: Revision,
    /// Everything up to this revision was delivered.
    seen: Revision,
    /// Whether it is still getting the initial objects.
    is_beginning: bool,
    bookmarks: Bookmarks,
    schedule: Schedule,
}

#[derive(Debug)]
enum Phase {
    Initial { snapshot: Snapshot, last: Option<Key> },
    Replay,
    Live,
    Ended,
}

/// The number of initial objects that are taken from the snapshot at a time.
const INITIAL_BATCH: usize = 64;

impl Watcher {
    pub(crate) fn start(shared: Arc<Shared>, request: WatchRequest) -> Result<Watcher> {
        let WatchRequest { start, scope, bookmarks, lives } = request;
        let (phase, cursor, after) = {
            let state = shared.state.lock();
            match start {
                Start::Snapshot => {
                    let (snapshot, end) = (state.snapshot.clone(), state.history.end());
                    let revision = snapshot.revision();
                    (Phase::Initial { snapshot, last: None }, end, revision)
                }
                Start::After(revision) => (Phase::Replay, state.history.start_after(revision)?, revision),
            }
        };
        let mailbox = Arc::new(Mailbox::default());
        let id = shared.fan_out.lock().add(&scope, mailbox.clone()).ok_or(Error::Closed)?;
        Ok(Watcher {
            schedule: Schedule::new(bookmarks, shared.clock.monotonic(), lives),
            shared,
            mailbox,
            id,
            scope,
            phase,
            buffer: VecDeque::new(),
            cursor,
            after,
            seen: after,
            is_beginning: true,
            bookmarks,
        })
    }

    /// The next item; waits for it. `None` when the cache is closed, or after an error. No item is lost when
    /// the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Signal>> {
        loop {
            if let Some(signal) = self.ready() {
                return Some(signal);
            }
            if matches!(self.phase, Phase::Ended) {
                return None;
            }
            match self.schedule.next() {
                None => self.mailbox.rung().await,
                Some(due) => tokio::select! {
                    () = self.mailbox.rung() => (),
                    () = self.shared.clock.sleep_until(due) => (),
                },
            }
        }
    }

    /// The next item, if it is available already: a response can fill a frame before it is sent.
    pub fn ready(&mut self) -> Option<Result<Signal>> {
        if let Some(bookmark) = self.bookmark() {
            return Some(Ok(bookmark));
        }
        loop {
            if let Some(event) = self.buffer.pop_front() {
                if !matches!(self.phase, Phase::Initial { .. }) {
                    self.seen = event.revision();
                }
                return Some(Ok(Signal::Event(event)));
            }
            match &self.phase {
                Phase::Initial { .. } => {
                    if let Some(end) = self.fill_initial() {
                        return Some(Ok(end));
                    }
                }
                Phase::Replay => {
                    if let Err(error) = self.fill_from_history() {
                        return Some(Err(error));
                    }
                }
                Phase::Live => {
                    if !self.fill_from_queue() {
                        return None;
                    }
                }
                Phase::Ended => return None,
            }
        }
    }

    /// Takes some initial objects. After the last one, returns the bookmark that marks their end if it was
    /// requested.
    fn fill_initial(&mut self) -> Option<Signal> {
        let Phase::Initial { snapshot, last } = &mut self.phase else {
            return None;
        };
        let objects = snapshot.scoped(&self.scope, last.as_ref()).take(INITIAL_BATCH);
        let mut reached = None;
        for (key, object) in objects {
            reached = Some(key.clone());
            self.buffer.push_back(Arc::new(Event::initial(object.clone(), self.after)));
        }
        if reached.is_some() {
            self.shared.counters.initial_events.add(self.buffer.len() as u64);
            *last = reached;
            return None;
        }
        self.phase = Phase::Replay;
        (self.bookmarks == Bookmarks::WithInitialEnd).then_some(Signal::InitialEventsEnd(self.after))
    }

    /// Takes some events from the history. At its end, begins to listen.
    fn fill_from_history(&mut self) -> Result<()> {
        let at_end = self.replay()?;
        if self.is_beginning {
            self.shared.counters.initial_events.add(self.buffer.len() as u64);
        }
        if !at_end || !self.buffer.is_empty() {
            return Ok(());
        }
        self.go_live()
    }

    /// Listens, and reads the events between the last read of the history and now.
    fn go_live(&mut self) -> Result<()> {
        self.is_beginning = false;
        if !self.mailbox.listen() {
            self.phase = Phase::Ended;
        } else if self.replay()? {
            self.phase = Phase::Live;
        }
        Ok(())
    }

    /// Takes some events from the history. Returns whether these were the last ones.
    fn replay(&mut self) -> Result<bool> {
        let (scope, after) = (&self.scope, self.after);
        let wanted = |event: &Event| event.revision() > after && scope.concerns(event);
        match self.shared.replay(self.cursor, wanted, &mut self.buffer) {
            Replay::Read { next, at_end } => {
                self.cursor = next;
                Ok(at_end)
            }
            Replay::Gone => {
                self.phase = Phase::Ended;
                self.shared.counters.lagged.add(1);
                Err(Error::Lagged { seen: self.seen })
            }
        }
    }

    /// Takes the events in the queue. Returns whether there is a reason to look again.
    fn fill_from_queue(&mut self) -> bool {
        match self.mailbox.take(&mut self.buffer) {
            Found::Nothing => return false,
            Found::Events => {
                let (scope, after, cursor) = (&self.scope, self.after, self.cursor);
                if let Some(last) = self.buffer.back() {
                    self.cursor = cursor.max(last.sequence() + 1);
                }
                let wanted = |event: &Event| {
                    event.sequence() >= cursor && event.revision() > after && scope.concerns(event)
                };
                self.buffer.retain(|event| wanted(event));
            }
            Found::Overflow { from } => {
                self.cursor = self.cursor.max(from);
                self.phase = Phase::Replay;
            }
            Found::Closed => self.phase = Phase::Ended,
        }
        true
    }

    /// A bookmark, if one is due and has a new revision.
    fn bookmark(&mut self) -> Option<Signal> {
        let due = self.schedule.next()? <= self.shared.clock.monotonic();
        if !due || matches!(self.phase, Phase::Initial { .. } | Phase::Ended) {
            return None;
        }
        self.schedule.take(self.shared.clock.monotonic());
        // A watcher that has more to read reports progress only up to what it has read.
        let has_all = self.buffer.is_empty() && matches!(self.phase, Phase::Live);
        if has_all && let Some(revision) = self.shared.settled(&self.mailbox) {
            self.seen = self.seen.max(revision);
        }
        (self.seen > self.after).then_some(Signal::Bookmark(self.seen))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.fan_out.lock().remove(&self.scope, self.id);
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::Fixture;
    use crate::{Scope, Start, WatchRequest};

    #[tokio::test]
    async fn what_is_published_between_history_and_queue_comes_once() {
        let fixture = Fixture::new().await;
        let mut client = fixture.watch(WatchRequest::new(Start::After(fixture.cache.revision()), Scope::All));
        let watcher = &mut client.watcher;
        assert!(watcher.replay().unwrap(), "the history ends here");
        fixture.put("a/before", "n1").await;
        fixture.fresh().await;
        assert!(watcher.mailbox.listen());
        fixture.put("a/between", "n1").await;
        fixture.fresh().await;
        watcher.go_live().unwrap();
        fixture.put("a/after", "n1").await;
        fixture.fresh().await;
        assert_eq!(client.ready(), "+a/before=n1 +a/between=n1 +a/after=n1");
    }
}
