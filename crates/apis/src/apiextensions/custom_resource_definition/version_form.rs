//! Versions as messages show them.

use keelson_object::{Map, Value};

use super::definition::Definition;
use super::schema::{Schema, form};
use crate::shared::go_form::{Field, Form, as_json, form};

const SUBRESOURCES: [Field; 2] =
    [Field("Status", "status", Form::Maybe(&[])), Field("Scale", "scale", Form::Maybe(&SCALE))];
const SCALE: [Field; 3] = [
    Field("SpecReplicasPath", "specReplicasPath", Form::Text),
    Field("StatusReplicasPath", "statusReplicasPath", Form::Text),
    Field("LabelSelectorPath", "labelSelectorPath", Form::AsIs),
];
const COLUMN: [Field; 6] = [
    Field("Name", "name", Form::Text),
    Field("Type", "type", Form::Text),
    Field("Format", "format", Form::Text),
    Field("Description", "description", Form::Text),
    Field("Priority", "priority", Form::Number),
    Field("JSONPath", "jsonPath", Form::Text),
];
const HEAD: [Field; 5] = [
    Field("Name", "name", Form::Text),
    Field("Served", "served", Form::Truth),
    Field("Storage", "storage", Form::Truth),
    Field("Deprecated", "deprecated", Form::Truth),
    Field("DeprecationWarning", "deprecationWarning", Form::AsIs),
];
const REST: [Field; 3] = [
    Field("Subresources", "subresources", Form::Maybe(&SUBRESOURCES)),
    Field("AdditionalPrinterColumns", "additionalPrinterColumns", Form::Many(&COLUMN)),
    Field("SelectableFields", "selectableFields", Form::Many(&[Field("JSONPath", "jsonPath", Form::Text)])),
];

/// The versions of a definition, without the fields that are common to all.
pub(super) fn shown(definition: &Definition<'_>) -> String {
    let versions = definition.versions.iter().map(|version| Value::Map(version_form(definition, version)));
    as_json(&Value::List(versions.collect()))
}

fn version_form(definition: &Definition<'_>, version: &Map) -> Map {
    let above = &definition.above;
    let mut own = version.clone();
    let hoisted = [
        ("subresources", above.subresources),
        ("additionalPrinterColumns", above.columns),
        ("selectableFields", above.selectable),
    ];
    for (field, _) in hoisted.into_iter().filter(|(_, is_above)| *is_above) {
        own.remove(field);
    }
    let mut out = form(&own, &HEAD);
    let schema = own.map("schema").filter(|_| !above.schema).map(|holder| {
        let schema = holder.map("openAPIV3Schema").map(|it| form::of(Schema(it))).unwrap_or_default();
        Value::Map([("OpenAPIV3Schema".into(), schema)].into_iter().collect())
    });
    out.push_new("Schema", schema.unwrap_or_default());
    for (key, value) in form(&own, &REST) {
        out.push_new(key, value);
    }
    out
}
