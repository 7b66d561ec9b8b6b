//! What quotas cost: 64 creates at once in one namespace, on the embedded store, with and without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use keelson_apis::Settings;
use keelson_authn::User;
use keelson_kube_admission::Selection;
use keelson_object::{Map, Object, ObjectMeta};
use keelson_registry::live::Ground;
use keelson_registry::options::Part;
use keelson_registry::{Catalog, Context, Place, catalog, operation};
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::Layout;
use keelson_store_mvcc::{MvccStore, Options};
use tokio::runtime::Runtime;

const TOGETHER: u64 = 64;

/// A server without its network: everything that is served, and the plugins that judge.
struct Engine {
    catalog: Arc<Catalog>,
    chain: Arc<keelson_registry::admission::Chain>,
    clock: Clock,
}

impl Engine {
    async fn new(store: Arc<MvccStore>) -> Engine {
        let clock = Clock::real();
        let ground = Ground::new(store, Layout::default(), clock.clone());
        let catalog = catalog::load(keelson_apis::groups(&Settings::default()), &ground).await;
        let chain = Selection::default().chain(&keelson_kube_admission::Settings::default());
        let catalog = Arc::new(catalog.expect("the store is empty"));
        Engine { catalog, chain: Arc::new(chain), clock }
    }

    fn context(&self) -> Context {
        let mut context = Context::new(User::new("bench", &[]), self.clock.clone());
        context.catalog = Some(self.catalog.clone());
        context.admission = Some(self.chain.clone());
        context
    }

    async fn create(&self, plural: &str, namespace: &str, name: String, fields: Map) {
        let live = self.catalog.live("", plural).expect("it is built in");
        let object = Object {
            kind: live.resource.kind.clone(),
            api_version: live.resource.stored_version().api_version.clone(),
            meta: ObjectMeta { name: name.into(), namespace: namespace.into(), ..ObjectMeta::default() },
            fields,
        };
        operation::create(live, &self.context(), namespace, object).await.expect("nobody is against it");
    }

    /// A quota that has been counted.
    async fn limit(&self, namespace: &str) {
        let mut hard = Map::new();
        hard.set("configmaps", "1000000000");
        let mut spec = Map::new();
        spec.set("hard", hard.clone());
        let mut fields = Map::new();
        fields.set("spec", spec);
        self.create("resourcequotas", namespace, String::from("q"), fields).await;
        let quotas = self.catalog.live("", "resourcequotas").expect("it is built in");
        let mut used = Map::new();
        used.set("configmaps", "0");
        let count = |old: &Object| {
            let mut object = old.clone();
            let status = object.fields.map_mut("status");
            status.set("hard", hard.clone());
            status.set("used", used.clone());
            Ok(object)
        };
        let place = Place::new(namespace, "q");
        let counted = operation::patch(quotas, &self.context(), &place, Part::Status, count).await;
        counted.expect("nobody is against it");
    }
}

fn creates(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let store = runtime.block_on(MvccStore::open(Options::new(folder.path(), Clock::real())));
    let store = Arc::new(store.expect("an empty folder becomes a store"));
    let engine = Arc::new(runtime.block_on(Engine::new(store.clone())));
    runtime.block_on(async {
        engine.create("namespaces", "", String::from("free"), Map::new()).await;
        engine.create("namespaces", "", String::from("limited"), Map::new()).await;
        engine.limit("limited").await;
    });
    let number = AtomicU64::new(0);
    let mut group = criterion.benchmark_group("64 creates at once");
    group.sample_size(20);
    group.throughput(Throughput::Elements(TOGETHER));
    for namespace in ["free", "limited"] {
        group.bench_with_input(BenchmarkId::new("namespace", namespace), &namespace, |bencher, namespace| {
            bencher.iter(|| {
                let all = (0..TOGETHER).map(|_| {
                    let (engine, namespace) = (engine.clone(), *namespace);
                    let name = format!("m-{}", number.fetch_add(1, Ordering::Relaxed));
                    async move {
                        let one =
                            async move { engine.create("configmaps", namespace, name, Map::new()).await };
                        task::spawn("create", one).await.expect("it does not panic");
                    }
                });
                runtime.block_on(join_all(all));
            });
        });
    }
    group.finish();
    runtime.block_on(store.close());
}

criterion_group!(benches, creates);
criterion_main!(benches);
