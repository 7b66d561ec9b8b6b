//! Watch: reads the history up to the present, then its queue.
//!
//! The order of the steps makes it complete. The writer commits, then makes the new `latest` visible, then
//! fills queues. The watch starts (or restarts) its queue first and reads `latest` second: everything
//! committed after that read goes into the queue, everything before it is in the history. Events that are in
//! both are recognized by their revision.

use std::collections::VecDeque;
use std::sync::Arc;

use keelson_store::{Event, Key, Result, Revision, StoreError};

use crate::shared::Shared;
use crate::watchers::{Queue, Rest};

/// The state of a watch between two events.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    prefix: Key,
    queue: Arc<Queue>,
    /// Events that are ready.
    ready: VecDeque<Event>,
    /// Everything up to here was delivered or is ready.
    seen: Revision,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// The start revision has not been checked yet.
    New,
    /// Reads the history up to here.
    CatchingUp(Revision, Tell),
    Live,
}

/// Whether to send an event when the present is reached.
#[derive(Clone, Copy, PartialEq)]
enum Tell {
    Progress,
    Nothing,
}

impl Watch {
    /// Registers at once: from now on no event is missed, even if the watch is not polled.
    pub(crate) fn new(shared: Arc<Shared>, prefix: Key, after: Revision) -> Watch {
        let queue = Queue::new(shared.options.watch_queue);
        let mut guard = shared.state.write();
        let state = &mut *guard;
        let allowed = state.check_kept(after).is_ok();
        if allowed {
            let (index, oldest) = (&state.index, state.oldest);
            let changed = || index.last_change(&prefix).map_or(oldest, |changed| changed.max(oldest));
            state.watchers.add(&prefix, queue.clone(), changed);
        }
        let stage = if allowed { Stage::CatchingUp(state.latest, Tell::Progress) } else { Stage::New };
        drop(guard);
        Watch { shared, prefix, queue, ready: VecDeque::new(), seen: after, stage }
    }

    /// The next event. After an error there is none.
    pub(crate) async fn next(&mut self) -> Result<Event> {
        let clock = self.shared.options.clock.clone();
        let deadline = clock.monotonic() + self.shared.options.progress_interval;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            match self.stage {
                Stage::New => self.refuse()?,
                Stage::CatchingUp(through, tell) if self.seen >= through => {
                    self.stage = Stage::Live;
                    if tell == Tell::Progress {
                        return Ok(Event::Progress(self.seen));
                    }
                }
                Stage::CatchingUp(through, _) => self.read_history(through).await?,
                Stage::Live => {
                    let published = self.shared.published();
                    if self.look_into_queue() {
                        continue;
                    }
                    if clock.monotonic() >= deadline {
                        return Ok(Event::Progress(published.max(self.seen)));
                    }
                    let closed = self.shared.tasks.token();
                    tokio::select! {
                        () = closed.cancelled() => return Err(StoreError::Closed),
                        () = self.queue.news() => (),
                        () = clock.sleep_until(deadline) => (),
                    }
                }
            }
        }
    }

    /// Returns the error if the watch may not start at this revision.
    fn refuse(&mut self) -> Result<()> {
        self.shared.state.read().check_kept(self.seen)?;
        // What was in the future has come meanwhile: then it may start after all.
        *self = Watch::new(self.shared.clone(), self.prefix.clone(), self.seen);
        Ok(())
    }

    async fn read_history(&mut self, through: Revision) -> Result<()> {
        let (shared, prefix, after) = (self.shared.clone(), self.prefix.clone(), self.seen);
        let read = tokio::task::spawn_blocking(move || shared.history(&prefix, after, through));
        let chunk = read.await.map_err(|error| StoreError::Unavailable(error.into()))??;
        if chunk.reached == self.seen {
            // A row that must be there is not.
            return Err(StoreError::Corrupt { revision: self.seen.next() });
        }
        self.ready.extend(chunk.events);
        self.seen = chunk.reached;
        Ok(())
    }

    /// Takes the events in the queue; returns whether there is something to do.
    fn look_into_queue(&mut self) -> bool {
        let (events, rest) = self.queue.take();
        for event in events {
            if event.revision() > self.seen {
                self.seen = event.revision();
                self.ready.push_back(event);
            }
        }
        if rest == Rest::InHistory {
            self.queue.restart();
            let latest = self.shared.state.read().latest;
            self.queue.skip(latest);
            self.stage = Stage::CatchingUp(latest, Tell::Nothing);
        }
        !self.ready.is_empty() || rest == Rest::InHistory
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.state.write().watchers.remove(&self.prefix, &self.queue);
    }
}
