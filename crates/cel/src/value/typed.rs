//! Schema-typed values: what rules of custom resources see of the tree.
//!
//! Upstream: apiserver/pkg/cel/common/valuesunstructured.go (v1.36.4).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keelson_object::scalar::Duration;
use keelson_object::{Map, Value};
use keelson_structural::{Kind, Schema};

use super::{List, MapVal, Timestamp, Val, equal};
use crate::escape;
use crate::fail::{Failure, Outcome, fail};
use crate::gofmt;
use crate::schema::{declares_type_and_object_meta, meta_property};

/// Reads a node of the tree by its schema.
pub(super) fn value<'a>(value: &'a Value, schema: &'a Schema) -> Outcome<'a> {
    if value.is_null() {
        return if schema.nullable {
            Ok(Val::Null)
        } else {
            fail!("invalid data, got null for schema with nullable=false")
        };
    }
    if schema.int_or_string {
        return match value {
            Value::String(text) => Ok(Val::str(text)),
            Value::Int(number) => Ok(Val::Int(*number)),
            _ => fail!("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    match (schema.kind, value) {
        (Kind::Object, Value::Map(map)) => Ok(Val::Map(MapVal::Tree(map, Some(schema)))),
        (Kind::Object, _) => {
            fail!("invalid data, expected a map for the provided schema with type=object")
        }
        (Kind::Array, Value::List(items)) if schema.items.is_some() => {
            Ok(Val::List(List::Tree(items, Some(schema))))
        }
        (Kind::Array, Value::List(_)) => {
            fail!("invalid array type, expected Items with a non-empty Schema")
        }
        (Kind::Array, _) => {
            fail!("invalid data, expected an array for the provided schema with type=array")
        }
        (Kind::String, Value::String(text)) => string(text, schema.format()),
        (Kind::String, other) => fail!("invalid data, expected string, got {}", go_type(other)),
        (Kind::Number, Value::Int(number)) => Ok(Val::Double(*number as f64)),
        (Kind::Number, Value::Float(number)) => Ok(Val::Double(*number)),
        (Kind::Number, other) => fail!("invalid data, expected float, got {}", go_type(other)),
        (Kind::Integer, Value::Int(number)) => Ok(Val::Int(*number)),
        (Kind::Integer, other) => fail!("invalid data, expected int, got {}", go_type(other)),
        (Kind::Boolean, Value::Bool(truth)) => Ok(Val::Bool(*truth)),
        (Kind::Boolean, other) => fail!("invalid data, expected bool, got {}", go_type(other)),
        (Kind::None, value) if schema.preserve_unknown => Ok(Val::Preserved(value)),
        (Kind::None, _) => fail!(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got "
        ),
    }
}

/// How Go prints the type of a decoded value.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

fn string<'a>(text: &'a str, format: &str) -> Outcome<'a> {
    match format {
        "duration" => gofmt::parse_scala_duration(text)
            .map(|duration: Duration| Val::Duration(duration.nanos()))
            .map_err(|error| Failure::new(format!("Invalid duration {text}: {error}"))),
        "date" => Timestamp::parse_date(text).map(Val::Timestamp).ok_or_else(|| {
            Failure::new(format!(
                "Invalid date formatted string {text}: {}",
                gofmt::time_error("2006-01-02", text)
            ))
        }),
        "date-time" => gofmt::parse_date_time(text).map(Val::Timestamp).ok_or_else(|| {
            let error = gofmt::time_error("2006-01-02T15:04:05", text);
            Failure::new(format!("Invalid date-time formatted string {text}: {error}"))
        }),
        "byte" => match gofmt::decode_base64_url(text) {
            Ok(bytes) => Ok(Val::Bytes(Arc::from(bytes))),
            Err(error) => fail!("Invalid byte formatted string {text}: {error}"),
        },
        _ => Ok(Val::str(text)),
    }
}

/// An item of a typed array.
pub(super) fn item<'a>(item: &'a Value, array: &'a Schema) -> Outcome<'a> {
    match array.items.as_deref() {
        Some(schema) => value(item, schema),
        None => fail!("invalid array type, expected Items with a non-empty Schema"),
    }
}

/// Whether the object has properties, as opposed to being a map.
fn is_object(schema: &Schema) -> bool {
    schema.embedded || !schema.properties.is_empty()
}

fn property<'a>(schema: &'a Schema, key: &str) -> Option<&'a Schema> {
    if !is_object(schema) {
        return schema.additional_schema().map(|it| &**it);
    }
    let own = schema.property(key).map(|it| &**it);
    if schema.embedded && !declares_type_and_object_meta(schema) {
        return meta_property(key).or(own);
    }
    own
}

/// The value of a key of a typed object; null properties are absent.
pub(super) fn find<'a>(map: &'a Map, schema: &'a Schema, key: &str) -> Option<Outcome<'a>> {
    let is_object = is_object(schema);
    let unescaped;
    let name = if is_object && key.contains("__") {
        unescaped = escape::unescape(key)?;
        &*unescaped
    } else {
        key
    };
    let found = map.get(name)?;
    if is_object && found.is_null() {
        return None;
    }
    Some(value(found, property(schema, name)?))
}

