//! Every kind with every field filled, as upstream writes it in protobuf and in JSON.

use std::sync::OnceLock;

use keelson_codec::protobuf::{Envelope, List, decode, encode, encode_object, metadata_only};
use keelson_codec::{json, protobuf};
use keelson_object::{ApiVersion, Object, Value};
use keelson_schema::Schema;
use keelson_testkit::yardstick;
use proptest::prelude::*;

struct Sample {
    name: String,
    api_version: String,
    kind: String,
    schema: Schema,
    protobuf: Vec<u8>,
    tree: Value,
}

#[test]
fn samples_of_every_kind_are_read_as_their_json_says() {
    for sample in samples() {
        let value =
            sample.decode(&sample.protobuf).unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        let (found, expected) = (json::to_bytes(&value), json::to_bytes(&sample.tree));
        assert!(
            found == expected,
            "{}\nread     {}\nexpected {}",
            sample.name,
            found.escape_ascii(),
            expected.escape_ascii()
        );
    }
}

#[test]
fn samples_of_every_kind_are_written_byte_for_byte() {
    for sample in samples() {
        let written = encode(&sample.tree, &sample.api_version, &sample.kind);
        let written = written.unwrap_or_else(|error| panic!("{}: {error}", sample.name));
        assert!(
            *written == *sample.protobuf,
            "{}\nwritten  {}\nexpected {}",
            sample.name,
            written.escape_ascii(),
            sample.protobuf.escape_ascii()
        );
    }
}

#[test]
fn objects_are_written_as_their_trees_are() {
    for sample in samples().iter().filter(|it| it.has_object_meta()) {
        let object = Object::from_value(sample.tree.clone()).expect("an object");
        // Typed metadata has no selfLink: upstream does not set it either.
        let tree = object.clone().into_value();
        let expected = encode(&tree, &sample.api_version, &sample.kind).expect("the tree");
        assert_eq!(encode_object(&object).expect("the object"), expected, "{}", sample.name);
    }
}

