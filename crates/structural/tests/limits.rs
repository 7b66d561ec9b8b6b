//! Bad input: deep schemas, huge definitions, deep objects. Everything is bounded and nothing panics.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/engine.rs"]
#[allow(dead_code, reason = "only the conversion of values is used here")]
mod engine;
#[path = "common/oracle.rs"]
mod oracle;

use engine::Cache;
use keelson_object::{Map, Value};
use keelson_structural::prune::{Report, prune};
use keelson_structural::{Interner, Limits, ParseError, Schema, default, list_types, parse, validate};
use oracle::tree;
use serde_json::{Value as Json, json};

fn map_of(json: &Json) -> Map {
    tree(json).as_map().unwrap().clone()
}

fn nested(levels: usize) -> Json {
    (0..levels).fold(json!({"type": "string"}), |below, _| json!({"type": "array", "items": below}))
}

/// A list in a list in a list.
fn deep_list(levels: usize) -> Value {
    (0..levels).fold(Value::List(Vec::new()), |below, _| Value::List(vec![below]))
}

/// Drops a deep value without recursion.
fn take_apart(mut value: Value) {
    while let Value::List(mut items) = value {
        value = items.pop().unwrap_or_default();
    }
}

#[test]
fn a_schema_that_nests_too_deeply_is_refused() {
    assert!(parse(&map_of(&nested(100)), &mut Interner::new()).is_ok());
    let mut interner = Interner::new();
    assert_eq!(parse(&map_of(&nested(600)), &mut interner).unwrap_err(), ParseError::TooDeep);
}

#[test]
fn lists_of_which_the_schema_says_nothing_may_be_deep() {
    let schema = parse(
        &map_of(&json!({"type": "object", "properties": {"a": {"type": "array"}}})),
        &mut Interner::new(),
    );
    let schema = schema.unwrap();
    let mut object = Map::new();
    object.set("a", deep_list(9_000));
    let mut object = Value::Map(object);
    assert!(prune(&mut object, Some(&schema), Report::Paths).is_empty());
    assert!(validate::validate(&object, &schema, "", &Cache::default()).is_empty());
    take_apart(object.as_map_mut().unwrap().remove("a").unwrap());
}

#[test]
fn ten_thousand_properties_with_defaults_are_set_quickly() {
    let properties: serde_json::Map<String, Json> = (0..10_000)
        .map(|at| (format!("p{at}"), json!({"type": "string", "default": "x", "maxLength": 3})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["p0", "q"]});
    let schema = parse(&map_of(&schema), &mut Interner::new()).unwrap();
    let mut object = Value::Map(Map::new());
    default::default(&mut object, &schema);
    assert_eq!(object.as_map().unwrap().len(), 10_000);
    let errors = validate::validate(&object, &schema, "", &Cache::default());
    assert_eq!(errors.to_text(), "q: Required value");
}

#[test]
fn a_list_of_many_mistakes_reports_a_bounded_number() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
    let schema = parse(&map_of(&schema), &mut Interner::new()).unwrap();
    let object = json!({"a": vec![1; 50_000]});
    let errors = validate::validate(&tree(&object), &schema, "", &Cache::default());
    assert_eq!(errors.iter().count(), 10_000);
}

#[test]
fn a_set_of_many_items_is_checked_in_one_pass() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}}});
    let schema = parse(&map_of(&schema), &mut Interner::new()).unwrap();
    let mut items: Vec<i64> = (0..100_000).collect();
    items.push(5);
    let object = map_of(&json!({"a": items}));
    assert_eq!(list_types::check(&object, &schema).to_text(), "a[100000]: Duplicate value: 5");
}

/// A hundred definitions that all contain the same large template cost hardly more than one.
#[test]
fn equal_sub_schemas_are_shared() {
    let fields: serde_json::Map<String, Json> = (0..300)
        .map(|at| (format!("field{at}"), json!({"type": "object", "properties": {format!("x{}", at % 7): {"type": "string", "maxLength": at}}})))
        .collect();
    let template = json!({"type": "object", "properties": fields});
    let mut interner = Interner::new();
    let mut kept = Vec::new();
    for at in 0..100 {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "template": template, format!("own{at}"): {"type": "string"}}}}});
        kept.push(parse(&map_of(&schema), &mut interner).unwrap());
    }
    // 601 nodes of the template, the text, and two of each definition.
    assert_eq!(interner.len(), 602 + 2 * 100);
    kept.truncate(1);
    interner.sweep();
    assert_eq!(interner.len(), 602 + 2);
}

#[test]
fn a_node_stays_small() {
    assert!(size_of::<Schema>() <= 96, "{}", size_of::<Schema>());
    assert!(size_of::<Limits>() <= 288, "{}", size_of::<Limits>());
}
