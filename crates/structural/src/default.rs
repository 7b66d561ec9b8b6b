//! Defaulting: nulls that the schema does not allow go, and what is absent gets its default.
//!
//! The order is upstream's: first [`drop_nulls`], which leaves nulls that have a default, then [`default`], which
//! replaces them.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/{prunenulls,algorithm}.go (v1.36.4).

use std::collections::HashSet;

use keelson_object::{Map, SmolStr, Value};

use crate::schema::Schema;

/// Drops the nulls of fields that are neither nullable nor have a default. Items of lists stay.
pub fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Map(map) => map.retain(|key, value| match schema.field(key) {
            Some(below) if value.is_null() => below.nullable || below.default.is_some(),
            Some(below) => {
                drop_nulls(value, below);
                true
            }
            None => true,
        }),
        Value::List(items) => {
            let Some(below) = schema.items.as_deref() else { return };
            items.iter_mut().for_each(|item| drop_nulls(item, below));
        }
        _ => {}
    }
}

/// Sets defaults, in the values of defaults too.
pub fn default(value: &mut Value, schema: &Schema) {
    match value {
        Value::Map(map) => {
            set_defaults(map, schema);
            for (key, value) in map.iter_mut() {
                if let Some(below) = schema.property(key) {
                    default(value, below);
                } else if let Some(below) = schema.additional_schema() {
                    replace_null(value, below);
                    default(value, below);
                }
            }
        }
        Value::List(items) => {
            let Some(below) = schema.items.as_deref() else { return };
            for item in items {
                replace_null(item, below);
                default(item, below);
            }
        }
        _ => {}
    }
}

fn set_defaults(map: &mut Map, schema: &Schema) {
    let mut with_default = schema.properties.iter().filter(|(_, below)| below.default.is_some()).peekable();
    if with_default.peek().is_none() {
        return;
    }
    // A map is a list of pairs: many lookups in many keys need an index.
    let present: HashSet<SmolStr> = map.iter().map(|(key, _)| key.clone()).collect();
    for (name, below) in with_default {
        if !present.contains(name) {
            map.push_new(name.clone(), default_of(below));
        } else if let Some(value) = map.get_mut(name) {
            replace_null(value, below);
        }
    }
}

fn default_of(schema: &Schema) -> Value {
    schema.default.as_deref().cloned().unwrap_or_default()
}

fn replace_null(value: &mut Value, schema: &Schema) {
    if value.is_null() && !schema.nullable {
        *value = default_of(schema);
    }
}
