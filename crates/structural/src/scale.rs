//! Scale and selectable fields: simple paths in dot notation, `.spec.replicas`.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/{validator,etcd,strategy}.go (v1.36.4).

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::jsonpath::{JsonPath, SyntaxError};
use crate::values::go_v;

/// Why a path of a scale leads to nothing: Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(".{path} accessor error: {shown} is of the type {found}, expected {expected}")]
pub struct AccessError {
    path: String,
    shown: String,
    found: &'static str,
    expected: &'static str,
}

impl AccessError {
    fn new(names: &[&str], value: &Value, expected: &'static str) -> AccessError {
        AccessError { path: names.join("."), shown: go_v(value), found: go_type(value), expected }
    }
}

/// The paths of a version's `subresources.scale`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalePaths {
    /// `specReplicasPath`
    pub spec_replicas: String,
    /// `statusReplicasPath`
    pub status_replicas: String,
    /// `labelSelectorPath`
    pub label_selector: Option<String>,
}

/// What an object says about its scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// `spec.replicas` of the scale; `None` if the object has none, which a GET of the scale does not accept.
    pub spec_replicas: Option<i32>,
    /// `status.replicas` of the scale.
    pub status_replicas: i32,
    /// `status.selector` of the scale.
    pub selector: String,
}

/// Why replicas cannot be written: Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("value cannot be set because .{0} is not a map[string]interface{{}}")]
pub struct SetError(String);

impl ScalePaths {
    /// The scale of an object.
    ///
    /// Upstream: apiextensions-apiserver/pkg/registry/customresource/etcd.go, scaleFromCustomResource (v1.36.4).
    pub fn scale(&self, object: &Map) -> Result<Scale, AccessError> {
        // Go cuts numbers off; validation refuses those for which that matters.
        let spec_replicas = int_at(object, &self.spec_replicas)?.map(|it| it as i32);
        let status_replicas = int_at(object, &self.status_replicas)?.unwrap_or_default() as i32;
        let selector = match self.label_selector.as_deref() {
            Some(path) if !path.is_empty() => text_at(object, path)?.unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        Ok(Scale { spec_replicas, status_replicas, selector })
    }

    /// Writes the replicas that are asked for into an object.
    ///
    /// Upstream: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go, SetNestedField (v1.36.4).
    pub fn set_replicas(&self, object: &mut Map, replicas: i32) -> Result<(), SetError> {
        let names = names(&self.spec_replicas);
        let Some((last, above)) = names.split_last() else { return Ok(()) };
        let mut map = object;
        for (position, name) in above.iter().enumerate() {
            map = match map.get(name) {
                None | Some(Value::Map(_)) => map.map_mut(name),
                Some(_) => return Err(SetError(names[..=position].join("."))),
            };
        }
        map.set(*last, i64::from(replicas));
        Ok(())
    }

    /// Checks the replicas that an object asks for.
    ///
    /// Upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go, ValidateScaleSpec (v1.36.4).
    pub fn check_spec(&self, object: &Map, errors: &mut FieldErrors) {
        check_replicas(object, &self.spec_replicas, errors);
    }

    /// Checks the replicas and the selector that an object reports.
    ///
    /// Upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go, ValidateScaleStatus (v1.36.4).
    pub fn check_status(&self, object: &Map, errors: &mut FieldErrors) {
        check_replicas(object, &self.status_replicas, errors);
        if let Some(path) = &self.label_selector
            && let Err(error) = text_at(object, path)
        {
            errors.invalid(&Path::root(path), "", error.to_string());
        }
    }
}

fn check_replicas(object: &Map, path: &str, errors: &mut FieldErrors) {
    let at = Path::root(path);
    match int_at(object, path) {
        Err(error) => errors.invalid(&at, 0, error.to_string()),
        Ok(Some(number)) if number < 0 => errors.invalid(&at, number, "should be a non-negative integer"),
        Ok(Some(number)) if number > i64::from(i32::MAX) => {
            errors.invalid(&at, number, format!("should be less than or equal to {}", i32::MAX));
        }
        Ok(_) => {}
    }
}

fn names(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

/// The value at a path.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go, NestedFieldNoCopy (v1.36.4).
fn value_at<'v>(object: &'v Map, names: &[&str]) -> Result<Option<&'v Value>, AccessError> {
    let Some((first, rest)) = names.split_first() else { return Ok(None) };
    let mut found = object.get(first);
    for (position, name) in rest.iter().enumerate() {
        found = match found {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Map(map)) => map.get(name),
            Some(other) => {
                return Err(AccessError::new(&names[..position + 2], other, "map[string]interface{}"));
            }
        };
    }
    Ok(found)
}

/// The whole number at a path.
pub fn int_at(object: &Map, path: &str) -> Result<Option<i64>, AccessError> {
    let names = names(path);
    match value_at(object, &names)? {
        None => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(other) => Err(AccessError::new(&names, other, "int64")),
    }
}

/// The text at a path.
pub fn text_at<'v>(object: &'v Map, path: &str) -> Result<Option<&'v str>, AccessError> {
    let names = names(path);
    match value_at(object, &names)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(AccessError::new(&names, other, "string")),
    }
}

/// What Go calls the type of a value.
pub fn go_type(value: &Value) -> &'static str {
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

/// A selectable field of a version.
#[derive(Clone, Debug)]
pub struct SelectableField {
    /// The label of field selectors: the path without its first dot.
    pub label: String,
    path: JsonPath,
}

impl SelectableField {
    /// Reads a `jsonPath` of `selectableFields`.
    pub fn new(path: &str) -> Result<SelectableField, SyntaxError> {
        let label = path.strip_prefix('.').unwrap_or(path).to_owned();
        Ok(SelectableField { label, path: JsonPath::of_column(path)? })
    }

    /// The value that selectors compare; empty if the object has none.
    pub fn value(&self, object: &Value) -> String {
        let found = self.path.find(object).unwrap_or_default();
        found.first().filter(|value| !value.is_null()).map(|value| go_v(value)).unwrap_or_default()
    }
}
