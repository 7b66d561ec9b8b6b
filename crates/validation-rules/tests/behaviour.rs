//! Validation rules as the rest of the server uses them: what the golden data does not show.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../cel/tests/common/values.rs"]
mod values;

use std::sync::Arc;

use keelson_cel::Env;
use keelson_object::{FieldErrors, Path};
use keelson_structural::{Interner, Schema};
use keelson_validation_rules::definition::{self, Definition, Found, KnownExpressions, Limits};
use keelson_validation_rules::{Check, Rules, Scope, blocking_error};
use serde_json::{Value as Json, json};

use values::tree;

fn parsed(schema: &Json) -> Arc<Schema> {
    keelson_structural::parse(tree(schema).as_map().unwrap(), &mut Interner::new()).unwrap()
}

fn define(schema: &Json, old: Option<&Json>, new: Env) -> Found {
    let known = KnownExpressions::of(&old.map(parsed));
    let schema = parsed(schema);
    let definition = Definition {
        schema: &schema,
        schema_errors: &FieldErrors::default(),
        known: &known,
        limits: Limits::All,
        new,
    };
    definition::check(&definition, &Path::root("schema"))
}

fn with_rule(rule: &str) -> Json {
    json!({"type": "object", "properties": {"a": {"type": "array", "maxItems": 5, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": rule}]}}})
}

#[test]
fn new_expressions_may_use_less_than_stored_ones() {
    let schema = with_rule("self.sort() == self");
    let old = Env::for_version(33);
    let refused = define(&schema, None, old.clone()).errors.to_text();
    assert!(refused.contains("undeclared reference to 'sort'"), "{refused}");
    assert_eq!(define(&schema, None, Env::for_version(34)).errors.to_text(), "");
    assert_eq!(define(&schema, Some(&schema), old).errors.to_text(), "");
}

#[test]
fn a_schema_without_rules_needs_no_validator() {
    assert!(Rules::new(&parsed(&json!({"type": "object"})), Scope::Resource).is_none());
    let only_in_all_of =
        json!({"type": "object", "allOf": [{"x-kubernetes-validations": [{"rule": "false"}]}]});
    assert!(Rules::new(&parsed(&only_in_all_of), Scope::Resource).is_none());
}

#[test]
fn rules_wait_until_an_object_is_valid_enough() {
    let mut errors = FieldErrors::default();
    assert_eq!(blocking_error(&errors), None);
    errors.invalid(&Path::root("spec"), 1, "too small");
    errors.duplicate(&Path::root("spec"), "a");
    assert_eq!(blocking_error(&errors), None);
    errors.required(&Path::root("spec"), "");
    assert_eq!(
        blocking_error(&errors).unwrap().to_string(),
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct \
         the existing errors to complete validation"
    );
}

#[test]
fn an_evaluation_can_be_interrupted() {
    let rules = Rules::new(&parsed(&with_rule("lists.range(1000).all(x, x >= 0)")), Scope::Resource).unwrap();
    let object = tree(&json!({"a": [1]}));
    let check = Check { interrupt: Some(&|| true), ..Check::create(&object) };
    let errors = rules.validate(&Path::empty(), check).errors.to_text();
    let expected = "a: Invalid value: \"array\": operation interrupted evaluating rule: lists.range(1000).all(x, x >= 0)";
    assert_eq!(errors, expected);
    assert!(rules.validate(&Path::empty(), Check::create(&object)).errors.is_empty());
}

#[test]
fn threads_share_rules() {
    let rules = Rules::new(&parsed(&with_rule("self.all(x, x > 1)")), Scope::Resource).unwrap();
    let object = tree(&json!({"a": [1]}));
    let validate = || rules.validate(&Path::empty(), Check::create(&object)).errors.to_text();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(validate)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), "a: Invalid value: failed rule: self.all(x, x > 1)");
        }
    });
}

#[test]
fn equal_costs_are_named_in_the_order_of_the_schema() {
    let dear = json!({"type": "array", "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]});
    let schema =
        json!({"type": "object", "properties": {"a": dear, "b": dear, "c": dear, "d": dear, "e": dear}});
    let found = define(&schema, None, Env::stored());
    let named: Vec<&str> = found
        .errors
        .iter()
        .filter(|error| error.detail.starts_with("contributed to"))
        .map(|error| error.field.as_str())
        .collect();
    let expected =
        ["a", "b", "c", "d"].map(|it| format!("schema.properties[{it}].x-kubernetes-validations[0].rule"));
    assert_eq!(named, expected);
    assert_eq!(found.errors.iter().count(), 5 + 4 + 1);
}
