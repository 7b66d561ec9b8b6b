//! Reading trees with optional fields, for validation.

use std::collections::HashMap;

use keelson_object::{Map, Value};

/// Up to this number of keys, a linear search is faster than hashing.
const FEW: usize = 32;

/// Labels for repeated lookups: a hundred thousand labels must not cause quadratic time.
pub(crate) enum Labels<'m> {
    /// Looked through.
    Few(Option<&'m Map>),
    /// Hashed.
    Many(HashMap<&'m str, &'m str>),
}

impl<'m> Labels<'m> {
    /// Reads labels from a tree.
    pub(crate) fn of(labels: Option<&'m Map>) -> Labels<'m> {
        match labels {
            Some(map) if map.len() > FEW => {
                let pairs = map.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
                Labels::Many(pairs.collect())
            }
            few => Labels::Few(few),
        }
    }

    /// The value of a label.
    pub(crate) fn get(&self, key: &str) -> Option<&'m str> {
        match self {
            Labels::Few(map) => map.and_then(|map| map.str(key)),
            Labels::Many(map) => map.get(key).copied(),
        }
    }
}

/// The empty map that stands for an absent one.
pub(crate) static NOTHING: Map = Map::new();

/// The map at `key`; an empty one if there is none.
pub(crate) fn sub<'m>(map: &'m Map, key: &str) -> &'m Map {
    map.map(key).unwrap_or(&NOTHING)
}

/// The text at `key`; an empty one if there is none.
pub(crate) fn text<'m>(map: &'m Map, key: &str) -> &'m str {
    map.str(key).unwrap_or_default()
}

/// The number at `key`; zero if there is none.
pub(crate) fn number(map: &Map, key: &str) -> i64 {
    map.int(key).unwrap_or_default()
}

/// The value at `key`, if it is present and not null: a non-nil pointer in Go.
pub(crate) fn given<'m>(map: &'m Map, key: &str) -> Option<&'m Value> {
    map.get(key).filter(|it| !it.is_null())
}

/// Whether the field `key` of both is the same: absent, null and empty are equal.
pub(crate) fn same(a: &Map, b: &Map, key: &str) -> bool {
    match (a.get(key), b.get(key)) {
        (Some(a), Some(b)) => a == b,
        (Some(one), None) | (None, Some(one)) => one.is_null() || is_empty_holder(one),
        (None, None) => true,
    }
}

/// Go's semantic equality treats an empty list or map as absent.
fn is_empty_holder(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_)) && value.is_empty()
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use super::{FEW, Labels};

    #[test]
    fn few_labels_and_many_are_found() {
        for count in [0, 1, FEW, FEW + 1, 1000] {
            let mut map = Map::new();
            (0..count).for_each(|i| map.push_new(format!("k{i}"), format!("v{i}")));
            let labels = Labels::of(Some(&map));
            assert!((0..count).all(|i| labels.get(&format!("k{i}")) == Some(format!("v{i}").as_str())));
            assert_eq!(labels.get("other"), None);
        }
        assert_eq!(Labels::of(None).get("a"), None);
    }
}
