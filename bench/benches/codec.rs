//! Objects between bytes, tree and frozen form: what a write costs, and what a list copies.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use keelson_codec::{json, stored};
use keelson_object::{Frozen, Object, SelectableField};
use keelson_testkit::fixture;

const SIZE: usize = 7_300;

fn pod() -> Bytes {
    Bytes::from(fixture::pod("web-6d4cf56db6-x7k2p", SIZE).to_string())
}

fn object(text: &[u8]) -> Object {
    let document = json::read(text).expect("the fixture is JSON");
    Object::from_value(document.value).expect("the fixture is an object")
}

fn frozen(revision: u64) -> Frozen {
    stored::decode(&stored::encode(&object(&pod())), revision, &fields()).expect("it was just encoded")
}

fn fields() -> [SelectableField; 2] {
    [SelectableField::plain("spec.nodeName"), SelectableField::plain("status.phase")]
}

fn one_object(criterion: &mut Criterion) {
    let text = pod();
    let tree = object(&text);
    let value = tree.clone().into_value();
    let at_rest = stored::encode(&tree);
    let fields = fields();
    let frozen = frozen(7);
    let mut group = criterion.benchmark_group("object");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("parse", |bencher| bencher.iter(|| object(black_box(&text))));
    group.bench_function("write", |bencher| bencher.iter(|| json::to_bytes(black_box(&value))));
    group.bench_function("clone the tree", |bencher| bencher.iter(|| black_box(&tree).clone()));
    group.bench_function("encode for the store", |bencher| bencher.iter(|| stored::encode(black_box(&tree))));
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
    let objects: Vec<Frozen> = (0..OBJECTS).map(frozen).collect();
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

criterion_group!(benches, one_object, list);
criterion_main!(benches);
