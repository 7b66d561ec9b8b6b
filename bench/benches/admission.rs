//! What the default plugins add to the creation of a pod.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use keelson_apis::Settings;
use keelson_authn::User;
use keelson_bench::pod;
use keelson_kube_admission::Selection;
use keelson_object::{Object, ObjectMeta, Value};
use keelson_registry::admission::{self, Operation, Request};
use keelson_registry::live::Ground;
use keelson_registry::{Context, Live, Place, catalog, operation};
use keelson_server::metrics::Registry;
use keelson_server::metrics::admission::measured;
use keelson_stdx::clock::Clock;
use keelson_store::{Layout, MemoryStore};
use tokio::runtime::Runtime;

/// As in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A cluster with the namespace `default`, its accounts and the two classes of the system.
async fn context() -> Context {
    let clock = Clock::real();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let ground = Ground::new(store, Layout::default(), clock.clone());
    let groups = keelson_apis::groups(&Settings::default());
    let catalog = catalog::load(groups, &ground).await.expect("everything is empty");
    let mut context = Context::new(User::new("bench", &[]), clock);
    context.catalog = Some(Arc::new(catalog));
    make(&context, "", "namespaces", "default").await;
    for name in ["system-node-critical", "system-cluster-critical"] {
        make(&context, "scheduling.k8s.io", "priorityclasses", name).await;
    }
    for name in ["default/default", "default/checkout"] {
        make(&context, "", "serviceaccounts", name).await;
    }
    context
}

fn settings() -> keelson_kube_admission::Settings {
    let features = ["PodLevelResources", "PodTopologyLabelsAdmission"];
    keelson_kube_admission::Settings {
        features: features.into_iter().map(String::from).collect::<BTreeSet<_>>(),
        ..keelson_kube_admission::Settings::default()
    }
}

/// `name` may stand behind a namespace and a slash.
async fn make(context: &Context, group: &str, plural: &str, name: &str) {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let live = context.reach(group, plural).expect("it is built in");
    let mut object = Object {
        kind: live.resource.kind.clone(),
        api_version: live.resource.stored_version().api_version.clone(),
        meta: ObjectMeta { name: name.into(), ..ObjectMeta::default() },
        ..Object::default()
    };
    if plural == "priorityclasses" {
        let value = if name == "system-node-critical" { 2_000_001_000 } else { 2_000_000_000 };
        object.fields.set("value", value);
        object.fields.set("preemptionPolicy", "PreemptLowerPriority");
    }
    operation::create(live, context, namespace, object).await.expect("it is valid");
}

async fn judge(context: &Context, live: &Live, place: &Place, mut object: Object) -> Object {
    let request = Request::new(Operation::Create, live, context, place);
    admission::mutate(&request, Some(&mut object)).await.expect("nobody is against it");
    admission::validate(&request, Some(&object)).await.expect("nobody is against it");
    object
}

fn chain(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let mut context = runtime.block_on(context());
    let (settings, registry) = (settings(), Registry::default());
    let chain = || Selection::default().chain(&settings);
    for (name, chain) in [
        ("the default plugins, a pod", chain()),
        ("the default plugins, a pod, with their times", measured(chain(), &registry)),
    ] {
        context.admission = Some(Arc::new(chain));
        one_pod(criterion, &runtime, &context, name);
    }
}

fn one_pod(criterion: &mut Criterion, runtime: &Runtime, context: &Context, name: &str) {
    let live = context.reach("", "pods").expect("pods are built in");
    let mut template = pod::template("web").expect("the fixture is a pod");
    template.remove("status");
    for key in ["tolerations", "priority", "preemptionPolicy", "priorityClassName"] {
        template.map_mut("spec").remove(key);
    }
    let object = Object::from_value(Value::Map(template)).expect("it is an object");
    let place = Place::new("default", "web");
    criterion.bench_function(name, |bencher| {
        bencher.iter_batched(
            || object.clone(),
            |object| runtime.block_on(judge(context, live, &place, black_box(object))),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, chain);
criterion_main!(benches);
