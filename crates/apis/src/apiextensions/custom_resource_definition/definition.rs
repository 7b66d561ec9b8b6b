//! A definition in upstream's internal form: fields that are equal in all versions are moved to the top
//! level.
//!
//! ```text
//! versions: [{name: v1, schema: S}, {name: v2, schema: S}]        as the client writes it
//! validation: S, versions: [{name: v1}, {name: v2}]               as messages show it
//! ```
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go,
//! Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec (v1.36.4).

use keelson_object::{Map, Object, Value};

use super::schema::Schema;
use crate::shared::conditions;

static NOTHING: Map = Map::new();

/// The spec of a definition.
pub(crate) struct Definition<'o> {
    pub spec: &'o Map,
    pub versions: Vec<&'o Map>,
    /// The fields that are at the top level for all versions.
    pub above: Shared,
}

/// The version fields that are the same in all versions.
pub(crate) struct Shared {
    pub schema: bool,
    pub subresources: bool,
    pub columns: bool,
    pub selectable: bool,
}

impl<'o> Definition<'o> {
    /// The definition that an object is.
    pub(crate) fn of(object: &'o Object) -> Definition<'o> {
        let spec = object.fields.map("spec").unwrap_or(&NOTHING);
        let versions: Vec<&Map> = spec.maps("versions").collect();
        let is_same = |field: &str| {
            let first = versions.first().and_then(|it| part(it, field));
            !versions.is_empty() && versions.iter().all(|it| part(it, field) == first)
        };
        let above = Shared {
            schema: is_same("schema"),
            subresources: is_same("subresources"),
            columns: is_same("additionalPrinterColumns"),
            selectable: is_same("selectableFields"),
        };
        Definition { spec, versions, above }
    }

    /// The field `field` of the first version: the common value if all versions agree.
    pub(super) fn first(&self, field: &str) -> Option<&'o Value> {
        self.versions.first().and_then(|it| part(it, field))
    }

    /// The map at `field`, common to all versions.
    pub(super) fn common(&self, field: &str) -> Option<&'o Map> {
        self.first(field)?.as_map()
    }

    /// All schemas that checks can walk: deeper ones, which a store may contain, are skipped.
    pub(super) fn schemas(&self) -> impl Iterator<Item = Schema<'o>> {
        let all = if self.above.schema { 1 } else { self.versions.len() };
        self.versions.iter().take(all).filter_map(|it| schema_of(it)).filter(|it| !it.is_too_deep())
    }

    pub(super) fn keeps_unknown_fields(&self) -> bool {
        self.spec.bool("preserveUnknownFields") == Some(true)
    }

    /// Whether `found` holds for one of the schemas or for a part of one.
    pub(super) fn has(&self, found: &dyn Fn(Schema<'o>) -> bool) -> bool {
        self.schemas().any(|schema| schema.has(found))
    }
}

/// The schema of a version.
pub(super) fn schema_of(version: &Map) -> Option<Schema<'_>> {
    version.map("schema")?.map("openAPIV3Schema").map(Schema)
}

/// Whether a version has the status subresource.
pub(super) fn has_status(version: &Map) -> bool {
    version.map("subresources").is_some_and(|it| it.map("status").is_some())
}

/// An empty list is none.
fn part<'o>(version: &'o Map, field: &str) -> Option<&'o Value> {
    version.get(field).filter(|it| !it.is_null() && !matches!(it, Value::List(items) if items.is_empty()))
}

/// Whether the resource of the definition is served.
pub(super) fn is_established(object: &Object) -> bool {
    conditions::status_of(object.fields.map("status"), "Established") == Some("True")
}
