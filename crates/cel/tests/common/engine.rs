//! The environment of the golden data: variables of many types, and `self` with a schema.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

use std::sync::Arc;

use keelson_cel::declared::{Declared, DeclaredTypes};
use keelson_cel::estimate::{Range, estimate};
use keelson_cel::schema::{ListType, Schema, SchemaType};
use keelson_cel::types::Type;
use keelson_cel::{Env, Library};
use serde_json::Value;

pub(crate) const ENVIRONMENT: &str = include_str!("../../testdata/environment.json");

/// The engine in that environment.
pub(crate) struct Engine {
    pub(crate) env: Env,
    types: Arc<DeclaredTypes>,
}

/// What the checker and the estimator say about an expression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Issues(String),
    Checked { of: String, cost: Range },
}

impl Engine {
    pub(crate) fn new() -> Self {
        let environment: Value = serde_json::from_str(ENVIRONMENT).unwrap();
        let root = Declared::of_schema(&schema(&environment["schema"]), "selfType").unwrap();
        let types = Arc::new(DeclaredTypes::new("selfType", root));
        let mut env = Env::stored().with_library(Library::Bindings).with_types(types.clone());
        env = env.with_variable("self", types.root.of.clone());
        for (name, of) in environment["vars"].as_object().unwrap() {
            env = env.with_variable(name, parse_type(of.as_str().unwrap()));
        }
        Self { env, types }
    }

    pub(crate) fn ask(&self, expression: &str) -> Answer {
        match self.env.compile(expression) {
            Err(issues) => Answer::Issues(issues.to_string()),
            Ok(checked) => {
                let cost = estimate(&checked, self.types.as_ref());
                Answer::Checked { of: checked.output_type().to_string(), cost }
            }
        }
    }
}

/// What the oracle answered.
pub(crate) fn expected(answer: &Value) -> Answer {
    match answer["issues"].as_str() {
        Some(issues) => Answer::Issues(issues.to_owned()),
        None => Answer::Checked {
            of: answer["type"].as_str().unwrap_or_default().to_owned(),
            cost: Range { min: number(&answer["min"]), max: number(&answer["max"]) },
        },
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Reads `map(string, list(int))`.
pub(crate) fn parse_type(text: &str) -> Type {
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(element) = inner("list") {
        return Type::list(parse_type(element));
    }
    if let Some(element) = inner("optional") {
        return Type::optional(parse_type(element));
    }
    if let Some(entry) = inner("map") {
        let (key, value) = entry.split_once(", ").unwrap();
        return Type::map(parse_type(key), parse_type(value));
    }
    match text {
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "dyn" => Type::Dyn,
        "any" => Type::Any,
        "null" => Type::Null,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "authorizer" => Type::object("kubernetes.authorization.Authorizer"),
        "resourcecheck" => Type::object("kubernetes.authorization.ResourceCheck"),
        "quantity" => Type::object("kubernetes.Quantity"),
        "ip" => Type::opaque("net.IP"),
        "cidr" => Type::opaque("net.CIDR"),
        _ => panic!("unknown type {text}"),
    }
}

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
        ..Schema::default()
    }
}
