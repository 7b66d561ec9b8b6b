//! ResourceQuota controller: counts usage, and writes it into the status of quotas.
//!
//! Upstream leaves this to kube-controller-manager. A standalone server has none, and a quota whose usage is
//! not counted limits nothing. Admission charges quotas for new objects; this loop counts existing objects
//! when a quota is new or changed, and releases the usage of deleted objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, SelectAll};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use keelson_kube_admission::Census;
use keelson_object::SmolStr;
use keelson_registry::operation::{Change, Watch};
use keelson_registry::options::{Part, WatchOptions};
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use keelson_watch_cache::{Event, EventKind};

/// The delay before a watch that ended starts again.
const RETRY: Duration = Duration::from_secs(1);

/// How often charges that were not followed by a write, and changes of the served resources, are looked for.
const TICK: Duration = Duration::from_secs(5);

/// How often everything is counted again, as upstream's controller does.
const RESYNC: Duration = Duration::from_secs(5 * 60);

/// After this many counts that were disturbed by writes, the next count holds the lock of the namespace.
const ATTEMPTS: u32 = 2;

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

/// A change of an object of a resource.
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

    /// Counts until there are no quotas, or until the served resources change.
    async fn count(&self, quotas: &Arc<Live>) -> Result<()> {
        let generation = self.catalog.load().generation();
        let mut news = self.news().await?;
        let mut stale = Stale::default();
        stale.add(namespaces(quotas).await?);
        let mut resynced = self.clock.monotonic();
        while self.catalog.load().generation() == generation && !quotas.cache()?.fresh().await?.is_empty() {
            let began = self.clock.monotonic();
            stale = self.recount(quotas, stale).await?;
            // Never more than half of the time is spent on counting.
            self.clock.sleep(REST.max(self.clock.monotonic().saturating_sub(began))).await;
            let told = if stale.0.is_empty() {
                self.clock.timeout(TICK, news.next()).await
            } else {
                news.next().now_or_never()
            };
            let mut next = match told {
                Some(None) => return Ok(()),
                told => told.flatten(),
            };
            while let Some((live, change)) = next {
                stale.add(self.stale_after(quotas, &live, &change?).await?);
                next = news.next().now_or_never().flatten();
            }
            stale.add(self.census.ledger.expire(self.clock.monotonic()));
            if self.clock.monotonic().saturating_sub(resynced) >= RESYNC {
                resynced = self.clock.monotonic();
                stale.add(namespaces(quotas).await?);
            }
        }
        Ok(())
    }

    /// The changes of all counted resources; the stream ends when one of the watches ends.
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
            // Objects that the server itself creates are not charged, and a new quota has not been counted.
            (EventKind::Added, _) => !was_promised || live.resource.plural == "resourcequotas",
        };
        Ok(is_stale.then(|| index.namespace.clone()))
    }

    /// Counts for all quotas of some namespaces; returns the namespaces where another write interfered.
    async fn recount(&self, quotas: &Live, stale: Stale) -> Result<Stale> {
        let mut left = Stale::default();
        for (namespace, attempts) in stale.0 {
            if !self.refresh(quotas, &namespace, attempts).await? {
                left.0.insert(namespace, attempts + 1);
            }
        }
        Ok(left)
    }

    /// Writes the usage into the quotas of a namespace; returns whether no other write interfered.
    async fn refresh(&self, quotas: &Live, namespace: &str, attempts: u32) -> Result<bool> {
        let ledger = &self.census.ledger;
        let turn = ledger.turn(namespace).await;
        let snapshot = quotas.cache()?.fresh().await?;
        let promises = ledger.promises(namespace);
        // Other writers continue while we count: their changes are counted again.
        let turn = Some(turn).filter(|_| attempts >= ATTEMPTS);
        let context = crate::context(&self.catalog, &self.clock);
        let mut changed = Vec::new();
        for (_, frozen) in snapshot.namespace(namespace) {
            let mut quota = quotas.thaw(frozen)?;
            if let Some(status) = self.census.status(&context, &quota, &promises).await? {
                quota.fields.set("status", status);
                changed.push(quota);
            }
        }
        let _turn = match turn {
            Some(turn) => turn,
            None => ledger.turn(namespace).await,
        };
        let mut is_written = true;
        for quota in changed {
            let place = Place::new(namespace, quota.meta.name.clone());
            match operation::update(quotas, &context, &place, Part::Status, quota).await {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(Error::Conflict { .. }) => is_written = false,
                Err(error) => return Err(error),
            }
        }
        Ok(is_written)
    }
}

/// The namespaces whose quotas must be counted, and the number of attempts so far.
#[derive(Debug, Default)]
struct Stale(BTreeMap<SmolStr, u32>);

impl Stale {
    fn add(&mut self, namespaces: impl IntoIterator<Item = SmolStr>) {
        for namespace in namespaces {
            self.0.entry(namespace).or_default();
        }
    }
}

/// The changes of a watch, and `None` at its end.
fn changes(live: Arc<Live>, watch: Watch) -> impl stream::Stream<Item = Option<News>> + Send {
    stream::unfold(Some((live, watch)), |state| async move {
        let (live, mut watch) = state?;
        match watch.next().await {
            Some(change) => Some((Some((live.clone(), change)), Some((live, watch)))),
            None => Some((None, None)),
        }
    })
}

