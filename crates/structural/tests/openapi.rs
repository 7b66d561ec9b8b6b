//! OpenAPI schemas of custom resources: what upstream's builder published for the schemas in `testdata/openapi.jsonl`.
//!
//! The second test asks the oracle, see `common/oracle.rs`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/generate.rs"]
mod generate;
#[path = "common/oracle.rs"]
mod oracle;

use std::collections::BTreeSet;

use keelson_structural::openapi::{CustomKind, v2, v3};
use oracle::{Random, json_of, tree};
use serde_json::{Map, Value as Json, json};

#[test]
fn recorded_schemas_are_published_as_upstream_publishes_them() {
    let count = oracle::check(include_str!("../testdata/openapi.jsonl"), difference);
    assert!(count >= 250, "{count} cases");
}

#[test]
fn upstream_publishes_the_same() {
    oracle::ask(4, questions, difference);
}

fn difference(question: &Json, answer: &Json) -> Option<String> {
    let names = &question["names"];
    let name = |key: &str| names[key].as_str().unwrap();
    let selectable: Vec<&str> =
        names["selectable"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let kind = CustomKind {
        group: name("group"),
        version: name("version"),
        kind: name("kind"),
        list_kind: name("listKind"),
        plural: name("plural"),
        selectable_fields: &selectable,
    };
    // The caller knows whether a schema is structural.
    let is_structural = answer["yes"] == json!(true);
    let schema = question.get("schema").filter(|_| is_structural).map(tree);
    let schema = schema.as_ref().and_then(|it| it.as_map());
    let found = if question["path"] == "v2" {
        v2::definitions(&kind, schema)
    } else {
        v3::definitions(&kind, schema)
    };
    let ours: Map<String, Json> =
        found.iter().map(|(name, schema)| (name.clone(), json_of(schema))).collect();
    let (path, theirs, ours) = first_difference("", &answer["value"], &Json::Object(ours))?;
    Some(format!("{question}\n  at {path}\n  upstream {theirs}\n  we       {ours}"))
}

/// Where two documents differ first, and what each has there. Numbers are compared as numbers.
fn first_difference(at: &str, theirs: &Json, ours: &Json) -> Option<(String, Json, Json)> {
    match (theirs, ours) {
        (Json::Object(left), Json::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            names.into_iter().find_map(|name| {
                let (left, right) = (left.get(name), right.get(name));
                let absent = json!("(absent)");
                first_difference(&format!("{at}/{name}"), left.unwrap_or(&absent), right.unwrap_or(&absent))
            })
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs
                .into_iter()
                .find_map(|(i, (left, right))| first_difference(&format!("{at}/{i}"), left, right))
        }
        (Json::Number(left), Json::Number(right)) if left.as_f64() == right.as_f64() => None,
        _ => (theirs != ours).then(|| (at.to_owned(), theirs.clone(), ours.clone())),
    }
}

fn questions(random: &mut Random, cases: usize) -> Vec<Json> {
    let mut schemas = by_hand();
    schemas.extend(generate::keywords().iter().map(of_property));
    for _ in 0..cases / 2 {
        let depth = random.below(4) + 1;
        let mut schema = generate::schema(random, depth);
        schema["type"] = json!("object");
        describe(random, &mut schema);
        schemas.push(schema);
    }
    let mut questions = Vec::new();
    for (at, schema) in schemas.into_iter().enumerate() {
        for path in ["v2", "v3"] {
            let mut names = json!({"group": "example.com", "version": "v1", "kind": "Foo", "listKind": "FooList", "plural": "foos"});
            if at % 7 == 0 {
                names["selectable"] = json!([".spec.a", ".b"]);
            }
            let mut question = json!({"op": "openapi", "path": path, "names": names});
            if !schema.is_null() {
                question["schema"] = schema.clone();
            }
            questions.push(question);
        }
    }
    questions
}

fn of_property(schema: &Json) -> Json {
    json!({"type": "object", "properties": {"a": schema}})
}

/// Schemas that show one rule each.
fn by_hand() -> Vec<Json> {
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let embedded = "x-kubernetes-embedded-resource";
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let properties = vec![
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": either, "pattern": "^a"}),
        json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either}, {"maximum": 3}]}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 2}]}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"minimum": 2}], "allOf": [{"maximum": 3}]}),
        json!({"type": "array", "items": {"x-kubernetes-int-or-string": true}}),
        json!({"type": "object", embedded: true, preserve: true}),
        json!({"type": "object", embedded: true, "required": ["kind", "b"], "properties": {"b": {"type": "string"}}}),
        json!({"type": "object", embedded: true, "nullable": true, "properties": {"b": {"type": "string"}}}),
        json!({"type": "array", "items": {"type": "object", embedded: true, preserve: true}}),
        json!({"type": "object", "additionalProperties": {"type": "object", embedded: true, preserve: true}}),
        json!({preserve: true}),
        json!({preserve: true, "properties": {"b": {"type": "string"}}}),
        json!({"type": "object", preserve: true, "required": ["b"], "properties": {"b": {"type": "string", "nullable": true}}}),
        json!({"type": "object", "required": ["b", "c"], "properties": {"b": {"type": "string", "nullable": true}, "c": {"type": "string"}}}),
        json!({"type": "object", "required": ["b"], "properties": {"b": {"type": "string", "nullable": true}}}),
        json!({"type": "object", "required": ["b"], "additionalProperties": {"type": "string", "nullable": true}}),
        json!({"type": "object", "nullable": true, "additionalProperties": {"type": "string"}}),
        json!({"type": "array", "nullable": true, "items": {"type": "string"}}),
        json!({"type": "object", "additionalProperties": true}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "string", "default": "", "example": "x", "title": "t", "description": "d", "externalDocs": {"url": "u", "description": ""}}),
        json!({"type": "integer", "default": 0, "minimum": 1.5, "maximum": 3.0, "exclusiveMaximum": true, "multipleOf": 0.5}),
        json!({"type": "boolean", "default": false, "example": null}),
        json!({"type": "object", "default": {}, "properties": {"b": {"type": "array", "default": [], "items": {"type": "string"}}}}),
        json!({"type": "string", "enum": ["a", "", "b"], "maxLength": 0, "minLength": 0, "pattern": ""}),
        json!({"type": "array", "items": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"], "maxItems": 3}),
        json!({"type": "object", "x-kubernetes-map-type": "atomic", "minProperties": 1, "additionalProperties": {"type": "string"}}),
        json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "message": "", "messageExpression": "'x'", "reason": "FieldValueInvalid", "fieldPath": ".a", "optionalOldSelf": true}, {"rule": "true"}]}),
        json!({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}, "oneOf": [{"required": ["b"]}, {"required": ["c"], "properties": {"c": {"minimum": 2, "not": {"enum": [3]}}}}], "not": {"maxProperties": 9}}),
        json!({"type": "array", "items": {"type": "string"}, "anyOf": [{"items": {"maxLength": 2}}, {"minItems": 2}]}),
    ];
    let mut all: Vec<Json> = properties.iter().map(of_property).collect();
    all.extend([
        json!(null),
        json!({"type": "object"}),
        json!({"type": "object", preserve: true, "properties": {"spec": {"type": "string"}}}),
        json!({"type": "object", "nullable": true, "properties": {"spec": {"type": "string"}}}),
        json!({"type": "object", "description": "d", "required": ["spec"], "properties": {"apiVersion": {"type": "string", "description": "mine"}, "kind": {"type": "string"}, "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "a"}}}, "spec": {"type": "string"}}}),
        json!({"type": "object", "anyOf": [{"required": ["spec"]}], "x-kubernetes-validations": [{"rule": "true"}], "properties": {"spec": {"type": "string"}}}),
        json!({"type": "string"}),
        json!({"type": "strange"}),
        json!({"properties": {"spec": {}}}),
    ]);
    all
}

/// Adds descriptions here and there.
fn describe(random: &mut Random, schema: &mut Json) {
    let Some(map) = schema.as_object_mut() else { return };
    if random.chance(30) {
        map.insert("description".to_owned(), json!("What it is for."));
    }
    for keyword in ["properties", "items", "additionalProperties"] {
        match map.get_mut(keyword) {
            Some(Json::Object(below)) if keyword == "properties" => {
                below.values_mut().for_each(|it| describe(random, it));
            }
            Some(below) => describe(random, below),
            None => {}
        }
    }
}
