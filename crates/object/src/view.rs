//! Typed views: a newtype over `&Map` with one accessor per field, generated from the tables.
//!
//! A view is a pointer: making one costs nothing, and what it does not know stays in the tree.

use crate::object::Object;
use crate::value::{Map, Value};

/// A typed face of a map.
pub trait View<'o>: Sized {
    /// The view of `map`, which the schema check has found to be of this type.
    fn over(map: &'o Map) -> Self;

    /// The view of the top-level field `field`, if it is there.
    fn of(object: &'o Object, field: &str) -> Option<Self> {
        object.fields.map(field).map(Self::over)
    }

    /// The view of the map at `key`, if it is there.
    fn at(map: &'o Map, key: &str) -> Option<Self> {
        map.map(key).map(Self::over)
    }
}

/// The items of the list at `key` as views.
pub fn items<'o, V: View<'o> + 'o>(map: &'o Map, key: &str) -> impl Iterator<Item = V> + 'o {
    map.list(key).iter().filter_map(Value::as_map).map(V::over)
}

/// The texts of the list at `key`.
pub fn strings<'o>(map: &'o Map, key: &str) -> impl Iterator<Item = &'o str> + 'o {
    map.list(key).iter().filter_map(Value::as_str)
}
