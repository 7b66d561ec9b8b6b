//! Stored forms of objects: one is written, all are read.
//!
//! ```text
//! {"kind":"Pod","apiVersion":"v1",…}                 our own JSON: becomes a frozen object by a scan
//! {"kind":"Pod","apiVersion":"v1",…}                 JSON in etcd: read, defaulted, frozen
//! {"apiVersion":"autoscaling/v1","kind":…}           JSON of another version: read, defaulted, converted, frozen
//! k8s\0 …                                            protobuf: the same
//! ```
//!
//! A resource that is [stored as](Resource::stored_as) a version that is not served is written in that
//! version, in all stores.

use bytes::Bytes;
use keelson_codec::json;
use keelson_codec::protobuf::{self, Envelope, PREFIX};
use keelson_codec::stored::{self, StoredError};
use keelson_object::{Frozen, Object, ShapeError, SmolStr};
use keelson_store::Form;

use crate::convert;
use crate::error::{Error, Result};
use crate::resource::Resource;

/// Why a stored value is not an object of a resource.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// The JSON cannot be read.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// The JSON cannot be read.
    #[error(transparent)]
    Json(#[from] json::Error),
    /// The protobuf cannot be read.
    #[error(transparent)]
    Protobuf(#[from] protobuf::Error),
    /// What was read is not an object.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A field has the wrong type.
    #[error(transparent)]
    Schema(#[from] keelson_schema::TypeMismatch),
    /// A custom resource does not fit its schema.
    #[error("{0}")]
    Custom(String),
    /// The object is of another kind.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\" here")]
    Foreign {
        /// The kind of the stored object.
        kind: SmolStr,
        /// Its version.
        api_version: SmolStr,
    },
}

/// The bytes of an object that is not of a resource, such as the ranges of services.
pub fn write(object: &Object, form: Form) -> Result<Bytes> {
    match form {
        Form::Json => Ok(stored::encode(object)),
        Form::Protobuf => protobuf::encode_object(object).map_err(|error| Error::Bug(error.to_string())),
    }
}

/// The object in a stored value, in the version in which it was stored.
pub fn read(value: &Bytes) -> std::result::Result<Object, FormError> {
    let tree = match value.starts_with(&PREFIX) {
        true => Envelope::read(value)?.decode()?,
        false => json::read(value)?.value,
    };
    Ok(Object::from_value(tree)?)
}

/// The stored JSON of an object of `resource` whose own JSON is known.
pub(crate) fn json(resource: &Resource, object: &Object, json: &Bytes) -> Bytes {
    let Some((api_version, convert)) = resource.stored_as else { return json.clone() };
    let mut object = object.clone();
    convert(&mut object);
    object.api_version = SmolStr::new_static(api_version);
    stored::encode(&object)
}

/// The enveloped message of an object of `resource`; kinds that have no messages stay JSON.
pub(crate) fn message(resource: &Resource, object: &Object, json: &Bytes) -> Result<Bytes> {
    let version = resource.stored_version();
    let (Some(form), Some(schema)) = (&version.protobuf, &version.schema) else { return Ok(json.clone()) };
    let message = protobuf::write_stored(object, schema.root());
    Ok(form.head.wrap(&message.map_err(|error| Error::Bug(error.to_string()))?))
}

/// The object of JSON that we wrote ourselves, as of `revision`: nothing is missing in it.
pub(crate) fn own(
    resource: &Resource,
    value: &Bytes,
    revision: u64,
) -> std::result::Result<Frozen, FormError> {
    if resource.is_custom() {
        return custom(resource, value, revision);
    }
    if value.starts_with(&PREFIX) {
        return foreign(resource, value, revision);
    }
    let (kind, api_version) = stored::head(value)?;
    let is_ours = kind == resource.kind && api_version == resource.stored_version().api_version;
    match is_ours || (kind.is_empty() && api_version.is_empty()) {
        true => Ok(stored::decode(value, revision, &resource.selectable)?),
        false => foreign(resource, value, revision),
    }
}

/// The object of a value that another server may have written, as of `revision`. Another version of
/// Kubernetes may not know all defaults, or may know fields that this one does not.
pub(crate) fn foreign(
    resource: &Resource,
    value: &Bytes,
    revision: u64,
) -> std::result::Result<Frozen, FormError> {
    if resource.is_custom() {
        return custom(resource, value, revision);
    }
    let mut object = known(resource, value)?;
    complete(resource, &mut object)?;
    resource.arrange(&mut object);
    Ok(stored::decode(&stored::encode(&object), revision, &resource.selectable)?)
}

/// The custom resource of a stored value, in the version in which it was stored, with the defaults of that version. The
/// definition may have changed since it was written.
fn custom(resource: &Resource, value: &Bytes, revision: u64) -> std::result::Result<Frozen, FormError> {
    complete_custom(resource, &completed_custom(resource, value)?, revision)
}

/// The JSON of a stored custom resource, with everything that the schema of its version changes on reading.
pub(crate) fn completed_custom(resource: &Resource, value: &Bytes) -> std::result::Result<Bytes, FormError> {
    let mut tree = json::read(value)?.value;
    let text = |key| tree.as_map().and_then(|it| it.str(key)).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let version = resource.versions.iter().find(|it| it.api_version == api_version);
    let Some(types) = version.and_then(|it| it.structural.as_ref()).filter(|_| kind == resource.kind) else {
        return Err(FormError::Foreign { kind: kind.into(), api_version: api_version.into() });
    };
    types.read_stored(&mut tree).map_err(FormError::Custom)?;
    let mut object = Object::from_value(tree)?;
    // Objects from before generations were counted.
    object.meta.generation = object.meta.generation.max(1);
    resource.arrange(&mut object);
    Ok(stored::encode(&object))
}

/// The custom resource of JSON that is complete.
pub(crate) fn complete_custom(
    resource: &Resource,
    json: &Bytes,
    revision: u64,
) -> std::result::Result<Frozen, FormError> {
    let (_, api_version) = stored::head(json)?;
    let version = resource.versions.iter().position(|it| it.api_version == api_version);
    let version = version.and_then(|it| u16::try_from(it).ok()).unwrap_or_default();
    Ok(stored::decode(json, revision, &resource.selectable)?.in_version(version))
}

/// Whether a value is stored in another form than it would be written now.
///
/// Upstream: apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate, which compares what is stored with what it would
/// store (v1.36.4).
pub(crate) fn is_outdated(resource: &Resource, value: &Bytes) -> bool {
    if resource.is_custom() {
        let stored = || Object::from_value(json::read(value).ok()?.value).ok();
        let now =
            || Object::from_value(json::read(&completed_custom(resource, value).ok()?).ok()?.value).ok();
        return stored() != now();
    }
    let Ok(mut stored) = known(resource, value) else { return false };
    let mut now = stored.clone();
    if complete(resource, &mut now).is_err() {
        return false;
    }
    if let Some((api_version, _)) = resource.stored_as {
        if stored.api_version != api_version {
            return true;
        }
        // Both are compared in the served version: only that one has a canonical form.
        let convert = resource.readable.iter().find(|(version, _)| *version == api_version);
        convert.into_iter().for_each(|(_, convert)| convert(&mut stored));
        stored.api_version = now.api_version.clone();
    }
    resource.arrange(&mut stored);
    resource.arrange(&mut now);
    stored != now
}

/// The object as it was read, without fields that its version does not have.
fn known(resource: &Resource, value: &Bytes) -> std::result::Result<Object, FormError> {
    if value.starts_with(&PREFIX) {
        return read(value);
    }
    let mut tree = json::read(value)?.value;
    let api_version = tree.as_map().and_then(|it| it.str("apiVersion")).unwrap_or_default();
    let version = resource.versions.iter().find(|it| it.api_version == api_version);
    if let Some(schema) = version.and_then(|it| it.schema.as_ref()) {
        schema.conform(&mut tree)?;
    }
    Ok(Object::from_value(tree)?)
}

/// Converts an object as it was read to the stored version, and completes it for readers.
fn complete(resource: &Resource, object: &mut Object) -> std::result::Result<(), FormError> {
    let is_headless = object.kind.is_empty() && object.api_version.is_empty();
    if is_headless {
        object.kind = resource.kind.clone();
        object.api_version = resource.stored_version().api_version.clone();
    }
    let known = resource.versions.iter().find(|it| it.api_version == object.api_version);
    let readable = resource.readable.iter().find(|(version, _)| object.api_version == *version);
    match (known, readable) {
        _ if object.kind != resource.kind => return Err(strange(object)),
        (Some(version), _) => {
            resource.strategy.default(object);
            resource.strategy.fill_owned(object);
            convert::to_stored(resource, version, object);
        }
        (None, Some((_, convert))) => {
            convert(object);
            object.api_version = resource.stored_version().api_version.clone();
            resource.strategy.default(object);
        }
        (None, None) => return Err(strange(object)),
    }
    resource.strategy.decorate(object);
    Ok(())
}

fn strange(object: &Object) -> FormError {
    FormError::Foreign { kind: object.kind.clone(), api_version: object.api_version.clone() }
}
