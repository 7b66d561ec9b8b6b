//! What must hold for any bytes: a reader answers, and what it takes it takes again from its own writer.
//!
//! The fuzz targets call these with bytes from libFuzzer, the suite `mutations` of the tests with its own.
#![allow(dead_code, reason = "each target uses one of them")]

use std::sync::LazyLock;

use keelson_codec::{cbor, json, protobuf, yaml};
use keelson_merge::{JsonPatch, strategic};
use keelson_object::Value;
use keelson_object::selector::{field, label};
use keelson_schema::Schema;

/// The kinds that bodies are read as: nested, with bytes, with numbers.
static KINDS: LazyLock<[(&str, &str, Schema); 3]> = LazyLock::new(|| {
    [("v1", "Pod"), ("v1", "Secret"), ("apps/v1", "Deployment")].map(|(api_version, kind)| {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        (api_version, kind, Schema::builtin(group, version, kind).expect("built in"))
    })
});

/// An object that patches change.
static TARGET: LazyLock<Value> = LazyLock::new(|| {
    let text = br#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"a":"b"},
        "finalizers":["x/y","z"]},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i",
        "ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"name":"A","value":"1"}]},{"name":"d"}],
        "volumes":[{"name":"v","emptyDir":{}}]}}}}"#;
    json::read(text).expect("JSON").value
});

/// JSON in, the same JSON out.
pub(crate) fn json_read(data: &[u8]) {
    match json::read(data) {
        Ok(document) => {
            let text = json::to_bytes(&document.value);
            let again = json::read(&text).expect("what was written can be read");
            assert_eq!(json::to_bytes(&again.value), text);
            for (_, _, schema) in &*KINDS {
                conform(schema, document.value.clone());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty() && error.offset() <= data.len()),
    }
}

/// YAML in, the same YAML out.
pub(crate) fn yaml_read(data: &[u8]) {
    if let Ok(document) = yaml::read(data) {
        let text = yaml::to_text(document.value);
        // The writer is one of YAML 1.1, where these are line breaks; the reader is one of YAML 1.2, where they are not.
        if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
            return;
        }
        let again = yaml::read(text.as_bytes()).expect("what was written can be read");
        assert_eq!(yaml::to_text(again.value), text);
    }
}

/// Envelopes, messages and frames in, the same messages out.
pub(crate) fn protobuf_read(data: &[u8]) {
    let _ = protobuf::split_frame(data);
    for (api_version, kind, schema) in &*KINDS {
        if let Ok(value) = protobuf::read(data, schema.root()) {
            conform(schema, value);
        }
        let Ok(envelope) = protobuf::Envelope::read(data) else { continue };
        let Ok(value) = envelope.or(api_version, kind).decode() else { continue };
        if let Ok(bytes) = protobuf::encode(&value, api_version, kind) {
            let again = protobuf::decode(&bytes).expect("what was written can be read");
            let bytes_again = protobuf::encode(&again, api_version, kind).expect("once more");
            assert_eq!(bytes_again, bytes);
        }
    }
}

/// CBOR in, the same CBOR out.
pub(crate) fn cbor_read(data: &[u8]) {
    if let Ok(value) = cbor::read(data) {
        let mut bytes = Vec::new();
        cbor::write(&value, &mut bytes);
        let again = cbor::read(&bytes).expect("what was written can be read");
        let mut bytes_again = Vec::new();
        cbor::write(&again, &mut bytes_again);
        assert_eq!(bytes_again, bytes);
    }
    let _ = cbor::identify(data);
    let _ = cbor::read_object(data, None);
    for (_, _, schema) in &*KINDS {
        let Ok(document) = cbor::read_object(data, Some(schema.root())) else { continue };
        if let Some(value) = conform(schema, document.value) {
            let mut bytes = Vec::new();
            cbor::write_as(&value, schema.root(), &mut bytes);
            let again = cbor::read_object(&bytes, Some(schema.root())).expect("what was written can be read");
            let again = conform(schema, again.value).expect("and is of its kind");
            assert_eq!(json::to_bytes(&again), json::to_bytes(&value));
        }
    }
}

/// A selector that was read prints as one that means the same.
pub(crate) fn selectors(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(selector) = label::Selector::parse(text) {
        let printed = selector.to_string();
        let again = label::Selector::parse(&printed).expect("what was printed can be read");
        assert_eq!(again.to_string(), printed);
        selector.matches(|_| Some("b"));
    }
    if let Ok(selector) = field::Selector::parse(text) {
        // Terms are sorted as they are written, and `==` is printed as `=`.
        let printed = selector.to_string();
        let printed = field::Selector::parse(&printed).expect("what was printed can be read").to_string();
        let again = field::Selector::parse(&printed).expect("what was printed can be read");
        assert_eq!(again.to_string(), printed);
        selector.matches(|_| Some("b"));
    }
}

/// A JSON patch is refused or applies; the result can be written.
pub(crate) fn json_patch(data: &[u8]) {
    let Ok(document) = json::read(data) else { return };
    let Ok(patch) = JsonPatch::from_value(document.value) else { return };
    let mut target = TARGET.clone();
    if patch.apply(&mut target).is_ok() {
        json::read(&json::to_bytes(&target)).expect("what was written can be read");
    }
}

/// A strategic merge patch is refused or merges; the result can be written.
pub(crate) fn strategic_merge(data: &[u8]) {
    let Ok(document) = json::read(data) else { return };
    let (_, _, schema) = &KINDS[2];
    let mut target = TARGET.clone();
    if strategic::merge(&mut target, document.value, schema).is_ok() {
        json::read(&json::to_bytes(&target)).expect("what was written can be read");
        conform(schema, target);
    }
}

/// The one form of an object; it is its own one form.
fn conform(schema: &Schema, mut value: Value) -> Option<Value> {
    schema.conform(&mut value).ok()?;
    let mut again = value.clone();
    schema.conform(&mut again).expect("what is of its kind stays of it");
    assert_eq!(json::to_bytes(&again), json::to_bytes(&value));
    Some(value)
}
