//! Watch: follows the changes of many objects.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_stdx::offload::Breaks;
use keelson_store::Revision;
use keelson_watch_cache::Error as CacheError;
use keelson_watch_cache::{BLOCK_TIMEOUT, Bookmarks, Event, EventKind, Signal, Start, WatchRequest, Watcher};

use super::select::{COMPARISON, Matcher};
use crate::error::{Error, Result};
use crate::live::Live;
use crate::options::{InitialEvents, WatchFrom, WatchOptions};

/// What a watcher receives.
pub enum Change {
    /// An event as it happened, shared by all watchers that see it so.
    Shared(Arc<Event>),
    /// An event that this watch sees differently: an object came into or left the selection.
    Own {
        /// The kind of event for this watch.
        kind: EventKind,
        /// The object, with the revision of the change.
        object: Arc<Frozen>,
    },
    /// All events up to this revision have been sent.
    Bookmark(u64),
    /// The initial state has been sent; changes follow.
    InitialEventsEnd(u64),
}

/// A running watch.
pub struct Watch {
    live: Arc<Live>,
    matcher: Matcher,
    watcher: Watcher,
    breaks: Breaks,
}

/// Follows what `options` selects in `namespace` (empty for all).
pub async fn watch(live: &Arc<Live>, namespace: &str, options: &WatchOptions) -> Result<Watch> {
    let matcher = Matcher::new(&live.resource, namespace, &options.selection)?;
    let cache = live.cache()?;
    // A snapshot is taken when the watch begins: the cache must be new enough by then.
    let start = match (options.initial_events, options.from) {
        (InitialEvents::Skipped, WatchFrom::Latest | WatchFrom::Any | WatchFrom::After(0)) => {
            Start::After(cache.fresh().await?.revision())
        }
        (InitialEvents::Unmarked | InitialEvents::Skipped, WatchFrom::After(revision)) if revision > 0 => {
            Start::After(revision_of(revision))
        }
        (InitialEvents::Marked, WatchFrom::After(revision)) if revision > 0 => {
            cache.at_least(revision_of(revision), BLOCK_TIMEOUT).await?;
            Start::Snapshot
        }
        (_, WatchFrom::Latest) => {
            cache.fresh().await?;
            Start::Snapshot
        }
        (_, WatchFrom::Any | WatchFrom::After(_)) => {
            cache.at_hand().await;
            Start::Snapshot
        }
    };
    let bookmarks = match (options.bookmarks, options.initial_events) {
        (false, _) => Bookmarks::Off,
        (true, InitialEvents::Unmarked | InitialEvents::Skipped) => Bookmarks::Regular,
        (true, InitialEvents::Marked) => Bookmarks::WithInitialEnd,
    };
    let scope = matcher.scope(&live.resource);
    if let Start::After(revision) = start {
        // A client may resume before the beginning of the history, which starts with this process.
        cache.reach_back(revision).await?;
    }
    let watcher = cache.watch(WatchRequest { start, scope, bookmarks, lives: options.lives })?;
    Ok(Watch { live: live.clone(), matcher, watcher, breaks: Breaks::default() })
}

impl Watch {
    /// The next event; `None` when the watch has ended and the client should start again.
    pub async fn next(&mut self) -> Option<Result<Change>> {
        loop {
            let event = match self.watcher.next().await? {
                // The client was too slow: it resumes from the last revision it saw.
                Err(CacheError::Lagged { .. }) => return None,
                Err(error) => return Some(Err(Error::from(error))),
                Ok(Signal::Bookmark(revision)) => return Some(Ok(Change::Bookmark(revision.get()))),
                Ok(Signal::InitialEventsEnd(revision)) => {
                    return Some(Ok(Change::InitialEventsEnd(revision.get())));
                }
                Ok(Signal::Event(event)) => event,
            };
            match self.seen(event).await {
                Ok(Some(change)) => return Some(Ok(change)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            // Nothing is lost if the client is gone by now: this event is not for it.
            self.breaks.count(COMPARISON * self.matcher.comparisons()).await;
        }
    }
}

impl Watch {
    /// An event as this watch sees it; `None` if it is about objects that are not selected.
    async fn seen(&self, event: Arc<Event>) -> Result<Option<Change>> {
        let is_in_hub = |object: &Arc<Frozen>| self.live.is_in_hub(object);
        let needs_no_conversion = is_in_hub(event.object()) && event.previous().is_none_or(is_in_hub);
        if !self.live.keeps_fields() && !needs_no_conversion {
            return self.seen_converted(&event).await;
        }
        let (kind, object) = match self.matcher.is_everything() {
            true => (event.kind(), event.object().clone()),
            false => match event.transition(|object| self.matcher.matches(object)) {
                Some(seen) => seen,
                None => return Ok(None),
            },
        };
        if kind == event.kind() && is_in_hub(event.object()) {
            return Ok(Some(Change::Shared(event)));
        }
        Ok(Some(Change::Own { kind, object: self.live.to_hub(object).await? }))
    }

    /// The same if a webhook converts objects: selectors are evaluated after the conversion.
    async fn seen_converted(&self, event: &Event) -> Result<Option<Change>> {
        let object = self.live.to_hub(event.object().clone()).await?;
        let previous = match event.previous() {
            Some(previous) => Some(self.live.to_hub(previous.clone()).await?),
            None => None,
        };
        let seen = event.with_states(object, previous).transition(|it| self.matcher.matches(it));
        Ok(seen.map(|(kind, object)| Change::Own { kind, object }))
    }
}

fn revision_of(number: u64) -> Revision {
    Revision::new(number).unwrap_or(Revision::FIRST)
}
