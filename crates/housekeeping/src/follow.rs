//! Feeds an index with the changes of a resource's objects.

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Follower, Frozen, Object};
use keelson_registry::operation::{Change, Watch};
use keelson_registry::options::{InitialEvents, WatchOptions};
use keelson_registry::{CatalogHandle, Live, Result, operation};
use keelson_stdx::clock::Clock;
use keelson_stdx::offload::Breaks;
use keelson_watch_cache::EventKind;

/// The delay before a watch that ended starts again.
const RETRY: Duration = Duration::from_millis(200);

/// Runs for as long as it is polled. A resource that is not served has no objects.
pub async fn run(
    catalog: CatalogHandle,
    group: &'static str,
    plural: &'static str,
    follower: Arc<dyn Follower>,
    clock: Clock,
) {
    loop {
        let live = catalog.load().live(group, plural).cloned();
        let Some(live) = live else { return follower.reset(Vec::new()) };
        if let Err(error) = follow(&live, follower.as_ref()).await {
            tracing::warn!(%error, plural, "an index lost sight of its objects");
        }
        clock.sleep(RETRY).await;
    }
}

async fn follow(live: &Arc<Live>, follower: &dyn Follower) -> Result<()> {
    let options =
        WatchOptions { bookmarks: true, initial_events: InitialEvents::Marked, ..WatchOptions::default() };
    let mut watch = operation::watch(live, "", &options).await?;
    let Some(all) = state(live, &mut watch).await? else { return Ok(()) };
    follower.reset(all);
    while let Some(change) = watch.next().await {
        if let Some((kind, frozen)) = event(&change?) {
            match kind {
                EventKind::Added | EventKind::Modified => follower.put(live.look_at(frozen)?),
                EventKind::Deleted => follower.remove(frozen),
            }
        }
    }
    Ok(())
}

/// The initial objects of a watch; `None` if it ended before all of them were sent.
async fn state(live: &Live, watch: &mut Watch) -> Result<Option<Vec<Object>>> {
    let (mut all, mut breaks) = (Vec::new(), Breaks::default());
    while let Some(change) = watch.next().await {
        let change = change?;
        if let Change::InitialEventsEnd(_) = change {
            return Ok(Some(all));
        }
        if let Some((_, frozen)) = event(&change) {
            breaks.count(frozen.json().len()).await;
            all.push(live.look_at(frozen)?);
        }
    }
    Ok(None)
}

/// The event and its object; `None` if the change is not an event.
pub(crate) fn event(change: &Change) -> Option<(EventKind, &Arc<Frozen>)> {
    match change {
        Change::Shared(event) => Some((event.kind(), event.object())),
        Change::Own { kind, object } => Some((*kind, object)),
        Change::Bookmark(_) | Change::InitialEventsEnd(_) => None,
    }
}
