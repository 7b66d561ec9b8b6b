//! A strategic merge patch of a pod: what the engine costs beside reading and storing.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use keelson_codec::json;
use keelson_merge::strategic;
use keelson_object::Value;
use keelson_schema::Schema;
use keelson_testkit::fixture;

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).expect("the bench writes JSON").value
}

/// What kubectl, the kubelet and a controller send.
fn patches() -> [(&'static str, Value); 4] {
    let label = read(r#"{"metadata":{"labels":{"example.com/zone":"a"}}}"#);
    let status = read(
        r#"{"status":{"$setElementOrder/conditions":[{"type":"Initialized"},{"type":"Ready"}],
            "conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}]}}"#,
    );
    let sidecar = read(
        r#"{"spec":{"containers":[{"name":"mesh","image":"mesh:1","env":[{"name":"A","value":"1"}]}],
            "volumes":[{"name":"mesh","emptyDir":{}}]}}"#,
    );
    let finalizers = read(
        r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/old"],
            "$setElementOrder/finalizers":["example.com/new"],"finalizers":["example.com/new"]}}"#,
    );
    [("a label", label), ("a condition", status), ("a sidecar", sidecar), ("finalizers", finalizers)]
}

fn strategic_merge(criterion: &mut Criterion) {
    let schema = Schema::builtin("", "v1", "Pod").expect("built in");
    let pod = read(&fixture::pod("web-x7k2p", 7_300).to_string());
    let mut group = criterion.benchmark_group("strategic");
    for (name, patch) in patches() {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || (pod.clone(), patch.clone()),
                |(mut pod, patch)| {
                    strategic::merge(&mut pod, black_box(patch), &schema).expect("it is a patch of a pod");
                    pod
                },
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, strategic_merge);
criterion_main!(benches);
