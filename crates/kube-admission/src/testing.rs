//! Test helpers of the plugins.

use keelson_codec::json;
use keelson_object::{Map, Object, Value};

/// A tree.
pub(crate) fn value(text: &str) -> Value {
    json::read(text.as_bytes()).expect("it is JSON").value
}

/// A tree that is a map.
pub(crate) fn map(text: &str) -> Map {
    value(text).as_map().expect("it is a map").clone()
}

/// An object.
pub(crate) fn object(text: &str) -> Object {
    Object::from_value(value(text)).expect("it is an object")
}
