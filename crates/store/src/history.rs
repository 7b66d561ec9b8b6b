//! History: past events together with the entries that they replaced.
//!
//! Live events do not carry previous entries: a cache knows them. A reader of the past does not, so it asks the store for
//! the entry before the first event of each key, and remembers the rest.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::{At, Entry, Event, Key, Result, Revision, Store};

/// A reader of past events under a prefix.
pub struct History {
    store: Arc<dyn Store>,
    events: BoxStream<'static, Result<Event>>,
    /// The entries of the keys that have been read.
    known: HashMap<Key, Option<Entry>>,
}

impl History {
    /// Reads the events under `prefix` after a revision, and continues with live ones.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: &Key, after: Revision) -> History {
        let events = store.watch(prefix, after);
        History { store, events, known: HashMap::new() }
    }

    /// The next event, and the entry of its key before it.
    pub async fn next(&mut self) -> Option<Result<(Event, Option<Entry>)>> {
        let event = match self.events.next().await? {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        let (key, now) = match &event {
            Event::Put { entry } => (&entry.key, Some(entry.clone())),
            Event::Delete { key, .. } => (key, None),
            Event::Progress(_) => return Some(Ok((event, None))),
        };
        let previous = match self.known.insert(key.clone(), now) {
            Some(known) => known,
            None => match before(&*self.store, &event, key).await {
                Ok(previous) => previous,
                Err(error) => return Some(Err(error)),
            },
        };
        Some(Ok((event, previous)))
    }
}

/// The entry of `key` before an event.
async fn before(store: &dyn Store, event: &Event, key: &Key) -> Result<Option<Entry>> {
    let is_new = matches!(event, Event::Put { entry } if entry.created == entry.modified);
    let Some(revision) = Revision::new(event.revision().get() - 1).filter(|_| !is_new) else {
        return Ok(None);
    };
    // The key itself is the first of all keys that begin with it.
    let page = store.list(key, None, 1, At::Exactly(revision)).await?;
    Ok(page.entries.into_iter().find(|entry| entry.key == *key))
}
