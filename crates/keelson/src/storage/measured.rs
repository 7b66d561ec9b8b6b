//! Store metrics, with upstream's names.
//!
//! Upstream: apiserver/pkg/storage/etcd3/metrics/metrics.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use keelson_registry::CatalogHandle;
use keelson_server::metrics::{Counter, Family, Gauge, Histogram, Registry};
use keelson_stdx::clock::Clock;
use keelson_store::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, StoreError, Tip, Write};
use keelson_store_etcd::EtcdStore;

use super::cache_metrics;

/// A store that counts its operations.
pub(crate) struct Measured {
    store: Arc<dyn Store>,
    measures: Arc<Measures>,
}

/// The metrics.
pub(crate) struct Measures {
    clock: Clock,
    /// The prefix of all keys, with a slash.
    root: String,
    catalog: CatalogHandle,
    durations: Arc<Family<Histogram>>,
    requests: Arc<Family<Counter>>,
    errors: Arc<Family<Counter>>,
    events: Arc<Family<Counter>>,
    bookmarks: Arc<Family<Counter>>,
    lists: Arc<Family<Counter>>,
    fetched: Arc<Family<Counter>>,
    evaluated: Arc<Family<Counter>>,
    returned: Arc<Family<Counter>>,
    lease_entries: Arc<Family<Histogram>>,
    sizes: Arc<Family<Gauge>>,
}

const BUCKETS: &[f64] = &[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
const LEASE_BUCKETS: &[f64] = &[10.0, 50.0, 100.0, 500.0, 1000.0, 2500.0, 5000.0];
const BY_OPERATION: &[&str] = &["operation", "group", "resource"];
const BY_RESOURCE: &[&str] = &["group", "resource"];

impl Measures {
    /// All metrics at zero. `catalog` is used to find the resource of a key, once it is loaded.
    pub(crate) fn new(prefix: &str, catalog: &CatalogHandle, clock: &Clock) -> Arc<Measures> {
        let counter = |name, help, labels| Arc::new(Family::new(name, help, labels));
        Arc::new(Measures {
            clock: clock.clone(),
            root: format!("/{}/", prefix.trim_matches('/')),
            catalog: catalog.clone(),
            durations: Arc::new(Family::with_buckets(
                "etcd_request_duration_seconds",
                "[ALPHA] Seconds that requests to the store took, by operation and resource.",
                BY_OPERATION,
                BUCKETS,
            )),
            requests: counter("etcd_requests_total", "[ALPHA] Requests to the store.", BY_OPERATION),
            errors: counter(
                "etcd_request_errors_total",
                "[ALPHA] Requests to the store that failed.",
                BY_OPERATION,
            ),
            events: counter(
                "apiserver_storage_events_received_total",
                "[BETA] Events that the store told of.",
                BY_RESOURCE,
            ),
            bookmarks: counter(
                "etcd_bookmark_total",
                "[ALPHA] How often the store said how far it is.",
                BY_RESOURCE,
            ),
            lists: counter("apiserver_storage_list_total", "[ALPHA] Lists out of the store.", BY_RESOURCE),
            fetched: counter(
                "apiserver_storage_list_fetched_objects_total",
                "[ALPHA] Objects that were read for lists out of the store.",
                BY_RESOURCE,
            ),
            evaluated: counter(
                "apiserver_storage_list_evaluated_objects_total",
                "[ALPHA] Objects that were looked at for lists out of the store.",
                BY_RESOURCE,
            ),
            returned: counter(
                "apiserver_storage_list_returned_objects_total",
                "[ALPHA] Objects that lists out of the store gave.",
                BY_RESOURCE,
            ),
            lease_entries: Arc::new(Family::with_buckets(
                "etcd_lease_object_counts",
                "[ALPHA] Objects that share a lease of etcd.",
                &[],
                LEASE_BUCKETS,
            )),
            sizes: Arc::new(Family::new(
                "apiserver_storage_size_bytes",
                "[STABLE] Bytes that the database of a cluster takes on disk.",
                &["storage_cluster_id"],
            )),
        })
    }

    /// The same store, with metrics.
    pub(crate) fn of(self: &Arc<Measures>, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Measured { store, measures: self.clone() })
    }

    /// Adds the metrics to `registry`.
    pub(crate) fn add_to(&self, registry: &Registry) {
        registry.add(self.durations.clone());
        registry.add(self.requests.clone());
        registry.add(self.errors.clone());
        registry.add(self.events.clone());
        registry.add(self.bookmarks.clone());
        for lists in [&self.lists, &self.fetched, &self.evaluated, &self.returned] {
            registry.add(lists.clone());
        }
        registry.add(self.lease_entries.clone());
        registry.add(self.sizes.clone());
        cache_metrics::add_to(registry, &self.catalog);
    }

    /// Periodically reads the size of the members' databases.
    pub(crate) async fn keep_sizes(self: Arc<Measures>, clusters: Vec<EtcdStore>, interval: Duration) {
        loop {
            for (number, cluster) in clusters.iter().enumerate() {
                for member in 0..cluster.endpoints().len() {
                    let Ok(size) = cluster.size(member).await else { continue };
                    let size = i64::try_from(size).unwrap_or(i64::MAX);
                    self.sizes.with(&[&format!("etcd-{number}")]).set(size);
                }
            }
            self.clock.sleep(interval).await;
        }
    }

    /// Records that a lease is full.
    pub(crate) fn lease_filled(&self, entries: u64) {
        self.lease_entries.with(&[]).observe(entries as f64);
    }

    fn count_list(&self, prefix: &Key, page: &Page) {
        let objects = page.entries.len() as u64;
        self.resource(prefix, |group, resource| {
            let labels = [group, resource];
            self.lists.with(&labels).inc();
            for family in [&self.fetched, &self.evaluated, &self.returned] {
                family.with(&labels).add(objects);
            }
        });
    }

    /// The group and the resource of a key; keys of no resource are labelled by their folder. `None` before
    /// the catalog is loaded.
    fn resource<T>(&self, key: &Key, use_it: impl FnOnce(&str, &str) -> T) -> Option<T> {
        let catalog = self.catalog.load();
        if catalog.groups().is_empty() {
            return None;
        }
        let rest = key.as_str().strip_prefix(&self.root).unwrap_or(key.as_str());
        let is_it =
            |path: &str| rest.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let mut all = catalog.groups().iter().flat_map(|group| &group.resources);
        Some(match all.find(|live| live.is_stored() && is_it(&live.resource.storage_path)) {
            Some(live) => use_it(&live.resource.group, &live.resource.plural),
            None => use_it("", rest.split('/').next().unwrap_or_default()),
        })
    }

    async fn measure<T>(
        &self,
        operation: &str,
        key: &Key,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begin = self.clock.monotonic();
        let outcome = work.await;
        let seconds = (self.clock.monotonic() - begin).as_secs_f64();
        let failed = outcome.as_ref().is_err_and(is_failure);
        self.resource(key, |group, resource| {
            let labels = [operation, group, resource];
            self.durations.with(&labels).observe(seconds);
            self.requests.with(&labels).inc();
            if failed {
                self.errors.with(&labels).inc();
            }
        });
        outcome
    }
}

