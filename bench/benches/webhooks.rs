//! What webhooks add to the creation of a config map: one, twenty at once, and twenty that are not meant.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use criterion::{Criterion, criterion_group, criterion_main};
use keelson_apis::Settings;
use keelson_authn::User;
use keelson_codec::json;
use keelson_kube_admission::Selection;
use keelson_object::Object;
use keelson_registry::admission::{self, Operation, Request};
use keelson_registry::live::Ground;
use keelson_registry::{Context, Place, catalog, operation};
use keelson_stdx::clock::Clock;
use keelson_store::{Layout, MemoryStore};
use keelson_testkit::{Asked, Callee};
use tokio::runtime::Runtime;

/// How long each webhook thinks.
const DELAY: Duration = Duration::from_millis(20);

fn allow(asked: &Asked) -> (u16, String) {
    let review: serde_json::Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let response = serde_json::json!({"uid": review["request"]["uid"], "allowed": true});
    let review = serde_json::json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    (200, review.to_string())
}

/// A cluster with so many webhooks for `resource`.
async fn context(callee: &Callee, count: usize, resource: &str) -> Context {
    let clock = Clock::real();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let ground = Ground::new(store, Layout::default(), clock.clone());
    let groups = keelson_apis::groups(&Settings::default());
    let catalog = catalog::load(groups, &ground).await.expect("everything is empty");
    let mut context = Context::new(User::new("bench", &[]), clock);
    context.api_version = "v1".into();
    context.catalog = Some(Arc::new(catalog));
    let hook = |number: usize| {
        serde_json::json!({
            "name": format!("w{number}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": callee.url("/"), "caBundle": STANDARD.encode(callee.ca())},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "scope": "*"}],
            "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
        })
    };
    let configuration = serde_json::json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "bench"}, "webhooks": (0..count).map(hook).collect::<Vec<_>>(),
    });
    let group = "admissionregistration.k8s.io";
    let live = context.reach(group, "validatingwebhookconfigurations").expect("it is built in");
    operation::create(live, &context, "", object(&configuration)).await.expect("it is valid");
    let only = vec!["MutatingAdmissionWebhook".to_owned(), "ValidatingAdmissionWebhook".to_owned()];
    let selection = Selection { only: Some(only), ..Selection::default() };
    let settings = keelson_kube_admission::Settings {
        features: BTreeSet::new(),
        ..keelson_kube_admission::Settings::default()
    };
    context.admission = Some(Arc::new(selection.chain(&settings)));
    context
}

fn object(value: &serde_json::Value) -> Object {
    let tree = json::read(value.to_string().as_bytes()).expect("it is JSON").value;
    Object::from_value(tree).expect("it is an object")
}

async fn judge(context: &Context, object: &mut Object) {
    let live = context.reach("", "configmaps").expect("config maps are built in");
    let place = Place::new("default", "a");
    let request = Request::new(Operation::Create, live, context, &place);
    admission::mutate(&request, Some(object)).await.expect("nobody is against it");
    admission::validate(&request, Some(object)).await.expect("nobody is against it");
}

/// Twenty take about as long as one: they are asked at once.
fn webhooks(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let callee = runtime.block_on(Callee::slow(DELAY, allow)).expect("a webhook");
    let map = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": {"key": "value"}});
    let mut map = object(&map);
    let mut group = criterion.benchmark_group("validating webhooks");
    group.sample_size(20);
    let mut medians = Vec::new();
    for (name, count, resource) in
        [("one", 1, "configmaps"), ("twenty at once", 20, "configmaps"), ("twenty for others", 20, "pods")]
    {
        let context = runtime.block_on(context(&callee, count, resource));
        runtime.block_on(judge(&context, &mut map));
        group.bench_function(name, |bencher| bencher.iter(|| runtime.block_on(judge(&context, &mut map))));
        let mut times: Vec<Duration> = (0..15)
            .map(|_| {
                let started = context.clock.monotonic();
                runtime.block_on(judge(&context, &mut map));
                context.clock.monotonic().saturating_sub(started)
            })
            .collect();
        times.sort_unstable();
        medians.push(times[times.len() / 2]);
    }
    group.finish();
    let ratio = medians[1].as_secs_f64() / medians[0].as_secs_f64();
    println!(
        "twenty take {ratio:.2} times as long as one ({:?}, {:?}); none {:?}",
        medians[1], medians[0], medians[2]
    );
    assert!(ratio < 5.0, "they are asked one after the other");
}

criterion_group!(benches, webhooks);
criterion_main!(benches);
