//! List descriptions: what documents say about lists, in our own words. The sentences of [`super::Descriptions`] are
//! about other types.

use keelson_object::{Map, Value};

use super::Form;

const METADATA: &str =
    "The resourceVersion of the list and, if there are more objects, the continue token for the next part.";

/// Describes the schema of a list of `kind`, as far as it says nothing itself.
pub(super) fn describe(list: &mut Map, kind: &str, form: Form) {
    set(list, form, format!("A list of {kind} objects, complete or one part of it."));
    let Some(Value::Map(properties)) = list.get_mut("properties") else { return };
    if let Some(Value::Map(items)) = properties.get_mut("items") {
        set(items, form, format!("The {kind} objects."));
    }
    if let Some(Value::Map(metadata)) = properties.get_mut("metadata") {
        set(metadata, form, METADATA.to_owned());
    }
}

/// A reference stands alone in OpenAPI 3.0.
fn set(schema: &mut Map, form: Form, text: String) {
    let is_closed = form == Form::V3 && schema.get("$ref").is_some();
    if !is_closed && schema.get("description").is_none() {
        schema.push_new("description", text);
    }
}
