//! Follows the changes of many objects.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_store::Revision;
use keelson_watch_cache::{Event, EventKind, Signal, Start, WatchRequest, Watcher, transition};

use super::select::Matcher;
use crate::error::{Error, Result};
use crate::live::Live;
use crate::options::{InitialEvents, WatchFrom, WatchOptions};

/// What a watcher is told.
pub enum Change {
    /// Something happened; the event is shared by all who saw it happen.
    Shared(Arc<Event>),
    /// Something happened that looks different from here: an object came into or left the selection.
    Own {
        /// As seen from here.
        kind: EventKind,
        /// The object, with the revision of the change.
        object: Arc<Frozen>,
    },
    /// Everything up to this revision has been told.
    Bookmark(u64),
    /// The state has been told; from now on it is news.
    InitialEventsEnd(u64),
}

/// A running watch.
pub struct Watch {
    matcher: Matcher,
    watcher: Watcher,
}

/// Follows what `options` selects in `namespace` (empty for all).
pub async fn watch(live: &Live, namespace: &str, options: &WatchOptions) -> Result<Watch> {
    let matcher = Matcher::new(&live.resource, &options.selection)?;
    let cache = live.cache();
    let start = match (options.initial_events, options.from) {
        (InitialEvents::Marked, from) => {
            let snapshot = match from {
                WatchFrom::Latest => cache.fresh().await?,
                WatchFrom::Any | WatchFrom::After(0) => cache.snapshot(),
                WatchFrom::After(revision) => cache.at_least(revision_of(revision)).await?,
            };
            Start::Snapshot(snapshot)
        }
        (InitialEvents::Unmarked, WatchFrom::Latest) => Start::Snapshot(cache.fresh().await?),
        (InitialEvents::Unmarked, WatchFrom::Any | WatchFrom::After(0)) => Start::Snapshot(cache.snapshot()),
        (InitialEvents::Unmarked, WatchFrom::After(revision)) => Start::After(revision_of(revision)),
    };
    let request = WatchRequest {
        start,
        scope: matcher.scope(&live.resource, namespace),
        bookmarks: options.bookmarks,
        mark_initial_end: options.initial_events == InitialEvents::Marked && options.bookmarks,
    };
    let watcher = cache.watch(request).await?;
    Ok(Watch { matcher, watcher })
}

impl Watch {
    /// The next thing to tell; `None` when the watch has ended and the client should begin anew.
    pub async fn next(&mut self) -> Option<Result<Change>> {
        loop {
            let event = match self.watcher.next().await? {
                Err(error) => return Some(Err(Error::from(error))),
                Ok(Signal::Bookmark(revision)) => return Some(Ok(Change::Bookmark(revision.get()))),
                Ok(Signal::InitialEventsEnd(revision)) => return Some(Ok(Change::InitialEventsEnd(revision.get()))),
                Ok(Signal::Event(event)) => event,
            };
            if self.matcher.is_everything() {
                return Some(Ok(Change::Shared(event)));
            }
            if let Some((kind, object)) = transition(&event, |object| self.matcher.matches(object)) {
                if kind == event.kind {
                    return Some(Ok(Change::Shared(event)));
                }
                return Some(Ok(Change::Own { kind, object }));
            }
        }
    }
}

fn revision_of(number: u64) -> Revision {
    Revision::new(number).unwrap_or(Revision::FIRST)
}
