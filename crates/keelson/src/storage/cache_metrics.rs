//! Watch cache metrics, with upstream's names.
//!
//! Upstream: apiserver/pkg/storage/cacher/metrics/metrics.go (v1.36.4).

use std::sync::Arc;

use keelson_registry::{CatalogHandle, Live};
use keelson_server::metrics::{Computed, Gathered, Kind, Registry, Sample};
use keelson_watch_cache::{Cache, Stats};

const BY_RESOURCE: &[&str] = &["group", "resource"];
const BY_INDEX: &[&str] = &["group", "resource", "index"];

/// Adds the metrics of the caches of `catalog` to `registry`.
pub(super) fn add_to(registry: &Registry, catalog: &CatalogHandle) {
    for (name, help, kind, number) in NUMBERS {
        let samples = samples(catalog, |_, cache| vec![(Vec::new(), number(&cache.stats()))]);
        registry.add(Arc::new(Computed::new(name, help, *kind, samples).labels(BY_RESOURCE)));
    }
    for (name, help, labels, count) in COUNTERS {
        let samples = samples(catalog, count);
        registry.add(Arc::new(Computed::new(name, help, Kind::Counter, samples).labels(labels)));
    }
    let name = "apiserver_watch_cache_read_wait_seconds";
    let help = "[ALPHA] Seconds that readers waited until a cache was fresh.";
    let catalog = catalog.clone();
    registry.add(Arc::new(Gathered::new(name, help, BY_RESOURCE, move || {
        let waits = of_caches(&catalog, |_, cache| Some(cache.read_waits()).filter(|it| it.count() > 0));
        waits.into_iter().filter_map(|(labels, waits)| Some((labels, waits?))).collect()
    })));
}

/// Name, help, kind and the number of a cache.
type Number = (&'static str, &'static str, Kind, fn(&Stats) -> u64);

const NUMBERS: &[Number] = &[
    (
        "apiserver_watch_cache_events_received_total",
        "[ALPHA] Events that caches have seen.",
        Kind::Counter,
        |stats| stats.events,
    ),
    (
        "apiserver_watch_cache_events_dispatched_total",
        "[ALPHA] Events that caches have put into the queues of watchers.",
        Kind::Counter,
        |stats| stats.queued,
    ),
    (
        "apiserver_terminated_watchers_total",
        "[ALPHA] Watchers that were ended because they were too slow.",
        Kind::Counter,
        |stats| stats.lagged,
    ),
    ("watch_cache_capacity", "[ALPHA] How many events caches keep.", Kind::Gauge, |stats| {
        stats.history_capacity as u64
    }),
    (
        "apiserver_watch_cache_resource_version",
        "[ALPHA] Where caches are, in the last fifteen digits.",
        Kind::Gauge,
        |stats| stats.revision.get() % 1_000_000_000_000_000,
    ),
    (
        "apiserver_watch_cache_initializations_total",
        "[ALPHA] How often caches listed everything.",
        Kind::Counter,
        |stats| stats.relists + 1,
    ),
    (
        "apiserver_resource_size_estimate_bytes",
        "[ALPHA] Bytes that the stored objects have, roughly.",
        Kind::Gauge,
        |stats| stats.bytes,
    ),
    (
        "apiserver_storage_decode_errors_total",
        "[ALPHA] Values in the store that were not objects.",
        Kind::Counter,
        |stats| stats.decode_failures,
    ),
];

/// The values of further labels, and a count.
type Counts = Vec<(Vec<String>, u64)>;
/// Name, help, labels and the counts of a cache: zero counts are not printed.
type Counted = (&'static str, &'static str, &'static [&'static str], fn(&Live, &Cache) -> Counts);

