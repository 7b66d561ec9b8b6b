//! Configuration files: one document of a known kind, read strictly.

use keelson_object::scalar::quote;
use keelson_object::{Map, Value};
use keelson_schema::{Schema, TypeMismatch};

use crate::{json, yaml};

/// A kind that a file may contain.
pub struct ConfigKind<'k> {
    /// `apiserver.config.k8s.io/v1`.
    pub api_version: &'k str,
    /// `AuthenticationConfiguration`.
    pub kind: &'k str,
    /// The schema.
    pub schema: &'k Schema,
}

/// Why a file cannot be used, in the words of upstream's decoder.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Neither JSON nor YAML.
    #[error("{0}")]
    Syntax(String),
    /// The document is not an object.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
         APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NoObject {
        /// `array`, `string`.
        found: &'static str,
    },
    /// The kind or the version is missing.
    #[error("Object '{field}' is missing in '{text}'")]
    Unnamed {
        /// `Kind` or `apiVersion`.
        field: &'static str,
        /// The whole file.
        text: String,
    },
    /// The document is of another kind.
    #[error(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(kind),
        quote(api_version)
    )]
    OtherKind {
        /// The kind of the document.
        kind: String,
        /// Its version.
        api_version: String,
    },
    /// A field has a value of the wrong type.
    #[error(transparent)]
    Type(#[from] TypeMismatch),
    /// Unknown or duplicate fields.
    #[error("strict decoding error: {}", .0.join(", "))]
    Strict(Vec<String>),
}

/// Reads a file of one of these kinds; returns its kind and its content.
///
/// Upstream: apimachinery/pkg/runtime/serializer/json/json.go, Decode, with strict options (v1.36.4).
pub fn read<'k>(data: &[u8], kinds: &'k [ConfigKind<'k>]) -> Result<(&'k ConfigKind<'k>, Map), Error> {
    let (mut value, mut complaints) = parse(data)?;
    let named = |field: &str| value.as_map().and_then(|map| map.str(field)).unwrap_or_default().to_owned();
    let (kind, api_version) = match &value {
        Value::Map(_) | Value::Null => (named("kind"), named("apiVersion")),
        other => return Err(Error::NoObject { found: other.json_type() }),
    };
    for (field, text) in [("Kind", &kind), ("apiVersion", &api_version)] {
        if text.is_empty() {
            return Err(Error::Unnamed { field, text: String::from_utf8_lossy(data).into_owned() });
        }
    }
    let found = kinds.iter().find(|it| (it.kind, it.api_version) == (kind.as_str(), api_version.as_str()));
    let found = found.ok_or(Error::OtherKind { kind, api_version })?;
    let unknown = found.schema.conform(&mut value)?;
    complaints.extend(unknown.iter().map(|path| format!("unknown field {}", quote(path))));
    if !complaints.is_empty() {
        return Err(Error::Strict(complaints));
    }
    let Value::Map(map) = value else { return Err(Error::NoObject { found: "null" }) };
    Ok((found, map))
}

/// The tree, and the complaints of a strict reader.
fn parse(data: &[u8]) -> Result<(Value, Vec<String>), Error> {
    let syntax = |error: &dyn std::fmt::Display| Error::Syntax(error.to_string());
    if data.trim_ascii_start().starts_with(b"{") {
        let problem = |error| syntax(&format!("couldn't get version/kind; json parse error: {error}"));
        let document = json::read(data).map_err(problem)?;
        let complaints = document.duplicates.iter().map(|path| format!("duplicate field {}", quote(path)));
        return Ok((document.value, complaints.collect()));
    }
    let mut document = yaml::read(data).map_err(|error| syntax(&error))?;
    let complaints = document.strict_problem().into_iter().collect();
    sort(&mut document.value);
    Ok((document.value, complaints))
}

/// Upstream reads YAML by way of JSON with sorted keys; the first wrong type is the first in that order.
fn sort(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.sort_keys();
            map.iter_mut().for_each(|(_, value)| sort(value));
        }
        Value::List(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}
