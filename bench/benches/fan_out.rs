//! One commit, many watchers: from the store through the cache to everybody.

use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keelson_codec::{json, stored};
use keelson_object::Object;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::{Entry, Expect, Key, MemoryStore, Revision, Store, Write};
use keelson_testkit::fixture;
use keelson_watch_cache::{Cache, CacheOptions, Scope, Signal, Start, WatchRequest};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Semaphore};

const EVENTS: usize = 50;

/// A cache, somebody who writes, and watchers that count.
struct Stage {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
    value: Bytes,
    /// Of the objects that are written again and again.
    revisions: Mutex<[Option<Revision>; EVENTS]>,
    seen: Arc<Semaphore>,
    watchers: usize,
}

impl Stage {
    async fn new(watchers: usize, scope: impl Fn(usize) -> Scope) -> Stage {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Clock::real()));
        let decode = Arc::new(|entry: &Entry| {
            stored::decode(&entry.value, entry.modified.get(), &[]).map(Arc::new).map_err(Into::into)
        });
        let options =
            CacheOptions::new(Arc::clone(&store), Key::new("/registry/pods/"), decode, Clock::real());
        let cache = Cache::start(options).await.expect("an empty store can be listed");
        let text = fixture::pod("web", 7_300).to_string();
        let document = json::read(text.as_bytes()).expect("the fixture is JSON");
        let object = Object::from_value(document.value).expect("the fixture is an object");
        let seen = Arc::new(Semaphore::new(0));
        for number in 0..watchers {
            let request = WatchRequest::new(Start::After(cache.revision()), scope(number));
            let mut watcher = cache.watch(request).expect("the revision is the present");
            let seen = Arc::clone(&seen);
            task::spawn("watcher", async move {
                while let Some(Ok(signal)) = watcher.next().await {
                    if matches!(signal, Signal::Event(_)) {
                        seen.add_permits(1);
                    }
                }
            });
        }
        Stage {
            store,
            cache,
            value: stored::encode(&object),
            revisions: Mutex::new([None; EVENTS]),
            seen,
            watchers,
        }
    }

    /// Commits some changes and waits until `deliveries` of them were seen.
    async fn round(&self, deliveries: usize) {
        let mut revisions = self.revisions.lock().await;
        for (number, revision) in revisions.iter_mut().enumerate() {
            let key = Key::new(format!("/registry/pods/default/web-{number}"));
            let expect = revision.map_or(Expect::Absent, Expect::Unchanged);
            let committed = self.store.commit(&key, expect, Write::put(self.value.clone())).await;
            *revision = Some(committed.expect("nobody else writes"));
        }
        let count = u32::try_from(deliveries).expect("a bench is small");
        if let Ok(permits) = self.seen.acquire_many(count).await {
            permits.forget();
        }
        // The reference store keeps everything that it is not told to forget.
        if let Some(present) = revisions.last().copied().flatten() {
            self.store.compact(present).await.expect("the present is known");
        }
    }
}

fn fan_out(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut group = criterion.benchmark_group("fan-out");
    group.sample_size(10);
    for watchers in [1, 100, 1_000] {
        let stage = runtime.block_on(Stage::new(watchers, |_| Scope::All));
        group.throughput(Throughput::Elements((EVENTS * watchers) as u64));
        group.bench_with_input(BenchmarkId::new("everybody sees it", watchers), &stage, |bencher, stage| {
            bencher.iter(|| runtime.block_on(stage.round(EVENTS * stage.watchers)));
        });
        stage.cache.close();
    }
    // A thousand watchers of other objects cost nothing.
    let stage = runtime.block_on(Stage::new(1_000, |number| match number {
        0 => Scope::All,
        _ => Scope::Namespace(format!("other-{number}").into()),
    }));
    group.throughput(Throughput::Elements(EVENTS as u64));
    group.bench_function("one of 1000 sees it", |bencher| {
        bencher.iter(|| runtime.block_on(stage.round(EVENTS)));
    });
    stage.cache.close();
    group.finish();
}

criterion_group!(benches, fan_out);
criterion_main!(benches);
