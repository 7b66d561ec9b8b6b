//! Get: reads one object.

use std::sync::Arc;

use keelson_object::Frozen;
use keelson_store::{Revision, StoreError};
use keelson_watch_cache::BLOCK_TIMEOUT;

use crate::error::Result;
use crate::live::{Live, Place, Reads};
use crate::operation::list::not_older;
use crate::options::Freshness;
use crate::report;

/// The object at `place`.
pub async fn get(live: &Live, place: &Place, freshness: Freshness) -> Result<Arc<Frozen>> {
    live.to_hub(find(live, place, freshness).await?).await
}

async fn find(live: &Live, place: &Place, freshness: Freshness) -> Result<Arc<Frozen>> {
    if let Some(report) = &live.resource.reports {
        let mut objects = report::objects(report).await?.into_iter();
        return objects.find(|it| it.index().name == place.name).ok_or_else(|| live.not_found(&place.name));
    }
    let objects = live.objects()?;
    if freshness == Freshness::Latest && !objects.store.is_near() {
        return stored(live, place).await;
    }
    let cache = live.cache()?;
    if objects.reads == Reads::Store {
        if let Freshness::AtLeast(asked) | Freshness::Exactly(asked) = freshness {
            let tip = objects.store.tip(cache.prefix()).await?;
            not_older(tip.latest.get(), asked)?;
        }
        return stored(live, place).await;
    }
    let snapshot = match freshness {
        Freshness::Latest => cache.fresh().await?,
        Freshness::Any => cache.at_hand().await,
        Freshness::AtLeast(revision) | Freshness::Exactly(revision) => match Revision::new(revision) {
            Some(revision) => cache.at_least(revision, BLOCK_TIMEOUT).await?,
            None => cache.at_hand().await,
        },
    };
    match snapshot.get(&place.namespace, &place.name) {
        Some(found) => Ok(found.clone()),
        None if freshness == Freshness::Latest => Err(live.missing(place).await),
        None => Err(live.not_found(&place.name)),
    }
}

/// The object in a remote store: to read this one object is quicker than to wait until the cache has caught
/// up. The object of the cache is used if it has the same revision.
async fn stored(live: &Live, place: &Place) -> Result<Arc<Frozen>> {
    let objects = live.objects()?;
    let entry = match objects.store.get(&live.key(place)?).await {
        Err(StoreError::Unreadable { .. }) => None,
        entry => entry?,
    };
    let Some(entry) = entry else { return Err(live.missing(place).await) };
    let revision = entry.modified.get();
    match objects.cache.snapshot().get(&place.namespace, &place.name) {
        Some(cached) if cached.revision() == revision => Ok(cached.clone()),
        _ => match live.freeze_stored(&entry) {
            Ok(frozen) => Ok(frozen),
            Err(_) => Err(live.missing(place).await),
        },
    }
}
