//! OpenAPI features that schemas of custom resources must not use.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! ValidateCustomResourceDefinitionOpenAPISchema (v1.36.4).

use keelson_object::{FieldErrors, Path, Value};

use super::{Additional, Schema, extensions};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The rules that apply: those that the old definition breaks do not.
#[derive(Clone, Copy)]
pub(crate) struct Strictness {
    /// Every version has a schema.
    pub schemas: bool,
    /// Schemas are structural.
    pub structural: bool,
    /// Defaults have no unknown fields.
    pub pruned_defaults: bool,
    /// Types are known.
    pub types: bool,
    /// Items of sets are atomic.
    pub atomic_sets: bool,
    /// Keys of lists that are maps are there.
    pub map_keys: bool,
}

/// The context of a schema.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'r> {
    pub strict: Strictness,
    pub is_root: bool,
    /// Below the metadata of an object.
    pub in_meta: bool,
    /// Why a default is not allowed here.
    pub no_default: Option<&'r str>,
}

impl<'r> Surroundings<'r> {
    /// The schema of a version.
    pub(crate) fn root(strict: Strictness) -> Surroundings<'static> {
        Surroundings { strict, is_root: true, in_meta: false, no_default: None }
    }

    fn below(self) -> Surroundings<'r> {
        Surroundings { is_root: false, ..self }
    }
}

/// Checks a schema and all that is in it.
pub(crate) fn check(schema: Schema<'_>, around: Surroundings<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    check_supported(schema, around, at, errors);
    if schema.is("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(&at.key("uniqueItems"), detail);
    }
    check_additional(schema, around, at, errors);
    check_properties(schema, around, &at.key("properties"), errors);
    let below = around.below();
    if let Some(not) = schema.negated() {
        check(not, below, &at.key("not"), errors);
    }
    for field in ["allOf", "oneOf", "anyOf"] {
        check_list(schema, field, below, &at.key(field), errors);
    }
    check_entries(schema, "definitions", below, &at.key("definitions"), errors);
    let items_at = at.key("items");
    if let Some(items) = schema.items() {
        check(items, below, &items_at, errors);
    }
    check_list(schema, "items", below, &items_at, errors);
    check_entries(schema, "dependencies", below, &at.key("dependencies"), errors);
    extensions::check(schema, around.strict, at, errors);
}

fn check_list(
    schema: Schema<'_>,
    field: &str,
    around: Surroundings<'_>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    for (index, nested) in schema.list(field).enumerate() {
        check(nested, around, &at.index(index), errors);
    }
}

fn check_entries(
    schema: Schema<'_>,
    field: &str,
    around: Surroundings<'_>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    for (name, nested) in schema.entries(field) {
        check(nested, around, &at.entry(name), errors);
    }
}

/// Properties are for structs, additional properties for maps.
fn check_additional(schema: Schema<'_>, around: Surroundings<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(additional) = schema.additional() else { return };
    let at = at.key("additionalProperties");
    if schema.has_properties() && !matches!(additional, Additional::Allowed) {
        errors.forbidden(&at, "additionalProperties and properties are mutual exclusive");
    }
    if let Additional::Of(nested) = additional {
        let mut below = around.below();
        if around.in_meta {
            below.no_default = Some("inside additionalProperties applying to object metadata");
        }
        check(nested, below, &at, errors);
    }
}

fn check_properties(schema: Schema<'_>, around: Surroundings<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    for (name, property) in schema.properties() {
        let mut below = around.below();
        let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
        if is_meta && (around.is_root || schema.is_embedded()) {
            below.in_meta = true;
            if around.is_root {
                below.no_default = Some(match name {
                    "metadata" => "in top-level metadata",
                    "kind" => "in top-level kind",
                    _ => "in top-level apiVersion",
                });
            }
        }
        check(property, below, &at.entry(name), errors);
    }
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// specStandardValidatorV3.validate (v1.36.4).
fn check_supported(schema: Schema<'_>, around: Surroundings<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = schema.kind();
    if around.strict.types && !kind.is_empty() && !TYPES.contains(&kind) {
        errors.not_supported(&at.key("type"), kind, &TYPES);
    }
    if let (Some(_), Some(reason)) = (schema.default(), around.no_default) {
        errors.forbidden(&at.key("default"), format!("must not be set {reason}"));
    }
    let is_filled = |field: &str| schema.said(field).is_some_and(|it| !it.is_empty());
    for (field, is_there) in [
        ("id", is_filled("id")),
        ("additionalItems", schema.said("additionalItems").is_some()),
        ("patternProperties", is_filled("patternProperties")),
        ("definitions", is_filled("definitions")),
        ("dependencies", schema.said("dependencies").is_some()),
        ("$ref", schema.said("$ref").is_some()),
    ] {
        if is_there {
            errors.forbidden(&at.key(field), format!("{field} is not supported"));
        }
    }
    if kind == "null" {
        errors.forbidden(&at.key("type"), "type cannot be set to null, use nullable as an alternative");
    }
    if matches!(schema.said("items"), Some(Value::List(items)) if !items.is_empty()) {
        errors.forbidden(&at.key("items"), "items must be a schema object and not an array");
    }
    if around.in_meta && schema.is_embedded() {
        errors
            .forbidden(&at.key("x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
    }
}

/// Whether the schema contains an unknown type.
pub(crate) fn has_unknown_type(schema: Schema<'_>) -> bool {
    let kind = schema.kind();
    !kind.is_empty() && !TYPES.contains(&kind)
}
