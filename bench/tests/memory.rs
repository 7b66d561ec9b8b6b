//! The memory of an object, at rest and while it is edited: numbers that may not grow.
//!
//! One test, because both sides are read off the resident memory of this process.

use std::process;

use bytes::Bytes;
use keelson_codec::{json, stored};
use keelson_object::{Object, SelectableField};
use keelson_testkit::{fixture, memory};

/// So many that what the process takes besides does not count.
const OBJECTS: usize = 4_000;

/// [`OBJECTS`] values and how many bytes each of them takes. They are kept until the next measurement, so that
/// their memory is not taken for free.
fn held<T>(make: impl Fn() -> T) -> (Vec<T>, u64) {
    let mut held = Vec::with_capacity(OBJECTS);
    held.push(make());
    let before = memory::resident(process::id()).expect("this process");
    held.extend((1..OBJECTS).map(|_| make()));
    let after = memory::resident(process::id()).expect("this process");
    (held, after.saturating_sub(before) / (OBJECTS as u64 - 1))
}

#[test]
fn an_object_at_rest_is_its_json_and_a_tree_a_few_times_that() {
    let text = Bytes::from(fixture::pod("web-6d4cf56db6-x7k2p", 7_300).to_string());
    let tree = || Object::from_value(json::read(&text).expect("JSON").value).expect("an object");
    let bytes = stored::encode(&tree());
    let fields = [SelectableField::plain("spec.nodeName"), SelectableField::plain("status.phase")];
    let freeze = || stored::decode(&bytes, 7, &fields).expect("it was just encoded");

    let frozen = freeze();
    assert!(frozen.json().len() <= text.len() + 100, "{} bytes of JSON", frozen.json().len());
    assert!(frozen.footprint() < 9_000, "{} bytes in memory", frozen.footprint());

    let (_frozen, at_rest) = held(freeze);
    let (_trees, edited) = held(tree);
    println!("{} bytes of JSON: {at_rest} bytes frozen, {edited} bytes as a tree", text.len());
    assert!((7_000..9_000).contains(&at_rest), "{at_rest} bytes frozen");
    assert!((7_000..45_000).contains(&edited), "{edited} bytes as a tree");
}