/// The key at `index` as expressions write it; `None` if the schema does not know it.
pub(super) fn key<'a>(map: &'a Map, schema: &'a Schema, index: usize) -> Option<Val<'a>> {
    let (key, _) = map.nth(index)?;
    property(schema, key)?;
    if !is_object(schema) {
        return Some(Val::str(key));
    }
    match escape::escape(key) {
        Some(escaped) if escaped != key.as_str() => Some(Val::text(escaped)),
        _ => Some(Val::str(key)),
    }
}

/// How many keys the schema does not know.
pub(super) fn unknown_keys(map: &Map, schema: &Schema) -> usize {
    map.iter().filter(|(key, _)| property(schema, key).is_none()).count()
}

/// Equality of a typed object with another value: unknown fields count only where both have them.
pub(super) fn maps_equal(map: &Map, schema: &Schema, other: &Val<'_>) -> Result<bool, Failure> {
    let Val::Map(there) = other else { return Err(Failure::no_such_overload()) };
    if map.len() != there.len() {
        return Ok(false);
    }
    for (key, raw) in map.iter() {
        if property(schema, key).is_none() {
            let MapVal::Tree(raw_there, Some(_)) = there else { return Err(Failure::no_such_overload()) };
            if raw_there.get(key).is_some_and(|raw_there| raw_there != raw) {
                return Ok(false);
            }
            continue;
        }
        match (find(map, schema, key), there.find_str(key)) {
            (None, None) => {}
            (Some(own), Some(their)) => {
                if !equal::is_equal(&own?, &their?)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The key of an item of a map list: the raw values of the key fields.
fn item_key<'v>(item: &'v Val<'_>, keys: &[keelson_object::SmolStr]) -> Vec<Option<&'v Value>> {
    match item {
        Val::Map(MapVal::Tree(map, _)) => keys.iter().map(|key| map.get(key)).collect(),
        _ => keys.iter().map(|_| None).collect(),
    }
}

/// Text that is equal for equal keys.
fn key_text(item: &Val<'_>, keys: &[keelson_object::SmolStr]) -> String {
    let mut text = String::new();
    for part in item_key(item, keys) {
        scalar_text(&mut text, part);
        text.push('\0');
    }
    text
}

fn scalar_text(text: &mut String, value: Option<&Value>) {
    use std::fmt::Write;
    let _ = match value {
        None | Some(Value::Null) => text.write_str("n"),
        Some(Value::Bool(truth)) => write!(text, "b{truth}"),
        Some(Value::Int(number)) => write!(text, "i{number}"),
        Some(Value::Float(number)) => write!(text, "f{}", number.to_bits()),
        Some(Value::String(string)) => write!(text, "s{string}"),
        Some(Value::List(_) | Value::Map(_)) => text.write_str("?"),
    };
}

/// Equality of map lists: by key, without regard to order.
pub(super) fn map_lists_equal(a: &List<'_>, b: &List<'_>, schema: &Schema) -> Result<bool, Failure> {
    let own = a.to_vec()?;
    let by_key: HashMap<String, &Val<'_>> =
        own.iter().map(|item| (key_text(item, schema.list_map_keys()), item)).collect();
    for item in b.iter() {
        let item = item?;
        let Some(own) = by_key.get(&key_text(&item, schema.list_map_keys())) else { return Ok(false) };
        if !equal::is_equal(own, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `a + b` of map lists: items of `b` replace those with the same key.
pub(super) fn merge_map_lists<'a>(a: &List<'a>, b: &List<'a>, schema: &'a Schema) -> Outcome<'a> {
    let mut items = a.to_vec()?;
    // As upstream, the keys of items that are appended are not remembered.
    let positions: HashMap<String, usize> =
        items.iter().enumerate().map(|(at, item)| (key_text(item, schema.list_map_keys()), at)).collect();
    for item in b.iter() {
        let item = item?;
        match positions.get(&key_text(&item, schema.list_map_keys())) {
            Some(at) => items[*at] = item,
            None => items.push(item),
        }
    }
    Ok(Val::List(List::Typed(Arc::new(items), schema)))
}

/// What makes two scalars of a set the same. Upstream panics on bytes, which Go cannot hash.
fn set_key(item: &Val<'_>) -> Result<String, Failure> {
    match item {
        Val::Bytes(_) => Err(Failure::internal("runtime error: hash of unhashable type []uint8")),
        item => Ok(format!("{} {}", item.type_name(), item.go_text())),
    }
}

/// The items of the left set. As upstream, those of an object are not read by their schema: a text with the format
/// `duration` is no duration, so that such a set does not even equal itself.
fn left_keys(set: &List<'_>) -> Result<HashSet<String>, Failure> {
    match set {
        List::Tree(items, _) => items.iter().map(|item| set_key(&Val::json(item))).collect(),
        set => set.iter().map(|item| set_key(&item?)).collect(),
    }
}

/// Equality of set lists: the same number of items, and all of `b` are in `a`.
pub(super) fn set_lists_equal(a: &List<'_>, b: &List<'_>) -> Result<bool, Failure> {
    let own = left_keys(a)?;
    for item in b.iter() {
        if !own.contains(&set_key(&item?)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `a + b` of set lists: what `a` does not have is appended.
pub(super) fn union_set_lists<'a>(a: &List<'a>, b: &List<'a>, schema: &'a Schema) -> Outcome<'a> {
    let mut items = a.to_vec()?;
    let mut known = left_keys(a)?;
    for item in b.iter() {
        let item = item?;
        if known.insert(set_key(&item)?) {
            items.push(item);
        }
    }
    Ok(Val::List(List::Typed(Arc::new(items), schema)))
}
