//! Backfill: a watch resumes after a restart of the server.
//!
//! The history in memory begins with the process. A client that was connected before names its last resourceVersion.
//! The events since then are read from the store once and put in front of the history.

use std::time::Duration;

use keelson_store::{Entry, Event as StoreEvent, History, Revision, StoreError};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::event::{Event, Place};
use crate::history::Room;

/// How long the store may take to deliver past events.
const PATIENCE: Duration = Duration::from_secs(10);

impl Cache {
    /// Extends the history back to `after`, if the store still has the events since then.
    pub async fn reach_back(&self, after: Revision) -> Result<()> {
        let _one_at_a_time = self.backfill.lock().await;
        let (floor, room) = {
            let state = self.shared.state.lock();
            if state.history.start_after(after).is_ok() {
                return Ok(());
            }
            match state.history.gap() {
                Some(floor) => (floor, state.history.room()),
                None => return state.history.start_after(after).map(drop),
            }
        };
        let read = self.read_past(after, floor, room);
        let older = tokio::select! {
            older = read => older?,
            () = self.shared.clock.sleep(PATIENCE) => return Err(Error::Compacted { asked: after, oldest: floor }),
        };
        let mut state = self.shared.state.lock();
        // Meanwhile the ring may have dropped more events: then there is a gap, and the client lists again.
        if state.history.gap() != Some(floor) || older.len() > state.history.room().events {
            return state.history.start_after(after).map(drop);
        }
        state.history.prepend(older, after);
        Ok(())
    }

    /// The events after `after` up to `floor`, if there is room for them.
    async fn read_past(&self, after: Revision, floor: Revision, mut room: Room) -> Result<Vec<Event>> {
        let too_old = || Error::Compacted { asked: after, oldest: floor };
        let mut events = Vec::new();
        let mut history = History::new(self.source.store.clone(), &self.source.prefix, after);
        while let Some(next) = history.next().await {
            let (event, previous) = next.map_err(|error| match error {
                StoreError::Compacted { asked, oldest } => Error::Compacted { asked, oldest },
                other => Error::Store(other),
            })?;
            let revision = event.revision();
            if revision <= floor
                && let Some(past) = self.past(event, previous)
            {
                room = room.without(&past).ok_or_else(too_old)?;
                events.push(past);
            }
            if revision >= floor {
                return Ok(events);
            }
        }
        Err(too_old())
    }

    fn past(&self, event: StoreEvent, previous: Option<Entry>) -> Option<Event> {
        let place =
            Place { revision: event.revision(), sequence: 0, recorded: self.shared.clock.monotonic() };
        let object = match event {
            StoreEvent::Put { entry } => self.source.decode(&entry),
            StoreEvent::Delete { .. } => None,
            StoreEvent::Progress(_) => return None,
        };
        Event::between(previous.and_then(|entry| self.source.decode(&entry)), object, place)
    }
}

#[cfg(test)]
mod tests {
    use keelson_store::Store;

    use crate::tests::support::Fixture;
    use crate::{Error, Scope, Start, WatchRequest};

    #[tokio::test]
    async fn a_watch_resumes_from_before_the_history() {
        let fixture = Fixture::new().await;
        let first = fixture.put("a/x", "n1").await;
        fixture.put("a/x", "n2").await;
        fixture.put("b/y", "n1").await;
        fixture.delete("a/x").await;
        let reborn = fixture.second_cache().await;
        let request = WatchRequest::new(Start::After(first), Scope::All);
        assert!(matches!(reborn.watch(request.clone()).unwrap_err(), Error::Compacted { .. }));
        reborn.reach_back(first).await.unwrap();
        fixture.put("c/z", "n1").await;
        reborn.fresh().await.unwrap();
        let mut watcher = reborn.watch(request).unwrap();
        let mut seen = Vec::new();
        while let Some(Ok(crate::Signal::Event(event))) = watcher.ready() {
            seen.push(format!("{:?} {}", event.kind(), event.object().index().name));
        }
        assert_eq!(seen, ["Modified x", "Added y", "Deleted x", "Added z"]);
    }

    #[tokio::test]
    async fn what_the_store_has_forgotten_stays_forgotten() {
        let fixture = Fixture::new().await;
        let first = fixture.put("a/x", "n1").await;
        fixture.put("a/x", "n2").await;
        let last = fixture.put("a/x", "n3").await;
        fixture.rig.compact(last).await.unwrap();
        let reborn = fixture.second_cache().await;
        assert!(matches!(reborn.reach_back(first).await.unwrap_err(), Error::Compacted { .. }));
        reborn.reach_back(last).await.unwrap();
    }
}
