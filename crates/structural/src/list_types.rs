//! List types: items of sets are distinct, and so are the keys of the items of maps.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go (v1.36.4).

use std::collections::HashMap;

use keelson_object::{FieldErrors, Map, Path, SmolStr, Value};

use crate::schema::{ListType, Schema};
use crate::values::{Raw, json, shown, sorted};

/// Checks the lists of an object.
pub fn check(object: &Map, schema: &Schema) -> FieldErrors {
    let mut errors = FieldErrors::default();
    check_map(object, schema, &Path::empty(), &mut errors);
    errors
}

/// Checks the lists of an updated object. Nothing is reported if the old object had a mistake already.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go, ValidateUpdate (v1.36.4).
pub fn check_update(object: &Map, old: &Map, schema: &Schema) -> FieldErrors {
    let errors = check(object, schema);
    if errors.is_empty() || check(old, schema).is_empty() { errors } else { FieldErrors::default() }
}

fn check_value(value: &Value, schema: &Schema, at: &Path<'_>, errors: &mut FieldErrors) {
    match value {
        Value::List(items) => check_list(items, schema, at, errors),
        Value::Map(map) => check_map(map, schema, at, errors),
        _ => {}
    }
}

fn check_map(map: &Map, schema: &Schema, at: &Path<'_>, errors: &mut FieldErrors) {
    // Additional properties are checked with this schema even where a property has its own.
    if let Some(below) = schema.additional_schema() {
        for (key, value) in sorted(map) {
            check_value(value, below, &at.entry(key), errors);
        }
    }
    if schema.properties.is_empty() {
        return;
    }
    for (key, value) in sorted(map) {
        if let Some(below) = schema.property(key) {
            check_value(value, below, &at.key(key), errors);
        }
    }
}

fn check_list(items: &[Value], schema: &Schema, at: &Path<'_>, errors: &mut FieldErrors) {
    match schema.list_type {
        Some(ListType::Set) => {
            for index in repeated(items.iter().map(identity)) {
                errors.duplicate(&at.index(index), Raw(shown(&items[index])));
            }
        }
        Some(ListType::Map) => check_keys(items, schema, at, errors),
        Some(ListType::Atomic) | None => {}
    }
    if let Some(below) = schema.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            check_value(item, below, &at.index(index), errors);
        }
    }
}

fn check_keys(items: &[Value], schema: &Schema, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_wrong = |item: &&Value| !matches!(item, Value::Null | Value::Map(_));
    if let Some(index) = items.iter().position(|item| is_wrong(&item)) {
        let detail = "must be an object for an array of list-type map";
        return errors.invalid_as(&at.index(index), shown(&items[index]), detail);
    }
    let names = schema.list_map_keys();
    let identities = items.iter().map(|item| match names {
        [name] => item.as_map().and_then(|map| map.get(name)).map_or_else(|| String::from("-"), identity),
        names => json(&keys(item, names)),
    });
    for index in repeated(identities) {
        errors.duplicate(&at.index(index), Raw(json(&keys(&items[index], names))));
    }
}

/// The key fields of an item, as far as they are there.
fn keys(item: &Value, names: &[SmolStr]) -> Value {
    let mut keys = Map::new();
    for name in names {
        if let Some(value) = item.as_map().and_then(|map| map.get(name)) {
            keys.set(name.clone(), value.clone());
        }
    }
    Value::Map(keys)
}

/// A text that equal values have in common: scalars are equal if their types are, trees if their JSON is.
fn identity(value: &Value) -> String {
    let text = json(value);
    match value {
        // Zero has no sign here.
        Value::Float(number) if *number == 0.0 => String::from("f0"),
        Value::Float(_) => format!("f{text}"),
        _ => text,
    }
}

/// The positions of the second of those that are there more than once.
fn repeated(identities: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut found = Vec::new();
    for (index, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_default();
        *times += 1;
        if *times == 2 {
            found.push(index);
        }
    }
    found
}
