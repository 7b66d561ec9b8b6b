//! Reading trees whose fields may be absent, as validation does it all the time.

use keelson_object::{Map, Value};

/// What stands for a map that is not there.
pub(crate) static NOTHING: Map = Map::new();

/// The map at `key`; an empty one if there is none.
pub(crate) fn sub<'m>(map: &'m Map, key: &str) -> &'m Map {
    map.map(key).unwrap_or(&NOTHING)
}

/// The text at `key`; an empty one if there is none.
pub(crate) fn text<'m>(map: &'m Map, key: &str) -> &'m str {
    map.str(key).unwrap_or_default()
}

/// The number at `key`; nought if there is none.
pub(crate) fn number(map: &Map, key: &str) -> i64 {
    map.int(key).unwrap_or_default()
}

/// What is at `key`, if it is there and not null: a pointer in Go that is not nil.
pub(crate) fn given<'m>(map: &'m Map, key: &str) -> Option<&'m Value> {
    map.get(key).filter(|it| !it.is_null())
}

/// Whether the field `key` of both is the same: absent, null and empty are one.
pub(crate) fn same(a: &Map, b: &Map, key: &str) -> bool {
    match (a.get(key), b.get(key)) {
        (Some(a), Some(b)) => a == b,
        (Some(one), None) | (None, Some(one)) => one.is_null() || is_empty_holder(one),
        (None, None) => true,
    }
}

/// Go's semantic equality takes an empty list or map for none.
fn is_empty_holder(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_)) && value.is_empty()
}
