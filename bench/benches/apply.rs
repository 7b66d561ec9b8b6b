//! Server-side apply to a pod with five managers: what the engine costs beside reading and storing.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use keelson_codec::json;
use keelson_merge::apply::{Force, Json, OneVersion, Tracker, Types};
use keelson_object::Value;
use keelson_object::scalar::Time;
use keelson_schema::Schema;
use keelson_testkit::fixture;

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).expect("the bench writes JSON").value
}

fn parse(text: &str) -> Option<Value> {
    Some(read(text))
}

fn print(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).expect("JSON is UTF-8")
}

/// What managers add to the pod one after the other: a sidecar, labels, the status.
fn additions() -> [(&'static str, Value); 4] {
    let patch = |fields: &str| {
        read(&format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-x7k2p"{fields}}}"#))
    };
    [
        (
            "mesh",
            patch(
                r#"},"spec":{"containers":[{"name":"mesh","image":"mesh:1","env":[{"name":"A","value":"1"}]}]}"#,
            ),
        ),
        ("labeller", patch(r#","labels":{"example.com/zone":"a","example.com/rack":"7"}}"#)),
        ("annotator", patch(r#","annotations":{"example.com/owner":"shop","example.com/cost":"12"}}"#)),
        ("guard", patch(r#","finalizers":["example.com/guard"]},"spec":{"nodeSelector":{"zone":"a"}}"#)),
    ]
}

fn apply(criterion: &mut Criterion) {
    let schema = Schema::builtin("", "v1", "Pod").expect("built in");
    let tracker = Tracker {
        api_version: "v1",
        kind: "Pod",
        subresource: "",
        reset: &[],
        versions: &OneVersion { api_version: "v1", types: Types::Known(&schema) },
        json: Json { read: parse, write: print },
        now: Time::from_unix(1_700_000_000),
    };
    let stored = |mut object: Value| {
        schema.conform(&mut object).expect("it is a pod");
        object
    };
    let pod = read(&fixture::pod("web-x7k2p", 7_300).to_string());
    let mut live = stored(tracker.apply(None, &pod, "deployer", Force::No).expect("nobody else is there"));
    for (manager, patch) in additions() {
        live = stored(tracker.apply(Some(live), &patch, manager, Force::Yes).expect("it is forced"));
    }
    let mut changed = pod.clone();
    changed.as_map_mut().expect("a pod").map_mut("spec").set("terminationGracePeriodSeconds", 50);
    let mut shorter = pod.clone();
    shorter.as_map_mut().expect("a pod").map_mut("spec").remove("volumes");

    let mut group = criterion.benchmark_group("apply");
    for (name, patch) in [("the same", &pod), ("one field changed", &changed), ("volumes dropped", &shorter)]
    {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || live.clone(),
                |live| {
                    tracker.apply(Some(live), black_box(patch), "deployer", Force::Yes).expect("it is forced")
                },
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.bench_function("an update of one field", |bencher| {
        let mut new = live.clone();
        new.as_map_mut().expect("a pod").map_mut("spec").set("terminationGracePeriodSeconds", 50);
        bencher.iter_batched(
            || (live.clone(), new.clone()),
            |(live, mut new)| {
                tracker.update(Some(live), &mut new, "editor").expect("it is a pod");
                new
            },
            criterion::BatchSize::SmallInput,
        );
    });
    group.finish();
    println!("the pod has {} bytes, {} of them managed fields", print(&live).len(), managed_size(&live));
}

fn managed_size(object: &Value) -> usize {
    object.as_map().and_then(|it| it.at("metadata.managedFields")).map_or(0, |it| print(it).len())
}

criterion_group!(benches, apply);
criterion_main!(benches);
