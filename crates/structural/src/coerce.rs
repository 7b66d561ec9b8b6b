//! Coercion of `apiVersion`, `kind` and `metadata` of resources inside of objects: wrong types are refused or dropped,
//! unknown fields of metadata are dropped and reported.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/algorithm.go (v1.36.4).

use keelson_object::{FieldError, FieldErrors, Map, Path, Value};

use crate::meta;
use crate::schema::Schema;
use crate::values::{Raw, shown};

/// What happens to fields of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A request with one is refused.
    Refuse,
    /// What is in the store is read without them.
    Drop,
}

/// Whether the value itself is a resource, whatever its schema says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// It is one.
    Resource,
    /// It is one if the schema says so.
    Value,
}

/// Coerces the resources in a value. Gives the paths of unknown fields of their metadata, ordered.
pub fn coerce(
    value: &mut Value,
    schema: Option<&Schema>,
    root: Root,
    malformed: Malformed,
) -> Result<Vec<String>, Box<FieldError>> {
    let nothing = Schema::default();
    let schema = match (schema, root) {
        (Some(schema), _) => schema,
        (None, Root::Resource) => &nothing,
        (None, Root::Value) => return Ok(Vec::new()),
    };
    coerce_at(value, schema, (&Path::empty(), root), malformed)
}

/// Reads the metadata of a whole object: gives the paths of unknown fields, which are dropped. Errors have
/// Go's text.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go, GetObjectMetaWithOptions (v1.36.4).
pub fn root_metadata(object: &mut Map, malformed: Malformed) -> Result<Vec<String>, String> {
    let Some(metadata) = object.get("metadata") else { return Ok(Vec::new()) };
    let found = match (meta::read(metadata), malformed) {
        (Ok(found), _) => Some(found),
        (Err(_), Malformed::Drop) => meta::read_leniently(metadata),
        (Err(error), Malformed::Refuse) => return Err(error),
    };
    let Some((canonical, unknown)) = found else { return Ok(Vec::new()) };
    object.set("metadata", canonical);
    Ok(unknown.into_iter().map(|path| format!("metadata.{path}")).collect())
}

/// The same for a value at a path.
pub(crate) fn coerce_at(
    value: &mut Value,
    schema: &Schema,
    (at, root): (&Path<'_>, Root),
    malformed: Malformed,
) -> Result<Vec<String>, Box<FieldError>> {
    let mut coercion = Coercion { malformed, unknown: Vec::new() };
    coercion.value(value, schema, at, root == Root::Resource)?;
    coercion.unknown.sort_unstable();
    Ok(coercion.unknown)
}

struct Coercion {
    malformed: Malformed,
    unknown: Vec<String>,
}

type Done = Result<(), Box<FieldError>>;

impl Coercion {
    fn value(&mut self, value: &mut Value, schema: &Schema, at: &Path<'_>, is_resource: bool) -> Done {
        match value {
            Value::Map(map) => {
                if is_resource || schema.embedded {
                    self.resource(map, schema, at)?;
                }
                self.fields(map, schema, at, is_resource || schema.embedded)
            }
            Value::List(items) => {
                let Some(below) = schema.items.as_deref() else { return Ok(()) };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, below, &at.index(index), false)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn fields(&mut self, map: &mut Map, schema: &Schema, at: &Path<'_>, is_resource: bool) -> Done {
        if schema.properties.is_empty() && schema.additional_schema().is_none() {
            return Ok(());
        }
        for (key, value) in map.iter_mut() {
            if is_resource && key == "metadata" {
                continue;
            }
            if let Some(below) = schema.property(key) {
                self.value(value, below, &at.key(key), false)?;
            } else if let Some(below) = schema.additional_schema() {
                self.value(value, below, &at.entry(key), false)?;
            }
        }
        Ok(())
    }

    fn resource(&mut self, map: &mut Map, schema: &Schema, at: &Path<'_>) -> Done {
        for key in ["apiVersion", "kind"] {
            match map.get(key) {
                None | Some(Value::String(_)) => {}
                Some(_) if self.malformed == Malformed::Drop => drop(map.remove(key)),
                Some(value) => return Err(invalid(&at.key(key), value, "must be a string")),
            }
        }
        let Some(metadata) = map.get("metadata") else { return Ok(()) };
        let metadata_at = at.key("metadata");
        let found = match (meta::read(metadata), self.malformed) {
            (Ok(found), _) => Some(found),
            (Err(_), Malformed::Drop) => meta::read_leniently(metadata),
            (Err(error), Malformed::Refuse) => return Err(invalid(&metadata_at, metadata, &error)),
        };
        // What the schema says of metadata is checked in what the client sent.
        if let Some(below) = schema.property("metadata") {
            self.value(&mut metadata.clone(), below, &metadata_at, false)?;
        }
        if let Some((canonical, unknown)) = found {
            self.unknown.extend(unknown.into_iter().map(|path| format!("{metadata_at}.{path}")));
            map.set("metadata", canonical);
        }
        Ok(())
    }
}

fn invalid(at: &Path<'_>, value: &Value, detail: &str) -> Box<FieldError> {
    let mut errors = FieldErrors::default();
    errors.invalid(at, Raw(shown(value)), detail);
    Box::new(errors.iter().next().expect("one was added").clone())
}
