//! Sums of typed arrays: upstream keeps what is added as values of Go and reads all of them by the schema of the array.
//!
//! Upstream: apiserver/pkg/cel/common/valuesunstructured.go, unstructuredList.Add and UnstructuredToVal (v1.36.4).

use std::collections::HashSet;
use std::sync::Arc;

use keelson_object::{SmolStr, Value};
use keelson_structural::{Kind, Schema};

use super::{List, MapVal, Opaque, Val, typed};
use crate::fail::{Failure, Outcome, fail};

/// `array + other`; `array` has the schema `schema`.
pub(super) fn sum<'a>(array: &List<'a>, other: &List<'a>, schema: &'a Schema) -> Outcome<'a> {
    let Some(items) = schema.items.as_deref() else {
        return fail!("invalid array type, expected Items with a non-empty Schema");
    };
    let mut all = Vec::with_capacity(array.len() + other.len());
    // Items that do not fit are errors in the list, not of the sum.
    all.extend(array.iter().map(|item| item.unwrap_or_else(unreadable)));
    all.extend(other.iter().map(|item| item.and_then(|item| value(item, items)).unwrap_or_else(unreadable)));
    Ok(Val::List(List::Typed(Arc::new(all), schema)))
}

/// `set + other`: what the set does not have is added.
pub(super) fn union<'a>(set: &List<'a>, other: &List<'a>, schema: &'a Schema) -> Outcome<'a> {
    let Some(items) = schema.items.as_deref() else {
        return fail!("invalid array type, expected Items with a non-empty Schema");
    };
    let mut added = Vec::with_capacity(other.len());
    for item in other.iter() {
        let item = item?;
        // Upstream looks for the value in a map of Go, which cannot hold these.
        if matches!(item, Val::List(_) | Val::Map(_) | Val::Bytes(_)) {
            let of = go_type(&item);
            return Err(Failure::internal(format!("runtime error: hash of unhashable type {of}")));
        }
        added.push((value(item.clone(), items), item));
    }
    if added.iter().all(|(read, _)| read.is_ok()) {
        let added = added.into_iter().filter_map(|(read, _)| read.ok()).collect();
        return typed::union_set_lists(set, &List::Owned(Arc::new(added)), schema);
    }
    // Unreadable items are compared by their original values.
    let key = |item: &Val<'a>| format!("{} {}", item.type_name(), item.go_text());
    let mut all = set.to_vec()?;
    let mut known: HashSet<String> = all.iter().map(key).collect();
    for (read, item) in added {
        if known.insert(key(read.as_ref().unwrap_or(&item))) {
            all.push(read.unwrap_or_else(unreadable));
        }
    }
    Ok(Val::List(List::Typed(Arc::new(all), schema)))
}

fn unreadable<'a>(failure: Failure) -> Val<'a> {
    Val::opaque(Opaque::Unreadable(failure))
}

/// Reads a value by the schema of an item, as if it were data.
fn value<'a>(value: Val<'a>, schema: &'a Schema) -> Outcome<'a> {
    if schema.int_or_string {
        return match value {
            Val::Str(_) | Val::Int(_) => Ok(value),
            _ => fail!("invalid data, expected XIntOrString value to be either a string or integer"),
        };
    }
    match (schema.kind, value) {
        (Kind::Object, Val::Map(MapVal::Tree(map, _))) => Ok(Val::Map(MapVal::Tree(map, Some(schema)))),
        (Kind::Object, _) => {
            fail!("invalid data, expected a map for the provided schema with type=object")
        }
        (Kind::Array, Val::List(List::Tree(items, _))) => Ok(Val::List(List::Tree(items, Some(schema)))),
        (Kind::Array, Val::List(List::Typed(items, of))) if std::ptr::eq(of, schema) => {
            Ok(Val::List(List::Typed(items, schema)))
        }
        (Kind::Array, _) => {
            fail!("invalid data, expected an array for the provided schema with type=array")
        }
        (Kind::String, Val::Str(text)) => formatted(Val::Str(text), schema),
        (Kind::Number, Val::Int(number)) => Ok(Val::Double(number as f64)),
        (Kind::Number, Val::Double(number)) => Ok(Val::Double(number)),
        (Kind::Integer, Val::Int(number)) => Ok(Val::Int(number)),
        (Kind::Boolean, Val::Bool(truth)) => Ok(Val::Bool(truth)),
        // Anything may be in such a list; only equality is defined for it.
        (Kind::None, value) => Ok(value),
        (kind, other) => {
            let wanted = match kind {
                Kind::String => "string",
                Kind::Number => "float",
                Kind::Integer => "int",
                _ => "bool",
            };
            fail!("invalid data, expected {wanted}, got {}", go_type(&other))
        }
    }
}

/// Text by its format. What has a format is no text any more and borrows nothing.
fn formatted<'a>(text: Val<'a>, schema: &Schema) -> Outcome<'a> {
    let raw = Value::String(SmolStr::from(text.as_str().unwrap_or_default()));
    match typed::value(&raw, schema)? {
        Val::Duration(nanos) => Ok(Val::Duration(nanos)),
        Val::Timestamp(time) => Ok(Val::Timestamp(time)),
        Val::Bytes(bytes) => Ok(Val::Bytes(bytes)),
        _ => Ok(text),
    }
}

/// How Go prints the type of the value of Go.
fn go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "structpb.NullValue",
        Val::Bool(_) => "bool",
        Val::Int(_) => "int64",
        Val::Uint(_) => "uint64",
        Val::Double(_) => "float64",
        Val::Str(_) | Val::Type(_) => "string",
        Val::Bytes(_) => "[]uint8",
        Val::Duration(_) => "time.Duration",
        Val::Timestamp(_) => "time.Time",
        Val::List(List::Owned(_) | List::Slice(_)) => "[]ref.Val",
        Val::List(_) => "[]interface {}",
        Val::Map(MapVal::Owned(_) | MapVal::Const(_)) => "map[ref.Val]ref.Val",
        Val::Map(_) => "map[string]interface {}",
        Val::Opaque(opaque) => opaque.go_native_type().unwrap_or_else(|| crate::eval::go_type(value)),
        Val::Optional(_) | Val::Preserved(_) => crate::eval::go_type(value),
    }
}
