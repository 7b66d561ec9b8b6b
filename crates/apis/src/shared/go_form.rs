//! Structs of Go as messages show them: with the names of their fields, not with those of the wire.

use keelson_object::{Map, Value};

/// A struct with these fields, in this order.
pub(crate) fn record<const N: usize>(fields: [(&'static str, Value); N]) -> Value {
    let pairs = fields.into_iter().map(|(name, value)| (name.into(), value));
    Value::Map(pairs.collect())
}

/// A field that is text in Go; empty where there is none.
pub(crate) fn text(map: &Map, key: &str) -> Value {
    Value::from(map.str(key).unwrap_or_default())
}

/// A field that is a pointer, a list or a map in Go; null where there is none.
pub(crate) fn pointer(map: &Map, key: &str) -> Value {
    map.get(key).cloned().unwrap_or_default()
}

/// A reference to an object.
///
/// Upstream: pkg/apis/core/types.go, ObjectReference (v1.36.4).
pub(crate) fn object_reference(map: &Map) -> Value {
    record([
        ("Kind", text(map, "kind")),
        ("Namespace", text(map, "namespace")),
        ("Name", text(map, "name")),
        ("UID", text(map, "uid")),
        ("APIVersion", text(map, "apiVersion")),
        ("ResourceVersion", text(map, "resourceVersion")),
        ("FieldPath", text(map, "fieldPath")),
    ])
}
