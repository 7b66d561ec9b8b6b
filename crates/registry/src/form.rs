//! How objects lie in the store: written in one form, read in all of them, whoever wrote them.
//!
//! ```text
//! {"kind":"Pod","apiVersion":"v1",…}                 JSON of the stored version: becomes a frozen object by a scan
//! {"apiVersion":"autoscaling/v1","kind":…}           JSON of another one: read, converted, frozen
//! k8s\0 …                                            protobuf: read, converted if need be, frozen
//! ```

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
    /// It is an object of something else.
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\" here")]
    Foreign {
        /// What it says that it is.
        kind: SmolStr,
        /// In which version.
        api_version: SmolStr,
    },
}

/// The bytes of an object that belongs to no resource, such as the ranges of services.
pub fn write(object: &Object, form: Form) -> Result<Bytes> {
    match form {
        Form::Json => Ok(stored::encode(object)),
        Form::Protobuf => protobuf::encode_object(object).map_err(|error| Error::Bug(error.to_string())),
    }
}

/// The object in a stored value, in the version in which it lies there.
pub fn read(value: &Bytes) -> std::result::Result<Object, FormError> {
    let tree = match value.starts_with(&PREFIX) {
        true => Envelope::read(value)?.decode()?,
        false => json::read(value)?.value,
    };
    Ok(Object::from_value(tree)?)
}

/// The enveloped message of an object of `resource`; kinds that have no messages stay JSON.
pub(crate) fn message(resource: &Resource, object: &Object, json: &Bytes) -> Result<Bytes> {
    let version = resource.stored_version();
    let (Some(form), Some(schema)) = (&version.protobuf, &version.schema) else { return Ok(json.clone()) };
    let message = protobuf::write_stored(object, schema.root());
    Ok(form.head.wrap(&message.map_err(|error| Error::Bug(error.to_string()))?))
}

/// The object of a stored value as of `revision`, in the stored version of `resource`.
pub(crate) fn frozen(
    resource: &Resource,
    value: &Bytes,
    revision: u64,
) -> std::result::Result<Frozen, FormError> {
    if value.starts_with(&PREFIX) {
        return thawed(resource, read(value)?, revision);
    }
    let (kind, api_version) = stored::head(value)?;
    let is_ours = kind == resource.kind && api_version == resource.stored_version().api_version;
    match is_ours || (kind.is_empty() && api_version.is_empty()) {
        true => Ok(stored::decode(value, revision, &resource.selectable)?),
        false => thawed(resource, read(value)?, revision),
    }
}

/// Brings what was read into the stored version and freezes it. Who wrote it may not have known all defaults.
fn thawed(resource: &Resource, mut object: Object, revision: u64) -> std::result::Result<Frozen, FormError> {
    if object.kind != resource.kind {
        return Err(FormError::Foreign { kind: object.kind, api_version: object.api_version });
    }
    let known = resource.versions.iter().find(|it| it.api_version == object.api_version);
    let readable = resource.readable.iter().find(|(version, _)| object.api_version == *version);
    match (known, readable) {
        (Some(version), _) => {
            resource.strategy.default(&mut object);
            resource.strategy.fill_owned(&mut object);
            convert::to_stored(resource, version, &mut object);
        }
        (None, Some((_, convert))) => {
            convert(&mut object);
            object.api_version = resource.stored_version().api_version.clone();
            resource.strategy.default(&mut object);
        }
        (None, None) => {
            return Err(FormError::Foreign { kind: object.kind, api_version: object.api_version });
        }
    }
    Ok(stored::decode(&stored::encode(&object), revision, &resource.selectable)?)
}
