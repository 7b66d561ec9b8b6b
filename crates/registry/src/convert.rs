//! Between the versions of a kind.
//!
//! There is no internal version: the stored one is the truth. Most versions have its shape, and conversion is another
//! head; for the others a kind brings two functions from tree to tree.

use keelson_object::Object;

use crate::resource::{Resource, Version};

/// How to get from a version to the stored one and back. Both work in place; nothing may get lost.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// From the version to the stored one.
    pub to_stored: fn(&mut Object),
    /// From the stored version to this one.
    pub from_stored: fn(&mut Object),
}

/// Brings an object of `version` into the stored version, with what that one fills in.
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

/// Brings a stored object into `version`.
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
