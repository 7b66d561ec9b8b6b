//! Ratcheting: which part of an old object corresponds to a part of the new one, and whether it changed.
//!
//! An update may leave wrong what was wrong before.
//! A node is unchanged if it equals the old value that it is correlated with: by property, by key of a map, by the keys
//! of a list of type map. Items of other lists are not correlated; such lists are compared as a whole.
//!
//! Upstream: apiserver/pkg/cel/common/{equality,maplist}.go (v1.36.4).

use std::collections::HashMap;

use keelson_object::scalar::quote;
use keelson_object::{Map, Value};

use crate::schema::{Kind, ListType, Schema};
use crate::values::same;

/// The value of the same place in the old object.
#[derive(Clone, Copy, Debug)]
pub struct Old<'o>(pub &'o Value);

/// The items of an old list of type map, by their keys.
#[derive(Debug)]
pub struct Items<'o> {
    by_key: HashMap<String, &'o Value>,
    schema: &'o Schema,
}

impl<'o> Old<'o> {
    /// The old value of a field that the new object has too.
    pub fn field(self, key: &str) -> Option<Old<'o>> {
        self.0.as_map()?.get(key).map(Old)
    }

    /// The old items, if items of this list can be correlated.
    pub fn items(self, schema: &'o Schema) -> Option<Items<'o>> {
        let items = self.0.as_list()?;
        if schema.list_type != Some(ListType::Map) {
            return None;
        }
        let mut by_key = HashMap::new();
        if schema.kind == Kind::Array && !schema.list_map_keys().is_empty() {
            for item in items {
                if let Some(key) = item.as_map().and_then(|map| key(map, schema)) {
                    by_key.entry(key).or_insert(item);
                }
            }
        }
        Some(Items { by_key, schema })
    }

    /// Whether the new value equals this one.
    pub fn is_unchanged(self, new: &Value, schema: &Schema) -> bool {
        match (self.0, new) {
            (Value::List(old), Value::List(items)) => {
                old.len() == items.len() && self.are_unchanged_items(items, schema)
            }
            (Value::Map(old), Value::Map(map)) => {
                old.len() == map.len()
                    && map.iter().all(|(key, value)| {
                        let below = schema.field(key).zip(old.get(key));
                        below.is_some_and(|(schema, old)| Old(old).is_unchanged(value, schema))
                    })
            }
            (old, new) => same(old, new),
        }
    }

    fn are_unchanged_items(self, items: &[Value], schema: &Schema) -> bool {
        let Some(correlation) = self.items(schema) else {
            return self
                .0
                .as_list()
                .is_some_and(|old| old.iter().zip(items).all(|(old, new)| same(old, new)));
        };
        let below = schema.items.as_deref();
        items.iter().all(|item| {
            let pair = below.zip(correlation.of(item));
            pair.is_some_and(|(schema, old)| old.is_unchanged(item, schema))
        })
    }
}

impl<'o> Items<'o> {
    /// The old item with the keys of this one.
    pub fn of(&self, item: &Value) -> Option<Old<'o>> {
        let key = key(item.as_map()?, self.schema)?;
        self.by_key.get(&key).map(|old| Old(old))
    }
}

/// The keys of an item as one text; `None` if one is missing or no scalar. As upstream, several keys with fractions are
/// compared by six digits, a single one exactly.
fn key(item: &Map, schema: &Schema) -> Option<String> {
    let mut text = String::new();
    let names = schema.list_map_keys();
    for name in names {
        text.push('\0');
        match item.get(name)? {
            Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            // Zero has no sign.
            Value::Float(number) if names.len() == 1 => text.push_str(&format!("{:?}f", number + 0.0)),
            Value::Float(number) => text.push_str(&format!("{number:.6}f")),
            Value::Int(number) => text.push_str(&number.to_string()),
            Value::String(key) => text.push_str(&quote(key)),
            Value::Null | Value::List(_) | Value::Map(_) => return None,
        }
    }
    Some(text)
}
