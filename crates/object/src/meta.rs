//! Typed metadata: every stage of a request uses it.

mod owner;
mod string_map;

pub use owner::OwnerReference;
pub use string_map::StringMap;

use smol_str::SmolStr;

use crate::object::ShapeError;
use crate::scalar::Time;
use crate::value::{Map, Value};

/// `metadata` of an object, in the order in which upstream writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectMeta {
    /// Unique among the objects of a resource in a namespace; empty until it is generated.
    pub name: SmolStr,
    /// The prefix of a generated name.
    pub generate_name: SmolStr,
    /// Empty for cluster-scoped objects.
    pub namespace: SmolStr,
    /// Unique in time and space; set by the server.
    pub uid: SmolStr,
    /// The revision of this state; empty before the first write.
    pub resource_version: SmolStr,
    /// Counts the changes of the desired state.
    pub generation: i64,
    /// When the object was created.
    pub creation_timestamp: Option<Time>,
    /// When the object will be deleted; set by the server.
    pub deletion_timestamp: Option<Time>,
    /// The grace period of the deletion.
    pub deletion_grace_period_seconds: Option<i64>,
    /// Labels, for selection.
    pub labels: StringMap,
    /// Annotations, for everything else.
    pub annotations: StringMap,
    /// The owners of the object.
    pub owner_references: Vec<OwnerReference>,
    /// The finalizers: the object is removed when there are none left.
    pub finalizers: Vec<SmolStr>,
    /// The ownership of fields: kept unparsed until server-side apply needs it.
    pub managed_fields: Vec<Value>,
}

impl ObjectMeta {
    /// Reads `metadata`. Unknown fields are dropped: the schema check has reported them.
    pub fn from_map(map: Map) -> Result<ObjectMeta, ShapeError> {
        let mut meta = ObjectMeta::default();
        for (key, value) in map {
            if value.is_null() {
                continue;
            }
            let at = |value: &Value| ShapeError::at(format!("metadata.{key}"), value);
            match key.as_str() {
                "name" => meta.name = text(value, at)?,
                "generateName" => meta.generate_name = text(value, at)?,
                "namespace" => meta.namespace = text(value, at)?,
                "uid" => meta.uid = text(value, at)?,
                "resourceVersion" => meta.resource_version = text(value, at)?,
                "generation" => meta.generation = value.as_int().ok_or_else(|| at(&value))?,
                "creationTimestamp" => meta.creation_timestamp = time(&value, at)?,
                "deletionTimestamp" => meta.deletion_timestamp = time(&value, at)?,
                "deletionGracePeriodSeconds" => {
                    meta.deletion_grace_period_seconds = Some(value.as_int().ok_or_else(|| at(&value))?);
                }
                "labels" => meta.labels = StringMap::from_value(value, "metadata.labels")?,
                "annotations" => meta.annotations = StringMap::from_value(value, "metadata.annotations")?,
                "ownerReferences" => meta.owner_references = owner::from_value(&value)?,
                "finalizers" => {
                    let Value::List(items) = value else { return Err(at(&value)) };
                    meta.finalizers = items.into_iter().map(|it| text(it, at)).collect::<Result<_, _>>()?;
                }
                "managedFields" => {
                    let Value::List(items) = value else { return Err(at(&value)) };
                    meta.managed_fields = items;
                }
                _ => {}
            }
        }
        Ok(meta)
    }

    /// Writes `metadata` as a tree, without empty fields.
    pub fn to_map(&self) -> Map {
        let mut map = self.to_map_without_managers();
        if !self.managed_fields.is_empty() {
            map.push_new(SmolStr::new_static("managedFields"), Value::List(self.managed_fields.clone()));
        }
        map
    }

    /// The tree of everything but `managedFields`, which is often larger than the rest together.
    pub fn to_map_without_managers(&self) -> Map {
        let mut map = Map::with_capacity(9);
        let mut put = |key: &'static str, value: Value| map.push_new(SmolStr::new_static(key), value);
        for (key, text) in [
            ("name", &self.name),
            ("generateName", &self.generate_name),
            ("namespace", &self.namespace),
            ("uid", &self.uid),
            ("resourceVersion", &self.resource_version),
        ] {
            if !text.is_empty() {
                put(key, Value::String(text.clone()));
            }
        }
        if self.generation != 0 {
            put("generation", Value::Int(self.generation));
        }
        if let Some(time) = self.creation_timestamp {
            put("creationTimestamp", Value::String(time.to_string().into()));
        }
        if let Some(time) = self.deletion_timestamp {
            put("deletionTimestamp", Value::String(time.to_string().into()));
        }
        if let Some(seconds) = self.deletion_grace_period_seconds {
            put("deletionGracePeriodSeconds", Value::Int(seconds));
        }
        if !self.labels.is_empty() {
            put("labels", self.labels.to_value());
        }
        if !self.annotations.is_empty() {
            put("annotations", self.annotations.to_value());
        }
        if !self.owner_references.is_empty() {
            put(
                "ownerReferences",
                Value::List(self.owner_references.iter().map(OwnerReference::to_value).collect()),
            );
        }
        if !self.finalizers.is_empty() {
            put("finalizers", Value::List(self.finalizers.iter().cloned().map(Value::String).collect()));
        }
        map
    }

    /// Whether the object is being deleted.
    pub fn is_being_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

fn text(value: Value, wrong: impl Fn(&Value) -> ShapeError) -> Result<SmolStr, ShapeError> {
    if let Value::String(text) = value { Ok(text) } else { Err(wrong(&value)) }
}

fn time(value: &Value, wrong: impl Fn(&Value) -> ShapeError) -> Result<Option<Time>, ShapeError> {
    let text = value.as_str().ok_or_else(|| wrong(value))?;
    Time::parse(text).map(Some).map_err(|error| ShapeError::because(wrong(value).field, &error))
}
