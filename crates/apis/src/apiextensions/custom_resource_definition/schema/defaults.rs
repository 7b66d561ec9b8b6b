//! Defaults have no fields that the schema does not know, and are as it wants them.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go (v1.36.4).

use keelson_object::{FieldErrors, Path, Value};

use super::{Schema, value};

/// Checks the defaults in a schema that is structural.
pub(crate) fn check(schema: Schema<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(default) = schema.default() {
        let at = at.key("default");
        if has_unknown(default, schema) {
            errors.invalid(&at, default, "must not have unknown fields");
        }
        value::problems(default, schema, &at).into_iter().for_each(|error| errors.push(error));
    }
    if let Some(items) = schema.items() {
        check(items, &at.key("items"), errors);
    }
    let properties_at = at.key("properties");
    for (name, property) in schema.properties() {
        check(property, &properties_at.entry(name), errors);
    }
}

/// Whether a value has a field that pruning would take away.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go, prune (v1.36.4).
fn has_unknown(value: &Value, schema: Schema<'_>) -> bool {
    match value {
        Value::Map(map) => {
            let properties = schema.index();
            map.iter().any(|(name, value)| {
                let is_meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
                if schema.is_embedded() && is_meta {
                    return false;
                }
                match (properties.get(name.as_str()), schema.additional()) {
                    (Some(property), _) => has_unknown(value, *property),
                    (None, Some(_)) => match schema.additional_schema() {
                        Some(additional) => has_unknown(value, additional),
                        None => has_fields(value),
                    },
                    (None, None) => !schema.keeps_unknown_fields(),
                }
            })
        }
        Value::List(items) => match schema.items() {
            Some(schema) => items.iter().any(|item| has_unknown(item, schema)),
            None => !schema.keeps_unknown_fields() && items.iter().any(has_fields),
        },
        _ => false,
    }
}

/// Whether a value that no schema describes has fields at all.
fn has_fields(value: &Value) -> bool {
    match value {
        Value::Map(map) => !map.is_empty(),
        Value::List(items) => items.iter().any(has_fields),
        _ => false,
    }
}