const COUNTERS: &[Counted] = &[
    (
        "apiserver_watch_cache_consistent_read_total",
        "[ALPHA] Consistent reads of caches.",
        &["group", "resource", "success", "fallback"],
        |_, cache| {
            let stats = cache.stats();
            let outcome = |success: &str, count| (vec![success.to_owned(), String::from("false")], count);
            positive([
                outcome("true", stats.consistent_reads),
                outcome("false", stats.failed_consistent_reads),
            ])
        },
    ),
    (
        "apiserver_storage_consistency_checks_total",
        "[ALPHA] How often caches were compared with the store, and what came of it.",
        &["group", "resource", "status"],
        |_, cache| {
            let stats = cache.stats();
            let outcome = |status: &str, count| (vec![status.to_owned()], count);
            positive([
                outcome("success", stats.checks_passed),
                outcome("failure", stats.checks_failed),
                outcome("error", stats.checks_broken),
            ])
        },
    ),
    ("apiserver_cache_list_total", "[ALPHA] Lists out of caches.", BY_INDEX, |live, cache| {
        let lists = cache.lists().into_iter().filter(|it| it.lists > 0);
        lists.map(|it| (vec![index_name(live, it.index)], it.lists)).collect()
    }),
    (
        "apiserver_cache_list_fetched_objects_total",
        "[ALPHA] Objects that were looked at for lists out of caches.",
        BY_INDEX,
        |live, cache| {
            let lists = cache.lists().into_iter().filter(|it| it.lists > 0);
            lists.map(|it| (vec![index_name(live, it.index)], it.fetched)).collect()
        },
    ),
    (
        "apiserver_cache_list_returned_objects_total",
        "[ALPHA] Objects that lists out of caches gave.",
        BY_RESOURCE,
        |_, cache| {
            let has_lists = cache.lists().iter().any(|it| it.lists > 0);
            has_lists.then(|| (Vec::new(), cache.stats().listed)).into_iter().collect()
        },
    ),
    ("apiserver_init_events_total", "[ALPHA] Events with which watches began.", BY_RESOURCE, |_, cache| {
        positive([(Vec::new(), cache.stats().initial_events)])
    }),
    (
        "watch_cache_capacity_increase_total",
        "[ALPHA] How often caches began to keep more events.",
        BY_RESOURCE,
        |_, cache| positive([(Vec::new(), cache.stats().history_grown)]),
    ),
    (
        "watch_cache_capacity_decrease_total",
        "[ALPHA] How often caches began to keep fewer events.",
        BY_RESOURCE,
        |_, cache| positive([(Vec::new(), cache.stats().history_shrunk)]),
    ),
];

fn positive(counts: impl IntoIterator<Item = (Vec<String>, u64)>) -> Counts {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Upstream's name of an index: `f:spec.nodeName`; empty for none.
fn index_name(live: &Live, index: Option<usize>) -> String {
    let field = index.and_then(|index| live.resource.selectable.get(index));
    field.map(|field| format!("f:{}", field.label)).unwrap_or_default()
}

/// The counts of each cache: group, resource and further labels.
fn samples<F>(catalog: &CatalogHandle, counts: F) -> impl Fn() -> Vec<Sample> + use<F>
where
    F: Fn(&Live, &Cache) -> Counts,
{
    let catalog = catalog.clone();
    move || {
        let mut samples = Vec::new();
        for (resource, counts) in of_caches(&catalog, &counts) {
            samples.extend(counts.into_iter().map(|(others, value)| {
                let labels = resource.iter().cloned().chain(others).collect();
                Sample { labels, value: value as f64 }
            }));
        }
        samples
    }
}

/// A value for each cache, with its group and its resource.
fn of_caches<T>(catalog: &CatalogHandle, look: impl Fn(&Live, &Cache) -> T) -> Vec<(Vec<String>, T)> {
    let catalog = catalog.load();
    let all = catalog.groups().iter().flat_map(|group| &group.resources);
    // A resource that shows the objects of another one shares its cache: it is counted once.
    let homes = all.filter(|live| live.resource.stands_for.is_none());
    let labels = |live: &Live| vec![live.resource.group.to_string(), live.resource.plural.to_string()];
    homes.filter_map(|live| Some((labels(live), look(live, live.cache().ok()?)))).collect()
}
