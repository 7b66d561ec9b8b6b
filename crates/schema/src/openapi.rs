//! Publishing: how structs, kinds and options look in OpenAPI documents.
//!
//! [`Components`] collects the kinds that a document names and everything these refer to, and gives one schema
//! after the other, so that no more than one of them is in memory as a tree. [`Descriptions`] are published if they are at hand.

mod components;
mod descriptions;
mod fixed;
mod list_text;
mod name;
mod parameters;
mod property;
mod tables;

pub use components::Components;
pub use descriptions::Descriptions;
pub use name::custom_name;
pub use parameters::{Parameter, options};

use keelson_object::{Map, Value};

/// Which OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Swagger 2.0: `/openapi/v2`. References have neighbours, defaults are not published.
    V2,
    /// OpenAPI 3.0: `/openapi/v3`. A reference with neighbours is wrapped into `allOf`.
    V3,
}

/// Whether schemas list the values of enumerations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enums {
    /// They do.
    #[default]
    Listed,
    /// They do not.
    Hidden,
}

/// The group version that a document is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home<'h> {
    /// `apps`; empty for the core group.
    pub group: &'h str,
    /// `v1`.
    pub version: &'h str,
}

impl Form {
    /// `{"$ref": "#/components/schemas/io.k8s.api.apps.v1.Deployment"}`.
    pub fn reference(self, name: &str) -> Map {
        let place = match self {
            Form::V2 => "#/definitions/",
            Form::V3 => "#/components/schemas/",
        };
        let mut map = Map::with_capacity(1);
        map.push_new("$ref", format!("{place}{name}"));
        map
    }
}

/// `{"group":"apps","kind":"Deployment","version":"v1"}`.
pub fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    let mut map = Map::with_capacity(3);
    map.push_new("group", group);
    map.push_new("kind", kind);
    map.push_new("version", version);
    map.into()
}
