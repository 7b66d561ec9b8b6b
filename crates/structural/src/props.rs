//! JSONSchemaProps: an `openAPIV3Schema` as a definition writes it, read in place.
//!
//! Checks of definitions need what [`Schema`](crate::Schema) leaves out: titles, descriptions, keywords that are refused.

use std::collections::HashMap;

use keelson_object::{Map, Value};

use crate::parse::MAX_DEPTH;

static NOTHING: Map = Map::new();

/// A node of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Props<'s>(pub &'s Map);

/// `additionalProperties`
#[derive(Clone, Copy, Debug)]
pub enum Additional<'s> {
    /// `true`
    Allowed,
    /// `false`
    Forbidden,
    /// A schema.
    Of(Props<'s>),
}

impl<'s> Props<'s> {
    /// `type`; empty if it is not said.
    pub fn kind(self) -> &'s str {
        self.text("type")
    }

    /// The text at `field`; empty if it is not said.
    pub fn text(self, field: &str) -> &'s str {
        self.0.str(field).unwrap_or_default()
    }

    /// Whether `flag` is true.
    pub fn is(self, flag: &str) -> bool {
        self.0.bool(flag) == Some(true)
    }

    /// What stands at `field`, if it is not null.
    pub fn said(self, field: &str) -> Option<&'s Value> {
        self.0.get(field).filter(|it| !it.is_null())
    }

    /// `default`, if it is not null.
    pub fn default(self) -> Option<&'s Value> {
        self.said("default")
    }

    /// `x-kubernetes-embedded-resource`
    pub fn is_embedded(self) -> bool {
        self.is("x-kubernetes-embedded-resource")
    }

    /// `x-kubernetes-preserve-unknown-fields`
    pub fn keeps_unknown_fields(self) -> bool {
        self.is("x-kubernetes-preserve-unknown-fields")
    }

    /// The schema of items, if it is one and not several.
    pub fn items(self) -> Option<Props<'s>> {
        self.0.map("items").map(Props)
    }

    /// `additionalProperties`
    pub fn additional(self) -> Option<Additional<'s>> {
        match self.said("additionalProperties")? {
            Value::Map(map) => Some(Additional::Of(Props(map))),
            Value::Bool(true) => Some(Additional::Allowed),
            _ => Some(Additional::Forbidden),
        }
    }

    /// The schema of properties that have none of their own.
    pub fn additional_schema(self) -> Option<Props<'s>> {
        match self.additional()? {
            Additional::Of(schema) => Some(schema),
            Additional::Allowed | Additional::Forbidden => None,
        }
    }

    /// `properties` in the order of the document.
    pub fn properties(self) -> impl Iterator<Item = (&'s str, Props<'s>)> {
        self.entries("properties")
    }

    /// The schema of a property.
    pub fn property(self, name: &str) -> Option<Props<'s>> {
        self.0.map("properties")?.map(name).map(Props)
    }

    /// The properties by name, for many lookups.
    pub fn index(self) -> HashMap<&'s str, Props<'s>> {
        self.properties().collect()
    }

    /// Whether `properties` has any.
    pub fn has_properties(self) -> bool {
        self.0.map("properties").is_some_and(|it| !it.is_empty())
    }

    /// The schemas of the map at `field`.
    pub fn entries(self, field: &str) -> impl Iterator<Item = (&'s str, Props<'s>)> {
        let map = self.0.map(field).unwrap_or(&NOTHING);
        map.iter().filter_map(|(name, it)| Some((name.as_str(), Props(it.as_map()?))))
    }

    /// The schemas of the list at `field`: `allOf` and the like.
    pub fn list(self, field: &str) -> impl Iterator<Item = Props<'s>> {
        self.0.maps(field).map(Props)
    }

    /// `not`
    pub fn negated(self) -> Option<Props<'s>> {
        self.0.map("not").map(Props)
    }

    /// Whether `found` holds for this schema or one in it. Only for schemas that passed [`Props::is_too_deep`].
    ///
    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, SchemaHas (v1.36.4).
    pub fn has(self, found: &dyn Fn(Props<'s>) -> bool) -> bool {
        let mut below = self
            .items()
            .into_iter()
            .chain(["items", "allOf", "anyOf", "oneOf"].into_iter().flat_map(|field| self.list(field)))
            .chain(self.negated())
            .chain(self.additional_schema())
            .chain(self.0.map("additionalItems").map(Props))
            .chain(MAPS.into_iter().flat_map(|field| self.entries(field)).map(|(_, schema)| schema));
        found(self) || below.any(|schema| schema.has(found))
    }
}

impl Props<'_> {
    /// Whether the schema nests deeper than [`MAX_DEPTH`]. All other walks recurse; this one does not.
    pub fn is_too_deep(self) -> bool {
        // A level of the schema is two levels of JSON: `properties` and the name of the property.
        let mut open = vec![(self.0, 0)];
        while let Some((map, depth)) = open.pop() {
            if depth > 2 * MAX_DEPTH {
                return true;
            }
            let values = map.iter().flat_map(|(_, value)| match value {
                Value::List(items) => items.as_slice(),
                value => std::slice::from_ref(value),
            });
            open.extend(values.filter_map(Value::as_map).map(|map| (map, depth + 1)));
        }
        false
    }
}

/// The fields that hold schemas by name.
const MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];
