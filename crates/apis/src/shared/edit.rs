//! Small edits of trees, as defaulting needs them.

use keelson_object::{Map, Value};

/// Sets `key` where Go would find the zero value of its type: absent, null, empty, `0`, `false`.
///
/// For fields that are pointers in Go, [`Map::default_to`] is the right one: there `""` and `0` are values.
pub(crate) fn fill(map: &mut Map, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_empty) {
        map.set(key, value);
    }
}

/// The map at `key`, to edit, if there is one.
pub(crate) fn part<'m>(map: &'m mut Map, key: &str) -> Option<&'m mut Map> {
    map.get_mut(key).and_then(Value::as_map_mut)
}

/// The maps of the list at `key`, to edit.
pub(crate) fn parts<'m>(map: &'m mut Map, key: &str) -> impl Iterator<Item = &'m mut Map> {
    let items = map.get_mut(key).and_then(Value::as_list_mut);
    items.into_iter().flatten().filter_map(Value::as_map_mut)
}

/// Whether `key` is present and not null: a non-nil pointer in Go.
pub(crate) fn is_set(map: &Map, key: &str) -> bool {
    map.get(key).is_some_and(|value| !value.is_null())
}
