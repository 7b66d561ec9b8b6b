//! Owner references.

use smol_str::SmolStr;

use crate::object::ShapeError;
use crate::value::{Map, Value};

/// One owner reference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerReference {
    /// `group/version` of the owner.
    pub api_version: SmolStr,
    /// Its kind.
    pub kind: SmolStr,
    /// Its name.
    pub name: SmolStr,
    /// Its uid.
    pub uid: SmolStr,
    /// Whether it is the managing controller.
    pub controller: Option<bool>,
    /// Whether it waits for this object when it is deleted in the foreground.
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// Writes the reference as a tree.
    pub fn to_value(&self) -> Value {
        let mut map = Map::with_capacity(6);
        map.push_new("apiVersion", self.api_version.clone());
        map.push_new("kind", self.kind.clone());
        map.push_new("name", self.name.clone());
        map.push_new("uid", self.uid.clone());
        if let Some(controller) = self.controller {
            map.push_new("controller", controller);
        }
        if let Some(block) = self.block_owner_deletion {
            map.push_new("blockOwnerDeletion", block);
        }
        Value::Map(map)
    }
}

/// Reads `metadata.ownerReferences`.
pub(super) fn from_value(value: &Value) -> Result<Vec<OwnerReference>, ShapeError> {
    const FIELD: &str = "metadata.ownerReferences";
    let items = value.as_list().ok_or_else(|| ShapeError::at(FIELD.to_owned(), value))?;
    items.iter().map(|item| one(item, FIELD)).collect()
}

fn one(item: &Value, field: &str) -> Result<OwnerReference, ShapeError> {
    let map = item.as_map().ok_or_else(|| ShapeError::at(field.to_owned(), item))?;
    let text = |key: &str| match map.get(key) {
        None | Some(Value::Null) => Ok(SmolStr::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(ShapeError::at(format!("{field}.{key}"), other)),
    };
    Ok(OwnerReference {
        api_version: text("apiVersion")?,
        kind: text("kind")?,
        name: text("name")?,
        uid: text("uid")?,
        controller: map.bool("controller"),
        block_owner_deletion: map.bool("blockOwnerDeletion"),
    })
}
