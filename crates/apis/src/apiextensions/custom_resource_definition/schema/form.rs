//! Schemas and versions as messages show them: with every field that upstream's types have.

use keelson_object::{Map, Value};

use super::{Additional, Schema};
use crate::shared::go_form::as_json;

/// How a field of a schema is printed.
enum Form {
    /// A string; empty if absent.
    Text,
    /// A boolean; false if absent.
    Truth,
    /// Unchanged; null if absent.
    AsIs,
    One,
    Many,
    Named,
    Items,
    Additional,
    Rules,
}

/// The fields of a schema in upstream's order.
const FIELDS: [(&str, &str, Form); 44] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::AsIs),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Truth),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::AsIs),
    ("Maximum", "maximum", Form::AsIs),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Truth),
    ("Minimum", "minimum", Form::AsIs),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Truth),
    ("MaxLength", "maxLength", Form::AsIs),
    ("MinLength", "minLength", Form::AsIs),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::AsIs),
    ("MinItems", "minItems", Form::AsIs),
    ("UniqueItems", "uniqueItems", Form::Truth),
    ("MultipleOf", "multipleOf", Form::AsIs),
    ("Enum", "enum", Form::AsIs),
    ("MaxProperties", "maxProperties", Form::AsIs),
    ("MinProperties", "minProperties", Form::AsIs),
    ("Required", "required", Form::AsIs),
    ("Items", "items", Form::Items),
    ("AllOf", "allOf", Form::Many),
    ("OneOf", "oneOf", Form::Many),
    ("AnyOf", "anyOf", Form::Many),
    ("Not", "not", Form::One),
    ("Properties", "properties", Form::Named),
    ("AdditionalProperties", "additionalProperties", Form::Additional),
    ("PatternProperties", "patternProperties", Form::Named),
    ("Dependencies", "dependencies", Form::AsIs),
    ("AdditionalItems", "additionalItems", Form::AsIs),
    ("Definitions", "definitions", Form::Named),
    ("ExternalDocs", "externalDocs", Form::AsIs),
    ("Example", "example", Form::AsIs),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::AsIs),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Truth),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Truth),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::AsIs),
    ("XListType", "x-kubernetes-list-type", Form::AsIs),
    ("XMapType", "x-kubernetes-map-type", Form::AsIs),
    ("XValidations", "x-kubernetes-validations", Form::Rules),
];

/// A schema as a message shows it.
pub(crate) fn shown(schema: Schema<'_>) -> String {
    as_json(&of(schema))
}

/// A schema with upstream's names.
pub(crate) fn of(schema: Schema<'_>) -> Value {
    let mut out = Map::with_capacity(FIELDS.len());
    for (name, field, form) in FIELDS {
        out.push_new(name, part(schema, field, &form));
    }
    Value::Map(out)
}

fn part(schema: Schema<'_>, field: &str, form: &Form) -> Value {
    let said = schema.said(field);
    let schema_at = || schema.0.map(field).map(|it| of(Schema(it))).unwrap_or_default();
    match form {
        Form::Text => said.cloned().unwrap_or_else(|| Value::from("")),
        Form::Truth => said.cloned().unwrap_or(Value::Bool(false)),
        Form::AsIs => said.cloned().unwrap_or_default(),
        Form::One => schema_at(),
        Form::Many => said.map(|_| Value::List(schema.list(field).map(of).collect())).unwrap_or_default(),
        Form::Named => {
            let mut named: Map = schema.entries(field).map(|(name, it)| (name.into(), of(it))).collect();
            named.sort_keys();
            said.map(|_| Value::Map(named)).unwrap_or_default()
        }
        Form::Items => match said {
            None => Value::Null,
            Some(Value::List(_)) => {
                pair("Schema", Value::Null, "JSONSchemas", Value::List(schema.list(field).map(of).collect()))
            }
            Some(_) => pair("Schema", schema_at(), "JSONSchemas", Value::Null),
        },
        Form::Additional => match schema.additional() {
            None => Value::Null,
            Some(Additional::Of(it)) => pair("Allows", Value::Bool(true), "Schema", of(it)),
            Some(Additional::Allowed) => pair("Allows", Value::Bool(true), "Schema", Value::Null),
            Some(Additional::Forbidden) => pair("Allows", Value::Bool(false), "Schema", Value::Null),
        },
        Form::Rules => {
            said.map(|_| Value::List(schema.0.maps(field).map(rule).collect())).unwrap_or_default()
        }
    }
}

fn pair(one: &'static str, value: Value, other: &'static str, there: Value) -> Value {
    Value::Map([(one.into(), value), (other.into(), there)].into_iter().collect())
}

fn rule(rule: &Map) -> Value {
    let text = |field| Value::from(rule.str(field).unwrap_or_default());
    let some = |field| rule.get(field).cloned().unwrap_or_default();
    let fields = [
        ("Rule", text("rule")),
        ("Message", text("message")),
        ("MessageExpression", text("messageExpression")),
        ("Reason", some("reason")),
        ("FieldPath", text("fieldPath")),
        ("OptionalOldSelf", some("optionalOldSelf")),
    ];
    Value::Map(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}
