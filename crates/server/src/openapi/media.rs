//! Media types in OpenAPI documents.

use super::{Features, Offered};

/// The endpoint inspects whatever the client sends.
pub(super) const ANY: &str = "*/*";

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CBOR: &str = "application/cbor";

/// Whether tables describe a kind: only such kinds have a protobuf form and merge keys for their lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Builtin,
    Custom,
}

/// The media types of objects.
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

/// The media types of lists and watches.
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

/// The media types of patches.
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

/// The media types of custom resources in documents; more are served.
pub(super) fn custom_objects() -> Vec<&'static str> {
    vec![JSON, YAML]
}

/// The media types of patches of custom resources in documents.
pub(super) fn custom_patches() -> Vec<&'static str> {
    vec!["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
}

/// The media types of discovery documents of groups.
pub(super) fn discovery() -> Vec<&'static str> {
    vec![JSON, YAML, PROTOBUF]
}

/// The media types of key sets.
pub(super) fn keys() -> Vec<&'static str> {
    vec!["application/jwk-set+json"]
}

/// The media types of plain documents.
pub(super) fn plain() -> Vec<&'static str> {
    vec![JSON]
}