#[test]
fn lists_of_messages_are_what_lists_of_trees_are() {
    for sample in samples().iter().filter(|it| it.has_object_meta()) {
        let list = format!("{}List", sample.kind);
        let version = ApiVersion::parse(&sample.api_version).expect("a version");
        let Some(schema) = Schema::builtin(&version.group, &version.version, &list) else { continue };
        let metadata = json::read(br#"{"resourceVersion":"7","remainingItemCount":3}"#).expect("JSON").value;
        let tree = json::read(
            format!(
                r#"{{"metadata":{{"resourceVersion":"7","remainingItemCount":3}},"items":[{0},{0}]}}"#,
                String::from_utf8_lossy(&json::to_bytes(&sample.tree))
            )
            .as_bytes(),
        );
        let expected = encode(&tree.expect("JSON").value, &sample.api_version, &list).expect("a list");

        let message = protobuf::write(&sample.tree, sample.schema.root()).expect("a message");
        let head = protobuf::Head::new(&sample.api_version, &list);
        let sizes = [message.len(); 2].into_iter();
        let parts = List::new(&head, schema.root(), &metadata, sizes).expect("a list kind");
        let mut out = parts.begin().to_vec();
        parts.item(&message, &mut out);
        parts.item(&message, &mut out);
        out.extend_from_slice(parts.end());
        assert_eq!(out.len(), parts.size(), "{list}");
        assert!(
            out == *expected,
            "{list}\nin parts {}\nexpected {}",
            out.escape_ascii(),
            expected.escape_ascii()
        );
    }
}

#[test]
fn metadata_is_the_first_field_of_every_object() {
    for sample in samples().iter().filter(|it| it.has_object_meta()) {
        let message = Envelope::read(&sample.protobuf).expect("an envelope").message;
        let metadata = metadata_only(message).unwrap_or_else(|| panic!("{} has none", sample.name));
        let partial = Schema::builtin("meta.k8s.io", "v1", "PartialObjectMetadata").expect("built in");
        let value = protobuf::read(metadata, partial.root()).expect("a message");
        let (found, expected) = (value.as_map().and_then(|it| it.get("metadata")), sample.metadata());
        assert_eq!(found, expected, "{}", sample.name);
    }
}

impl Sample {
    /// As the server reads bodies: the path fills in what the envelope does not contain.
    fn decode(&self, data: &[u8]) -> Result<Value, protobuf::Error> {
        Envelope::read(data)?.or(&self.api_version, &self.kind).decode()
    }

    fn metadata(&self) -> Option<&Value> {
        self.tree.as_map().and_then(|it| it.get("metadata"))
    }

    fn has_object_meta(&self) -> bool {
        let field = self.schema.root().field("metadata");
        field.and_then(|it| it.ty.as_struct()).is_some_and(|it| it.name == "ObjectMeta")
    }
}

/// A tree from which parts were removed, as `picks` says.
fn thinned(value: &Value, picks: &mut impl Iterator<Item = u8>) -> Value {
    let mut is_kept = || picks.next().is_none_or(|pick| pick % 4 != 0);
    match value {
        Value::Map(map) => {
            let kept: Vec<_> = map.iter().filter(|_| is_kept()).collect();
            let mut thin = |value: &Value| match thinned(value, picks) {
                // The stored form does not distinguish an empty map or list from an absent one.
                Value::Map(map) if map.is_empty() => Value::Null,
                Value::List(items) if items.is_empty() => Value::Null,
                value => value,
            };
            Value::Map(kept.into_iter().map(|(key, value)| (key.clone(), thin(value))).collect())
        }
        Value::List(items) => {
            let kept: Vec<_> = items.iter().filter(|_| is_kept()).collect();
            Value::List(kept.into_iter().map(|item| thinned(item, picks)).collect())
        }
        scalar => scalar.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if samples().is_empty() { 1 } else { 400 }))]

    #[test]
    fn damaged_samples_do_not_panic(
        which in any::<prop::sample::Index>(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let Some(sample) = samples().get(which.index(samples().len().max(1))) else { return Ok(()) };
        let mut data = sample.protobuf.clone();
        for (at, byte) in damage {
            // The first bytes of the envelope stay: otherwise nothing after them would ever be read.
            let at = 4 + at.index(data.len() - 4);
            data[at] = byte;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len()));
        }
        if let Ok(value) = decode(&data) {
            let envelope = Envelope::read(&data).unwrap();
            let once = encode(&value, &envelope.api_version, &envelope.kind).unwrap();
            prop_assert_eq!(sample.decode(&once).unwrap(), value);
        }
    }

    #[test]
    fn what_is_left_of_a_sample_comes_back_as_it_was(
        which in any::<prop::sample::Index>(),
        picks in proptest::collection::vec(any::<u8>(), 400),
    ) {
        let Some(sample) = samples().get(which.index(samples().len().max(1))) else { return Ok(()) };
        let mut tree = thinned(&sample.tree, &mut picks.into_iter());
        let map = tree.as_map_mut().unwrap();
        map.set("kind", sample.kind.as_str());
        map.set("apiVersion", sample.api_version.as_str());
        sample.schema.conform(&mut tree).unwrap();
        let once = encode(&tree, &sample.api_version, &sample.kind).unwrap();
        let back = sample.decode(&once).unwrap();
        prop_assert_eq!(json::to_bytes(&back), json::to_bytes(&tree), "{}", sample.name);
        let mut again = back.clone();
        prop_assert_eq!(sample.schema.conform(&mut again).unwrap(), Vec::<String>::new());
        prop_assert_eq!(json::to_bytes(&again), json::to_bytes(&back), "{}", sample.name);
    }
}

/// All samples; none if the yardstick is not available.
fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let Some(folder) = yardstick::folder("codec protobuf") else { return Vec::new() };
        let samples: Vec<Sample> = yardstick::samples(&folder).iter().map(read).collect();
        assert!(samples.len() >= 185, "only {} samples", samples.len());
        samples
    })
}

fn read(sample: &yardstick::Sample) -> Sample {
    let name = sample.name.clone();
    let schema = Schema::builtin(&sample.group, &sample.version, &sample.kind);
    Sample {
        api_version: sample.api_version(),
        kind: sample.kind.clone(),
        schema: schema.unwrap_or_else(|| panic!("{name} is not built in")),
        protobuf: sample.bytes("pb"),
        tree: json::read(&sample.bytes("json")).expect("JSON").value,
        name,
    }
}
