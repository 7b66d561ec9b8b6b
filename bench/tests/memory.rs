//! The memory of an object at rest is a number that may not grow.

use bytes::Bytes;
use keelson_codec::{json, stored};
use keelson_object::{Object, SelectableField};
use keelson_testkit::fixture;

#[test]
fn a_frozen_pod_is_little_more_than_its_json() {
    let text = Bytes::from(fixture::pod("web-6d4cf56db6-x7k2p", 7_300).to_string());
    let document = json::read(&text).expect("the fixture is JSON");
    let object = Object::from_value(document.value).expect("the fixture is an object");
    let fields = [SelectableField::plain("spec.nodeName"), SelectableField::plain("status.phase")];
    let frozen = stored::decode(&stored::encode(&object), 7, &fields).expect("it was just encoded");
    assert!(frozen.json().len() <= text.len() + 100, "{} bytes of JSON", frozen.json().len());
    assert!(frozen.footprint() < 9_000, "{} bytes in memory", frozen.footprint());
}
