//! Structural schemas, read from JSON.

use keelson_cel::schema::{ListType, Schema, SchemaType};
use serde_json::Value;

/// The schema that `json` describes.
pub(crate) fn schema(json: &Value) -> Schema {
    let text = |name: &str| json[name].as_str().unwrap_or_default();
    let flag = |name: &str| json[name].as_bool().unwrap_or_default();
    let child = |name: &str| json.get(name).map(|child| Box::new(schema(child)));
    let texts = |name: &str| -> Vec<_> {
        json[name].as_array().into_iter().flatten().filter_map(|text| text.as_str().map(Into::into)).collect()
    };
    Schema {
        kind: match text("type") {
            "object" => SchemaType::Object,
            "array" => SchemaType::Array,
            "string" => SchemaType::String,
            "number" => SchemaType::Number,
            "integer" => SchemaType::Integer,
            "boolean" => SchemaType::Boolean,
            _ => SchemaType::None,
        },
        format: text("format").into(),
        nullable: flag("nullable"),
        items: child("items"),
        properties: json["properties"]
            .as_object()
            .map(|all| all.iter().map(|(name, of)| (name.as_str().into(), schema(of))).collect()),
        additional: child("additionalProperties"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        embedded_resource: flag("x-kubernetes-embedded-resource"),
        list_type: match text("x-kubernetes-list-type") {
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => ListType::Atomic,
        },
        list_map_keys: texts("x-kubernetes-list-map-keys"),
        required: texts("required"),
        max_length: json["maxLength"].as_u64(),
        max_items: json["maxItems"].as_u64(),
        max_properties: json["maxProperties"].as_u64(),
        has_enum: json.get("enum").is_some(),
        enum_texts: texts("enum"),
        has_default: json.get("default").is_some(),
        ..Schema::default()
    }
}
