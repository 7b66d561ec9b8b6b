//! Durable commits to the embedded store: alone, and many that share an fsync.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use keelson_stdx::clock::Clock;
use keelson_store::{At, Expect, Key, Store, Write};
use keelson_store_mvcc::{MvccStore, Options};
use tokio::runtime::Runtime;

const SIZE: usize = 7_300;

fn commits(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let store = runtime
        .block_on(MvccStore::open(Options::new(folder.path(), Clock::real())))
        .expect("an empty folder becomes a store");
    let value = Bytes::from(vec![b'k'; SIZE]);
    let number = AtomicU64::new(0);
    let mut group = criterion.benchmark_group("durable commits");
    group.sample_size(10);
    for together in [1, 64] {
        group.throughput(Throughput::Elements(together));
        group.bench_with_input(BenchmarkId::new("together", together), &together, |bencher, together| {
            bencher.iter(|| {
                let keys: Vec<Key> = (0..*together)
                    .map(|_| {
                        Key::new(format!("/registry/pods/default/{}", number.fetch_add(1, Ordering::Relaxed)))
                    })
                    .collect();
                let all = keys.iter().map(|key| store.commit(key, Expect::Absent, Write::put(value.clone())));
                for result in runtime.block_on(join_all(all)) {
                    result.expect("the key is new");
                }
            });
        });
    }
    group.finish();

    let prefix = Key::new("/registry/pods/");
    criterion.bench_function("list 500 entries", |bencher| {
        bencher.iter(|| {
            let page = runtime.block_on(store.list(&prefix, None, 500, At::Latest));
            page.expect("the store is open").entries.len()
        });
    });
    runtime.block_on(store.close());
}

criterion_group!(benches, commits);
criterion_main!(benches);
