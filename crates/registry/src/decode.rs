//! From a decoded document to an object of a kind: strictness, shape, defaults.

use keelson_object::{Object, Value};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::options::FieldValidation;
use crate::resource::{Resource, Version};

/// What a body was read into.
#[derive(Debug, Default)]
pub struct Draft {
    /// The tree.
    pub value: Value,
    /// Paths of keys that stood there twice.
    pub duplicates: Vec<String>,
}

/// The object that `draft` describes, with defaults filled in.
///
/// `kind` and `apiVersion` may be left out; what is there must fit the address.
pub fn object(
    context: &Context,
    resource: &Resource,
    version: &Version,
    draft: Draft,
    validation: FieldValidation,
) -> Result<Object> {
    let Draft { mut value, duplicates } = draft;
    check_kind(resource, version, &value)?;
    let mut complaints: Vec<String> =
        duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect();
    if let Some(schema) = &version.schema {
        let unknown = schema.conform(&mut value).map_err(|error| wrong_shape(resource, version, &error))?;
        complaints.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    }
    report(context, resource, version, complaints, validation)?;
    let mut object = Object::from_value(value).map_err(|error| wrong_shape(resource, version, &error))?;
    object.kind = resource.kind.clone();
    object.api_version = version.api_version.clone();
    resource.strategy.default(&mut object);
    Ok(object)
}

fn check_kind(resource: &Resource, version: &Version, value: &Value) -> Result<()> {
    let text = |key| value.as_map().and_then(|map| map.str(key)).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if kind.is_empty() && api_version.is_empty() {
        return Ok(());
    }
    if kind == resource.kind && api_version == version.api_version {
        return Ok(());
    }
    let fits = (kind.is_empty() || kind == resource.kind)
        && (api_version.is_empty() || api_version == version.api_version);
    if fits {
        return Ok(());
    }
    if api_version != version.api_version && !api_version.is_empty() && kind == resource.kind {
        return Err(Error::BadRequest(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            version.api_version
        )));
    }
    Err(Error::BadRequest(format!(
        "{kind} in version {:?} cannot be handled as a {}: converting ({kind}) to ({}): unknown conversion",
        api_version.rsplit('/').next().unwrap_or_default(),
        resource.kind,
        resource.kind,
    )))
}

fn wrong_shape(resource: &Resource, version: &Version, error: &dyn std::fmt::Display) -> Error {
    let kind = &resource.kind;
    Error::BadRequest(format!("{kind} in version {:?} cannot be handled as a {kind}: {error}", version.name))
}

fn report(
    context: &Context,
    resource: &Resource,
    version: &Version,
    complaints: Vec<String>,
    validation: FieldValidation,
) -> Result<()> {
    match validation {
        _ if complaints.is_empty() => Ok(()),
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            complaints.into_iter().for_each(|complaint| context.warn(complaint));
            Ok(())
        }
        FieldValidation::Strict => {
            let text = format!("strict decoding error: {}", complaints.join(", "));
            Err(wrong_shape(resource, version, &text))
        }
    }
}
