//! Takes fields out of an object, or leaves nothing but them.
//!
//! Upstream: structured-merge-diff/typed/remove.go (v6).

use keelson_object::{Map, Value};

use super::field_set::FieldSet;
use super::place::{Face, Place};

/// `value` without `fields`. What has nothing left is null.
pub(super) fn remove(place: Place<'_>, value: &Value, fields: &FieldSet) -> Value {
    take_out(place, value.clone(), fields)
}

/// The same for a value that nobody needs any more.
pub(super) fn take_out(place: Place<'_>, value: Value, fields: &FieldSet) -> Value {
    match (place.face(Some(&value)), value) {
        (Face::Scalar(_), value) => value,
        (Face::List(list), Value::List(items)) if !list.is_atomic() => {
            let mut rest = Vec::with_capacity(items.len());
            for item in items {
                match list.element(&item).ok().and_then(|element| fields.node(&element)) {
                    Some(node) if node.is_member => {}
                    Some(node) => rest.push(take_out(list.item(), item, &node.below)),
                    None => rest.push(item),
                }
            }
            if rest.is_empty() { Value::Null } else { Value::List(rest) }
        }
        (Face::Map(of), Value::Map(map)) if !of.is_atomic => {
            let mut rest = Map::with_capacity(map.len());
            for (key, value) in map {
                match fields.field(&key) {
                    Some(node) if node.is_member => {}
                    Some(node) => {
                        let value = take_out(of.field(&key), value, &node.below);
                        rest.push_new(key, value);
                    }
                    None => rest.push_new(key, value),
                }
            }
            if rest.is_empty() { Value::Null } else { Value::Map(rest) }
        }
        (Face::List(_) | Face::Map(_) | Face::Nothing, _) => Value::Null,
    }
}

/// Nothing but `fields` of `value`, as a client takes back what it has applied.
pub fn extract(schema: Option<&keelson_schema::Schema>, value: &Value, fields: &FieldSet) -> Value {
    keep(Place::root(schema), value, fields)
}

fn keep(place: Place<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (place.face(Some(value)), value) {
        (Face::List(list), Value::List(items)) if !list.is_atomic() && !items.is_empty() => {
            let kept: Vec<_> = items
                .iter()
                .filter_map(|item| {
                    let node = fields.node(&list.element(item).ok()?)?;
                    let is_whole = node.below.is_empty();
                    Some(if is_whole { item.clone() } else { keep(list.item(), item, &node.below) })
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::List(kept) }
        }
        (Face::Map(of), Value::Map(map)) if !of.is_atomic && !map.is_empty() => {
            let kept: Map = map
                .iter()
                .filter_map(|(key, value)| {
                    let node = fields.field(key)?;
                    let is_whole = node.below.is_empty();
                    let kept = if is_whole { value.clone() } else { keep(of.field(key), value, &node.below) };
                    Some((key.clone(), kept))
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Map(kept) }
        }
        _ => value.clone(),
    }
}