/// Whether the spec of a quota changed.
fn is_respecified(quotas: &Live, event: &Event) -> Result<bool> {
    let Some(previous) = event.previous() else { return Ok(true) };
    let (before, after) = (quotas.thaw(previous)?, quotas.thaw(event.object())?);
    Ok(before.fields.get("spec") != after.fields.get("spec"))
}

/// The namespaces with quotas.
async fn namespaces(quotas: &Live) -> Result<BTreeSet<SmolStr>> {
    let snapshot = quotas.cache()?.fresh().await?;
    Ok(snapshot.iter().map(|(_, it)| it.index().namespace.clone()).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use keelson_apis::Settings as Kinds;
    use keelson_codec::json;
    use keelson_kube_admission::{Census, Ledger, Selection, Settings};
    use keelson_object::Object;
    use keelson_registry::admission::{self, Operation, Request};
    use keelson_registry::live::Ground;
    use keelson_registry::{CatalogHandle, Context, Place, catalog, operation};
    use keelson_stdx::clock::Clock;
    use keelson_store::{Layout, MemoryStore};

    use super::Counter;

    /// A server without background loops, and its plugin.
    struct Rig {
        counter: Counter,
        context: Context,
    }

    impl Rig {
        async fn new() -> Rig {
            let clock = Clock::real();
            let store = Arc::new(MemoryStore::new(clock.clone()));
            let ground = Ground::new(store, Layout::default(), clock.clone());
            let loaded = catalog::load(keelson_apis::groups(&Kinds::default()), &ground).await;
            let catalog = CatalogHandle::new(loaded.expect("the store is empty"));
            let settings = Settings { ledger: Some(Ledger::default()), ..Settings::default() };
            let only = Selection { only: Some(vec!["ResourceQuota".to_owned()]), ..Selection::default() };
            let mut context = crate::context(&catalog, &clock);
            context.admission = Some(Arc::new(only.chain(&settings)));
            Rig { counter: Counter { catalog, clock, census: Census::new(&settings) }, context }
        }

        async fn create(&self, plural: &str, text: &str) {
            let live = self.context.reach("", plural).expect("it is built in");
            let mut object = object(text);
            object.kind = live.resource.kind.clone();
            object.api_version = live.resource.stored_version().api_version.clone();
            operation::create(live, &self.context, "n", object).await.expect("it is valid");
        }

        /// Charges for a config map that is never stored.
        async fn promise(&self, name: &str) {
            let live = self.context.reach("", "configmaps").expect("it is built in");
            let place = Place::new("n", name);
            let request = Request::new(Operation::Create, live, &self.context, &place);
            let text = format!(r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}"}}}}"#);
            admission::validate(&request, Some(&object(&text))).await.expect("there is room");
        }

        async fn used(&self) -> String {
            let quotas = self.context.reach("", "resourcequotas").expect("it is built in");
            let snapshot = quotas.cache().expect("it is stored").fresh().await.expect("it is there");
            let quota = quotas.thaw(snapshot.get("n", "q").expect("it was made")).expect("it was written");
            quota.text_at("status.used.configmaps").unwrap_or_default().to_owned()
        }

        /// Counts, and returns the usage.
        async fn count(&self) -> String {
            let quotas = self.context.reach("", "resourcequotas").expect("it is built in");
            assert!(
                self.counter.refresh(quotas, "n", 0).await.expect("the store works"),
                "nobody interferes"
            );
            self.used().await
        }
    }

    fn object(text: &str) -> Object {
        Object::from_value(json::read(text.as_bytes()).expect("it is JSON").value).expect("it is an object")
    }

    const QUOTA: &str = r#"{"metadata":{"name":"q"},"spec":{"hard":{"configmaps":"9"}}}"#;

    #[tokio::test]
    async fn what_is_there_is_counted_and_what_comes_is_charged() {
        let rig = Rig::new().await;
        rig.create("configmaps", r#"{"metadata":{"name":"a"}}"#).await;
        rig.create("resourcequotas", QUOTA).await;
        assert_eq!(rig.used().await, "", "nobody has counted");
        assert_eq!(rig.count().await, "1");
        rig.create("configmaps", r#"{"metadata":{"name":"b"}}"#).await;
        assert_eq!(rig.used().await, "2", "it was charged");
        assert_eq!(rig.count().await, "2");
    }

    #[tokio::test]
    async fn what_is_promised_counts_until_it_is_too_late() {
        let rig = Rig::new().await;
        rig.create("resourcequotas", QUOTA).await;
        assert_eq!(rig.count().await, "0");
        rig.promise("a").await;
        rig.promise("b").await;
        assert_eq!(rig.used().await, "2");
        assert_eq!(rig.count().await, "2", "they may still come");
        let ledger = &rig.counter.census.ledger;
        let late = rig.counter.clock.monotonic() + Duration::from_secs(61);
        assert_eq!(ledger.expire(late), ["n"]);
        assert_eq!(rig.count().await, "0");
    }
}
