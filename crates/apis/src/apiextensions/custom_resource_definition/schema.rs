//! The schema of a version, as far as definitions are checked.

pub(super) mod completeness;
pub(super) mod defaults;
pub(super) mod extensions;
pub(super) mod field_path;
pub(super) mod form;
pub(super) mod formats;
pub(super) mod open_api;
pub(super) mod pattern;
pub(super) mod structural;
pub(super) mod value;

use std::collections::HashMap;

use keelson_object::{Map, Value};

static NOTHING: Map = Map::new();

/// A node of a schema.
#[derive(Clone, Copy)]
pub(super) struct Schema<'s>(pub &'s Map);

/// What `additionalProperties` says.
#[derive(Clone, Copy)]
pub(super) enum Additional<'s> {
    Allowed,
    Forbidden,
    Of(Schema<'s>),
}

impl<'s> Schema<'s> {
    /// The type; empty if none is said.
    pub(super) fn kind(self) -> &'s str {
        self.text("type")
    }

    pub(super) fn text(self, field: &str) -> &'s str {
        self.0.str(field).unwrap_or_default()
    }

    pub(super) fn is(self, flag: &str) -> bool {
        self.0.bool(flag) == Some(true)
    }

    /// What stands at `field`, if it is not null.
    pub(super) fn said(self, field: &str) -> Option<&'s Value> {
        self.0.get(field).filter(|it| !it.is_null())
    }

    pub(super) fn default(self) -> Option<&'s Value> {
        self.said("default")
    }

    pub(super) fn is_embedded(self) -> bool {
        self.is("x-kubernetes-embedded-resource")
    }

    pub(super) fn keeps_unknown_fields(self) -> bool {
        self.is("x-kubernetes-preserve-unknown-fields")
    }

    /// The schema of items, if it is one and not several.
    pub(super) fn items(self) -> Option<Schema<'s>> {
        self.0.map("items").map(Schema)
    }

    pub(super) fn additional(self) -> Option<Additional<'s>> {
        match self.said("additionalProperties")? {
            Value::Map(map) => Some(Additional::Of(Schema(map))),
            Value::Bool(true) => Some(Additional::Allowed),
            _ => Some(Additional::Forbidden),
        }
    }

    /// The schema of properties that have none of their own.
    pub(super) fn additional_schema(self) -> Option<Schema<'s>> {
        match self.additional()? {
            Additional::Of(schema) => Some(schema),
            Additional::Allowed | Additional::Forbidden => None,
        }
    }

    pub(super) fn properties(self) -> impl Iterator<Item = (&'s str, Schema<'s>)> {
        self.entries("properties")
    }

    pub(super) fn property(self, name: &str) -> Option<Schema<'s>> {
        self.0.map("properties")?.map(name).map(Schema)
    }

    /// The properties by name, for many lookups.
    pub(super) fn index(self) -> HashMap<&'s str, Schema<'s>> {
        self.properties().collect()
    }

    pub(super) fn has_properties(self) -> bool {
        self.0.map("properties").is_some_and(|it| !it.is_empty())
    }

    /// The schemas of the map at `field`.
    pub(super) fn entries(self, field: &str) -> impl Iterator<Item = (&'s str, Schema<'s>)> {
        let map = self.0.map(field).unwrap_or(&NOTHING);
        map.iter().filter_map(|(name, it)| Some((name.as_str(), Schema(it.as_map()?))))
    }

    /// The schemas of the list at `field`: `allOf` and the like.
    pub(super) fn list(self, field: &str) -> impl Iterator<Item = Schema<'s>> {
        self.0.maps(field).map(Schema)
    }

    pub(super) fn not(self) -> Option<Schema<'s>> {
        self.0.map("not").map(Schema)
    }

    /// Whether `found` holds for this schema or one in it.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, SchemaHas (v1.36.4).
    pub(super) fn has(self, found: &dyn Fn(Schema<'s>) -> bool) -> bool {
        let mut below = self
            .items()
            .into_iter()
            .chain(["items", "allOf", "anyOf", "oneOf"].into_iter().flat_map(|field| self.list(field)))
            .chain(self.not())
            .chain(self.additional_schema())
            .chain(self.0.map("additionalItems").map(Schema))
            .chain(MAPS.into_iter().flat_map(|field| self.entries(field)).map(|(_, schema)| schema));
        found(self) || below.any(|schema| schema.has(found))
    }
}

/// The fields that hold schemas by name.
const MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];
