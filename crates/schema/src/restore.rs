//! Strategic merge patches: whether the patched tree has the types of its kind, in the words of upstream's converter.
//!
//! Upstream does not decode what a strategic merge patch made, but converts the tree to a Go struct, field by field in
//! the order of their declaration, and stops at the first value that does not fit.
//!
//! Upstream: apimachinery/pkg/runtime/converter.go, fromUnstructured (v1.36.4).

use keelson_object::{Map, Value};

use crate::conform;
use crate::schema::Schema;
use crate::types::{Shape, Struct, Type};

/// As deep as [`Schema::conform`] goes.
const MAX_DEPTH: usize = 500;

impl Schema {
    /// Why a tree cannot become an object of the kind; `None` if it can.
    pub fn misfit(&self, tree: &Value) -> Option<String> {
        match tree {
            Value::Map(map) => of_struct(self.root(), map, 0),
            other => Some(format!("cannot restore struct from: {}", go_kind(other))),
        }
    }
}

fn of_struct(of: &Struct, map: &Map, depth: usize) -> Option<String> {
    of.fields().iter().find_map(|field| of_value(&field.ty, map.get(&field.name)?, depth))
}

fn of_value(ty: &Type, value: &Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return Some("exceeded max depth".to_owned());
    }
    match (&ty.shape, value) {
        (_, Value::Null) => None,
        (Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64, _) => scalar(ty, value),
        (Shape::Struct(of), Value::Map(map)) => of_struct(of.get(), map, depth + 1),
        (Shape::Struct(_), other) => Some(format!("cannot restore struct from: {}", go_kind(other))),
        (Shape::Map(types), Value::Map(map)) => {
            map.iter().find_map(|(_, value)| of_value(&types.1, value, depth + 1))
        }
        (Shape::Map(_), other) => Some(format!("cannot restore map from {}", go_kind(other))),
        (Shape::List(item), Value::List(items)) => items.iter().find_map(|it| of_value(item, it, depth + 1)),
        (Shape::List(_), other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        (Shape::Bytes, Value::String(text)) => {
            let error = conform::canonical_base64(text).err()?;
            Some(format!("error decoding from json: illegal base64 data at input byte {error}"))
        }
        (Shape::Bytes, Value::List(items)) => {
            let byte = Type { name: Some("uint8".into()), ..Type::of(Shape::Int64) };
            items.iter().find_map(|it| of_value(&byte, it, depth + 1))
        }
        (Shape::Bytes, other) => Some(format!("cannot restore slice from {}", go_kind(other))),
        // These decode themselves.
        _ => conform::misfit(ty, value),
    }
}

/// Numbers become numbers if nothing is lost; Go would convert a whole number to text, which JSON does not.
fn scalar(ty: &Type, value: &Value) -> Option<String> {
    let is_number = matches!(ty.shape, Shape::Int32 | Shape::Int64 | Shape::Float64);
    match (&ty.shape, value) {
        (Shape::String, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => None,
        (Shape::Float64, Value::Int(_) | Value::Float(_)) => None,
        (Shape::Int32 | Shape::Int64, Value::Int(_)) => None,
        (Shape::Int32 | Shape::Int64, Value::Float(number)) if number.fract() == 0.0 => None,
        (Shape::String, Value::Int(_)) => Some(format!("cannot convert int64 to {}", ty.go_name())),
        (_, Value::Float(_)) if is_number => Some(format!("cannot convert float64 to {}", ty.go_name())),
        _ => {
            let kind = match ty.shape {
                Shape::String => "string",
                Shape::Bool => "bool",
                Shape::Int32 => "int32",
                Shape::Float64 => "float64",
                _ => ty.name.as_deref().filter(|it| *it == "uint8").unwrap_or("int64"),
            };
            Some(format!("unrecognized type: {kind}"))
        }
    }
}

/// What Go's reflection calls the kind of a decoded value.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "slice",
        Value::Map(_) => "map",
    }
}

#[cfg(test)]
mod tests;
