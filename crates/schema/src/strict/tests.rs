//! Tests of strict decoding: unknown and duplicate fields.

use keelson_codec::json;
use keelson_object::Value;

use crate::Schema;
use crate::types::{Shape, Type};

/// What `text` folds to, and what a strict reader complains of in it.
#[track_caller]
fn check(text: &str, folded: &str, complaints: &[&str]) {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let value = json::read_every_pair(text.as_bytes()).unwrap();
    let (value, found) = schema.fold(value).unwrap();
    assert_eq!(value, json::read(folded.as_bytes()).unwrap().value, "{text}");
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, complaints, "{text}");
}

#[test]
fn complaints_stand_in_the_order_of_the_document() {
    check(
        r#"{"spec":{"replicas":1,"wrong":1,"replicas":2},"top":1,"kind":"x","spec":{"paused":true,"other":1}}"#,
        r#"{"spec":{"replicas":2,"paused":true},"kind":"x"}"#,
        &[
            "unknown field \"spec.wrong\"",
            "duplicate field \"spec.replicas\"",
            "unknown field \"top\"",
            "duplicate field \"spec\"",
            "unknown field \"spec.other\"",
        ],
    );
}

#[test]
fn what_is_unknown_is_not_looked_into() {
    check(
        r#"{"x":{"a":1,"a":2},"x":1,"metadata":{"labels":{"a":"1","a":"2"}}}"#,
        r#"{"metadata":{"labels":{"a":"2"}}}"#,
        &["unknown field \"x\"", "duplicate field \"metadata.labels.a\""],
    );
    check(
        r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:a":{}}}]}}"#,
        r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}]}}"#,
        &[],
    );
}

#[test]
fn a_second_value_is_decoded_into_the_first() {
    check(
        r#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"labels":{"y":"2"}}}"#,
        r#"{"metadata":{"name":"a","labels":{"x":"1","y":"2"}}}"#,
        &["duplicate field \"metadata\""],
    );
    check(
        r#"{"spec":{"replicas":1},"spec":null}"#,
        r#"{"spec":{"replicas":1}}"#,
        &["duplicate field \"spec\""],
    );
}

#[test]
fn any_json_is_looked_into() {
    let value = json::read_every_pair(br#"[{"a":[{"b":1,"b":2}],"a":1}]"#).unwrap();
    let found = Type::of(Shape::Any).complaints(value).unwrap();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["duplicate field \"[0].a[0].b\"", "duplicate field \"[0].a\""]);
}

#[test]
fn at_most_a_hundred_are_reported_and_deep_trees_are_given_up() {
    let many: Vec<String> = (0..300).map(|at| format!("\"x{at}\":1")).collect();
    let value = json::read_every_pair(format!("{{{}}}", many.join(",")).as_bytes()).unwrap();
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    assert_eq!(schema.fold(value).unwrap().1.len(), 100);
    let deep = (0..600).fold(Value::Null, |value, _| Value::List(vec![value]));
    assert_eq!(Type::of(Shape::Any).complaints(deep), None);
}
