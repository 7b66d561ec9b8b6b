//! Every kind with every field filled, as upstream writes it: conforming changes nothing.

use keelson_codec::json;
use keelson_schema::Schema;
use keelson_testkit::yardstick;

#[test]
fn samples_of_every_kind_are_in_their_one_form() {
    let Some(folder) = yardstick::folder("schema") else { return };
    let samples = yardstick::samples(&folder);
    samples.iter().for_each(check);
    assert!(samples.len() >= 185, "only {} samples", samples.len());
}

fn check(sample: &yardstick::Sample) {
    let name = &sample.name;
    let schema = Schema::builtin(&sample.group, &sample.version, &sample.kind);
    let schema = schema.unwrap_or_else(|| panic!("{name} is not built in"));
    let text = sample.bytes("json");
    let mut value = json::read(&text).expect("JSON").value;
    let before = json::to_bytes(&value);
    let unknown = schema.conform(&mut value).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(unknown.is_empty(), "{name} has unknown fields: {unknown:?}");
    let after = json::to_bytes(&value);
    assert!(before == after, "{name}\nbefore {}\nafter  {}", before.escape_ascii(), after.escape_ascii());
}
