//! Conversion between the versions of a kind.
//!
//! There is no internal version. The rules of a built-in kind run in its stored version: most versions have its shape,
//! and conversion is another head; for the others a kind brings two functions from tree to tree ([`Conversion`]). The
//! rules of a custom resource run in the version of the request, its objects may be stored in different versions, and a
//! webhook may convert them: [`Convert`] is asynchronous, fallible and works on many objects at once.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::error::{Error, Result};
use crate::resource::{Resource, Version};

/// Conversion between the versions of a custom resource.
pub trait Convert: Send + Sync + 'static {
    /// Converts `objects` to `api_version`, each from its own apiVersion. Returns the same number of objects,
    /// in the same order.
    fn convert<'c>(
        &'c self,
        objects: Vec<Object>,
        api_version: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Object>>>;

    /// Whether all fields stay where they are, so that selectors can be evaluated before the conversion.
    fn keeps_fields(&self) -> bool;
}

/// Converts objects of a custom resource to `version`, and brings them to the shape of its schema. Objects that are in
/// that version already stay as they are.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, schemaCoercingConverter (v1.36.4).
pub(crate) async fn convert_all(
    convert: &dyn Convert,
    mut objects: Vec<Object>,
    version: &Version,
) -> Result<Vec<Object>> {
    let others: Vec<usize> =
        (0..objects.len()).filter(|position| objects[*position].api_version != version.api_version).collect();
    if others.is_empty() {
        return Ok(objects);
    }
    let sent = others.iter().map(|position| std::mem::take(&mut objects[*position])).collect();
    let converted = convert.convert(sent, &version.api_version).await?;
    if converted.len() != others.len() {
        return Err(Error::Bug("a conversion lost objects".to_owned()));
    }
    for (position, object) in others.into_iter().zip(converted) {
        objects[position] = accepted(object, version)?;
    }
    Ok(objects)
}

fn accepted(object: Object, version: &Version) -> Result<Object> {
    let Some(types) = &version.structural else { return Ok(object) };
    let mut value = object.into_value();
    types.accept_converted(&mut value).map_err(Error::Unclassified)?;
    let mut object = Object::from_value(value).map_err(|error| Error::Unclassified(error.to_string()))?;
    object.api_version = version.api_version.clone();
    Ok(object)
}

/// Conversion of a version to the stored one and back. Both functions work in place; nothing may get lost.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// From the version to the stored one.
    pub to_stored: fn(&mut Object),
    /// From the stored version to this one.
    pub from_stored: fn(&mut Object),
}

/// Converts an object of `version` to the stored version, and sets the defaults of that one.
pub fn to_stored(resource: &Resource, version: &Version, object: &mut Object) {
    let stored = resource.stored_version();
    if version.api_version == stored.api_version {
        return;
    }
    if let Some(conversion) = version.conversion {
        (conversion.to_stored)(object);
    }
    object.api_version = stored.api_version.clone();
    resource.strategy.default(object);
}

/// Converts a stored object to `version`.
pub fn from_stored(version: &Version, object: &mut Object) {
    if version.api_version == object.api_version {
        return;
    }
    if let Some(conversion) = version.conversion {
        (conversion.from_stored)(object);
    }
    object.api_version = version.api_version.clone();
    if let Some(schema) = &version.schema {
        schema.arrange(object);
    }
}