/// Whether an error is a failure: a conflict with another writer is not.
fn is_failure(error: &StoreError) -> bool {
    !matches!(error, StoreError::Exists(_) | StoreError::Changed { .. })
}

impl Store for Measured {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        match self.store.is_near() {
            true => self.store.tip(prefix),
            false => Box::pin(self.measures.measure("get", prefix, self.store.tip(prefix))),
        }
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        Box::pin(self.measures.measure("get", key, self.store.get(key)))
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        Box::pin(async move {
            let list = self.store.list(prefix, after, limit, at);
            let page = self.measures.measure("list", prefix, list).await?;
            self.measures.count_list(prefix, &page);
            Ok(page)
        })
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        let operation = match (&write, expect) {
            (Write::Delete, _) => "delete",
            (Write::Put { .. }, Expect::Absent) => "create",
            (Write::Put { .. }, Expect::Unchanged(_)) => "update",
        };
        Box::pin(self.measures.measure(operation, key, self.store.commit(key, expect, write)))
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        let (measures, prefix_of, mut known) = (self.measures.clone(), prefix.clone(), None);
        let count = move |event: &Result<Event>| {
            if known.is_none() {
                known = measures.resource(&prefix_of, |group, resource| {
                    let labels = [group, resource];
                    (measures.events.with(&labels), measures.bookmarks.with(&labels))
                });
            }
            match (&known, event) {
                (Some((_, bookmarks)), Ok(Event::Progress(_))) => bookmarks.inc(),
                (Some((events, _)), Ok(_)) => events.inc(),
                (None, _) | (_, Err(_)) => {}
            }
        };
        self.store.watch(prefix, after).inspect(count).boxed()
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(before)
    }

    fn forgotten_before(&self, prefix: &Key) -> Option<Revision> {
        self.store.forgotten_before(prefix)
    }

    fn is_near(&self) -> bool {
        self.store.is_near()
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.store.health()
    }
}
