//! Counts what quotas limit, and writes it into their status.
//!
//! Upstream leaves this to kube-controller-manager. A server that runs by itself has none, and a quota that nobody counts
//! limits nothing. Admission charges quotas for what comes; this loop counts what is there when a quota is new or changed,
//! and gives back what was used by what has gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, SelectAll};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use keelson_kube_admission::Census;
use keelson_object::{Object, SmolStr};
use keelson_registry::operation::{Change, Watch};
use keelson_registry::options::{Part, WatchOptions};
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use keelson_watch_cache::{Event, EventKind};

/// After how long a watch that ended begins anew.
const RETRY: Duration = Duration::from_secs(1);

/// How often it is looked for promises that were not kept, and for other resources.
const TICK: Duration = Duration::from_secs(5);

/// How often everything is counted again, as upstream's controller does.
const RESYNC: Duration = Duration::from_secs(5 * 60);

/// Changes come in swarms: at least this long is between two counts.
const REST: Duration = Duration::from_millis(20);

/// Runs for as long as it is polled.
pub async fn run(catalog: CatalogHandle, clock: Clock, census: Census) {
    let counter = Counter { catalog, clock, census };
    loop {
        if let Err(error) = counter.follow().await {
            tracing::warn!(%error, "counting for quotas was interrupted");
        }
        counter.clock.sleep(RETRY).await;
    }
}

struct Counter {
    catalog: CatalogHandle,
    clock: Clock,
    census: Census,
}

/// What happened to an object of a resource.
type News = (Arc<Live>, Result<Change>);

impl Counter {
    /// Waits for a quota, and counts for as long as there is one.
    async fn follow(&self) -> Result<()> {
        let Some(quotas) = self.catalog.load().live("", "resourcequotas").cloned() else { return Ok(()) };
        let mut watch = operation::watch(&quotas, "", &WatchOptions::default()).await?;
        while quotas.cache()?.fresh().await?.is_empty() {
            match watch.next().await {
                Some(change) => drop(change?),
                None => return Ok(()),
            }
        }
        drop(watch);
        self.count(&quotas).await
    }

    /// Counts until there is no quota, or until other resources are served.
    async fn count(&self, quotas: &Arc<Live>) -> Result<()> {
        let generation = self.catalog.load().generation();
        let mut news = self.news().await?;
        let mut stale: BTreeSet<SmolStr> = namespaces(quotas).await?;
        let mut resynced = self.clock.monotonic();
        while self.catalog.load().generation() == generation && !quotas.cache()?.fresh().await?.is_empty() {
            let began = self.clock.monotonic();
            stale = self.recount(quotas, stale).await?;
            // Never more than half of the time is spent on counting.
            self.clock.sleep(REST.max(self.clock.monotonic().saturating_sub(began))).await;
            let is_idle = stale.is_empty();
            let told = if is_idle {
                self.clock.timeout(TICK, news.next()).await
            } else {
                news.next().now_or_never()
            };
            let mut next = match told {
                Some(None) => return Ok(()),
                told => told.flatten(),
            };
            while let Some((live, change)) = next {
                stale.extend(self.stale_after(quotas, &live, &change?).await?);
                next = news.next().now_or_never().flatten();
            }
            stale.extend(self.census.ledger.expire(self.clock.monotonic()));
            if self.clock.monotonic().saturating_sub(resynced) >= RESYNC {
                resynced = self.clock.monotonic();
                stale.extend(namespaces(quotas).await?);
            }
        }
        Ok(())
    }

    /// What happens to everything that is counted; it ends when one of the watches ends.
    async fn news(&self) -> Result<BoxStream<'static, News>> {
        let catalog = self.catalog.load();
        let mut all = SelectAll::new();
        for live in catalog.groups().iter().flat_map(|it| &it.resources).filter(|it| Census::counts(it)) {
            let watch = operation::watch(live, "", &WatchOptions::default()).await?;
            all.push(changes(live.clone(), watch).boxed());
        }
        Ok(all.take_while(|it| std::future::ready(it.is_some())).filter_map(std::future::ready).boxed())
    }

    /// The namespace whose quotas must be counted again after this.
    ///
    /// Upstream: pkg/quota/v1/install/update_filter.go, DefaultUpdateFilter (v1.36.4).
    async fn stale_after(&self, quotas: &Live, live: &Live, change: &Change) -> Result<Option<SmolStr>> {
        let Change::Shared(event) = change else { return Ok(None) };
        let object = event.object();
        let index = object.index();
        let was_promised = self.census.ledger.keep(&index.namespace, &index.uid, object.revision());
        if quotas.cache()?.snapshot().namespace(&index.namespace).next().is_none() {
            return Ok(None);
        }
        let is_stale = match (event.kind(), event.previous()) {
            (EventKind::Deleted, _) => true,
            (_, Some(_)) if live.resource.plural == "resourcequotas" => is_respecified(live, event)?,
            (EventKind::Modified, Some(previous)) if !was_promised => {
                let context = crate::context(&self.catalog, &self.clock);
                self.census.differs(&context, live, (previous, object)).await?
            }
            (EventKind::Modified, _) => false,
            // What the server makes by itself is charged to nobody, and a new quota has not been counted.
            (EventKind::Added, _) => !was_promised || live.resource.plural == "resourcequotas",
        };
        Ok(is_stale.then(|| index.namespace.clone()))
    }

    /// Counts for all quotas of some namespaces; those where somebody was faster are left.
    async fn recount(&self, quotas: &Live, stale: BTreeSet<SmolStr>) -> Result<BTreeSet<SmolStr>> {
        let mut left = BTreeSet::new();
        if stale.is_empty() {
            return Ok(left);
        }
        let snapshot = quotas.cache()?.fresh().await?;
        for namespace in stale {
            for (_, frozen) in snapshot.namespace(&namespace) {
                match self.refresh(quotas, quotas.thaw(frozen)?).await {
                    Ok(()) | Err(Error::NotFound { .. }) => {}
                    Err(Error::Conflict { .. }) => drop(left.insert(namespace.clone())),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(left)
    }

    async fn refresh(&self, quotas: &Live, mut quota: Object) -> Result<()> {
        let context = crate::context(&self.catalog, &self.clock);
        let Some(status) = self.census.status(&context, &quota).await? else { return Ok(()) };
        quota.fields.set("status", status);
        let place = Place::new(quota.meta.namespace.clone(), quota.meta.name.clone());
        operation::update(quotas, &context, &place, Part::Status, quota).await.map(drop)
    }
}

/// What a watch tells, and `None` at its end.
fn changes(live: Arc<Live>, watch: Watch) -> impl stream::Stream<Item = Option<News>> + Send {
    stream::unfold(Some((live, watch)), |state| async move {
        let (live, mut watch) = state?;
        match watch.next().await {
            Some(change) => Some((Some((live.clone(), change)), Some((live, watch)))),
            None => Some((None, None)),
        }
    })
}

/// Whether a quota limits something else than before.
fn is_respecified(quotas: &Live, event: &Event) -> Result<bool> {
    let Some(previous) = event.previous() else { return Ok(true) };
    let (before, after) = (quotas.thaw(previous)?, quotas.thaw(event.object())?);
    Ok(before.fields.get("spec") != after.fields.get("spec"))
}

/// Where there are quotas.
async fn namespaces(quotas: &Live) -> Result<BTreeSet<SmolStr>> {
    let snapshot = quotas.cache()?.fresh().await?;
    Ok(snapshot.iter().map(|(_, it)| it.index().namespace.clone()).collect())
}
