//! The media types that documents name.

use super::{Features, Offered};

/// Whatever the client sends is looked at.
pub(super) const ANY: &str = "*/*";

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CBOR: &str = "application/cbor";

/// Whether tables describe a kind: only such kinds have a protobuf form and know how their lists are merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Builtin,
    Custom,
}

/// What objects come in.
pub(super) fn objects(origin: Origin, features: Features) -> Vec<&'static str> {
    let mut types = vec![JSON, YAML];
    if origin == Origin::Builtin {
        types.push(PROTOBUF);
    }
    if features.cbor == Offered::Yes {
        types.push(CBOR);
    }
    types
}

/// What lists and watches come in.
pub(super) fn streams(origin: Origin, features: Features) -> Vec<&'static str> {
    let mut types = objects(origin, features);
    types.push("application/json;stream=watch");
    if origin == Origin::Builtin {
        types.push("application/vnd.kubernetes.protobuf;stream=watch");
    }
    if features.cbor == Offered::Yes {
        types.push("application/cbor-seq");
    }
    types
}

/// What patches come in.
pub(super) fn patches(origin: Origin, features: Features) -> Vec<&'static str> {
    let mut types = vec!["application/json-patch+json", "application/merge-patch+json"];
    if origin == Origin::Builtin {
        types.push("application/strategic-merge-patch+json");
    }
    types.push("application/apply-patch+yaml");
    if features.cbor == Offered::Yes {
        types.push("application/apply-patch+cbor");
    }
    types
}

/// What custom resources come in, as documents say it; more is served.
pub(super) fn custom_objects() -> Vec<&'static str> {
    vec![JSON, YAML]
}

/// What patches of custom resources come in, as documents say it.
pub(super) fn custom_patches() -> Vec<&'static str> {
    vec!["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
}

/// What discovery documents of groups come in.
pub(super) fn discovery() -> Vec<&'static str> {
    vec![JSON, YAML, PROTOBUF]
}

/// What sets of keys come in.
pub(super) fn keys() -> Vec<&'static str> {
    vec!["application/jwk-set+json"]
}

/// What plain documents come in.
pub(super) fn plain() -> Vec<&'static str> {
    vec![JSON]
}
