//! Editable object: kind, typed metadata, and everything else as a tree.

use smol_str::SmolStr;

use crate::meta::ObjectMeta;
use crate::value::{Map, Value};

/// An object while it is being changed. Never shared: its editor owns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// `group/version`.
    pub api_version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// `metadata`.
    pub meta: ObjectMeta,
    /// Everything else.
    pub fields: Map,
}

/// A value of the wrong type, found without a schema or where the schema admits it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ShapeError {
    /// The path of the field.
    pub field: String,
    /// The problem, in words for clients.
    pub problem: String,
}

impl ShapeError {
    /// `value` does not have the type of `field`.
    pub fn at(field: String, value: &Value) -> ShapeError {
        let problem = format!("json: cannot unmarshal {} into Go struct field {field}", value.json_type());
        ShapeError { field, problem }
    }

    /// The value of `field` has the right type but cannot be parsed.
    pub fn because(field: String, cause: &impl std::fmt::Display) -> ShapeError {
        ShapeError { field, problem: cause.to_string() }
    }
}

impl Object {
    /// Splits a decoded tree into kind, metadata and the rest.
    pub fn from_value(value: Value) -> Result<Object, ShapeError> {
        let Value::Map(map) = value else {
            let problem = format!("json: cannot unmarshal {} into Go value of type map", value.json_type());
            return Err(ShapeError { field: String::new(), problem });
        };
        let mut object = Object { fields: Map::with_capacity(map.len()), ..Object::default() };
        for (key, value) in map {
            match (key.as_str(), value) {
                ("apiVersion" | "kind" | "metadata", Value::Null) => {}
                ("apiVersion", Value::String(text)) => object.api_version = text,
                ("kind", Value::String(text)) => object.kind = text,
                ("metadata", Value::Map(map)) => object.meta = ObjectMeta::from_map(map)?,
                ("apiVersion" | "kind" | "metadata", other) => {
                    return Err(ShapeError::at(key.to_string(), &other));
                }
                (_, value) => object.fields.push_new(key, value),
            }
        }
        Ok(object)
    }

    /// The whole object as one tree: `kind`, `apiVersion`, `metadata`, then the rest.
    pub fn into_value(self) -> Value {
        let mut map = Map::with_capacity(self.fields.len() + 3);
        map.push_new("kind", self.kind);
        map.push_new("apiVersion", self.api_version);
        let mut metadata = self.meta.to_map_without_managers();
        if !self.meta.managed_fields.is_empty() {
            metadata.push_new("managedFields", self.meta.managed_fields);
        }
        map.push_new("metadata", metadata);
        for (key, value) in self.fields {
            map.push_new(key, value);
        }
        Value::Map(map)
    }

    /// The value at a dotted path: `metadata.name`, `spec.nodeName`.
    pub fn text_at(&self, path: &str) -> Option<&str> {
        match path {
            "metadata.name" => Some(&self.meta.name),
            "metadata.namespace" => Some(&self.meta.namespace),
            "metadata.uid" => Some(&self.meta.uid),
            _ => self.fields.at(path)?.as_str(),
        }
    }
}
