//! Objects between bytes, tree and frozen form: what a write costs, and what a list copies.

use std::hint::black_box;

use bytes::BytesMut;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use keelson_bench::codec::Forms;
use keelson_codec::{json, protobuf, stored, yaml};
use keelson_object::{Frozen, Object, SelectableField};

fn object(forms: &Forms) -> Object {
    Object::from_value(forms.from_json()).expect("the fixture is an object")
}

fn frozen(forms: &Forms, revision: u64) -> Frozen {
    stored::decode(&stored::encode(&forms.object), revision, &fields()).expect("it was just encoded")
}

/// Bodies to trees of the right form and back: `keelson-bench codec` shows the same as ratios.
fn bodies(criterion: &mut Criterion) {
    let forms = Forms::of_pod().expect("the pod has every form");
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(forms.json.len() as u64));
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(&forms.json)).expect("JSON"));
    });
    group.bench_function("JSON, unchecked", |bencher| {
        bencher.iter(|| json::read(black_box(&forms.json)).expect("it is JSON"));
    });
    group.bench_function("JSON", |bencher| bencher.iter(|| black_box(&forms).from_json()));
    group.bench_function("YAML", |bencher| bencher.iter(|| black_box(&forms).from_yaml()));
    group.bench_function("protobuf", |bencher| bencher.iter(|| black_box(&forms).from_protobuf()));
    group.bench_function("CBOR", |bencher| bencher.iter(|| black_box(&forms).from_cbor()));
    group.finish();
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Bytes(forms.json.len() as u64));
    group.bench_function("JSON", |bencher| bencher.iter(|| json::to_bytes(black_box(&forms.tree))));
    group.bench_function("YAML", |bencher| bencher.iter(|| yaml::to_text(black_box(&forms.tree).clone())));
    group.bench_function("protobuf", |bencher| {
        bencher.iter(|| protobuf::encode(black_box(&forms.tree), "v1", "Pod").expect("it is a pod"));
    });
    group.bench_function("CBOR", |bencher| bencher.iter(|| forms.to_cbor()));
    group.finish();
}

fn fields() -> [SelectableField; 2] {
    [SelectableField::plain("spec.nodeName"), SelectableField::plain("status.phase")]
}

fn one_object(criterion: &mut Criterion) {
    let forms = Forms::of_pod().expect("the pod has every form");
    let (text, tree) = (&forms.json, &forms.object);
    let at_rest = stored::encode(tree);
    let fields = fields();
    let frozen = frozen(&forms, 7);
    let mut group = criterion.benchmark_group("object");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse", |bencher| bencher.iter(|| object(black_box(&forms))));
    group.bench_function("clone the tree", |bencher| bencher.iter(|| black_box(tree).clone()));
    group.bench_function("encode for the store", |bencher| bencher.iter(|| stored::encode(black_box(tree))));
    group.bench_function("freeze", |bencher| {
        bencher.iter(|| stored::decode(black_box(&at_rest), 7, &fields).expect("it was just encoded"));
    });
    group.bench_function("thaw", |bencher| {
        bencher.iter(|| stored::thaw(black_box(&frozen), "v1", "Pod").expect("it was just frozen"));
    });
    group.finish();
    println!(
        "memory of a pod of {} bytes: frozen {} bytes, {:.2} of its JSON",
        text.len(),
        frozen.footprint(),
        ratio(frozen.footprint(), text.len())
    );
}

/// The floor of a LIST: all bytes, copied in chunks as they are sent.
fn list(criterion: &mut Criterion) {
    const OBJECTS: u64 = 10_000;
    const CHUNK: usize = 64 << 10;
    let forms = Forms::of_pod().expect("the pod has every form");
    let objects: Vec<Frozen> = (0..OBJECTS).map(|number| frozen(&forms, number)).collect();
    let bytes: u64 = objects.iter().map(|object| object.json().len() as u64).sum();
    let mut group = criterion.benchmark_group("list of 10000 pods");
    group.throughput(Throughput::Bytes(bytes)).sample_size(20);
    group.bench_function("copy", |bencher| {
        bencher.iter(|| {
            let mut chunk = BytesMut::with_capacity(2 * CHUNK);
            let mut sent = 0;
            for object in &objects {
                chunk.extend_from_slice(object.json());
                if chunk.len() >= CHUNK {
                    sent += black_box(chunk.split()).len();
                    chunk.reserve(2 * CHUNK);
                }
            }
            sent + chunk.len()
        });
    });
    group.finish();
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

criterion_group!(benches, bodies, one_object, list);
criterion_main!(benches);
