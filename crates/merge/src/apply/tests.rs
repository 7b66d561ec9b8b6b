//! What cases of whole objects do not reach.

use keelson_codec::json;
use keelson_object::Value;
use keelson_schema::Schema;

use super::element::Element;
use super::{FieldSet, Filter, extract, manager_of_user_agent};

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).unwrap().value
}

fn set(text: &str) -> FieldSet {
    FieldSet::from_value(&read(text)).unwrap()
}

fn write(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).unwrap()
}

#[test]
fn a_manager_without_a_name_is_what_its_user_agent_begins_with() {
    let check = |user_agent: &str, expected: &str| assert_eq!(manager_of_user_agent(user_agent), expected);
    check("kubectl/v1.36.4 (linux/amd64) kubernetes/abc", "kubectl");
    check("", "");
    check("/x", "");
    check("a\u{1}b\nc d/1", "abc d");
    check("quote\"back\\slash/1", "quote\"back\\slash");
    check("grün ☃/1", "grün ☃");
    check(&"x".repeat(200), &"x".repeat(128));
    check(&format!("{}☃☃", "x".repeat(127)), &"x".repeat(127));
}

#[test]
fn only_what_is_below_a_pattern_is_included() {
    let field = |name: &str| Some(Element::Field(name.into()));
    let filter = Filter::Include(vec![
        vec![field("spec"), field("containers"), None, field("resources")],
        vec![field("status")],
    ]);
    let check =
        |given: &str, expected: &str| assert_eq!(write(&filter.filter(&set(given)).to_value()), expected);
    check("{}", "{}");
    check(r#"{"f:metadata":{"f:labels":{}},"f:status":{"f:phase":{}}}"#, r#"{"f:status":{"f:phase":{}}}"#);
    check(
        r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{},"f:resources":{"f:limits":{}}}}}}"#,
        r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:limits":{}}}}}}"#,
    );
    check(r#"{"f:spec":{"f:nodeName":{}}}"#, "{}");
}

#[test]
fn what_a_manager_owns_can_be_taken_out_of_an_object() {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let pod = read(
        r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"nodeName":"n","tolerations":[{"key":"a"}],
            "containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}}"#,
    );
    let check = |fields: &str, expected: &str| {
        assert_eq!(write(&extract(Some(&schema), &pod, &set(fields))), expected);
    };
    check(r#"{"f:spec":{"f:nodeName":{}}}"#, r#"{"spec":{"nodeName":"n"}}"#);
    check(r#"{"f:metadata":{"f:labels":{"f:b":{}}}}"#, r#"{"metadata":{"labels":{"b":"2"}}}"#);
    check(
        r#"{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}},"f:tolerations":{}}}"#,
        r#"{"spec":{"tolerations":[{"key":"a"}],"containers":[{"name":"b"}]}}"#,
    );
    check(r#"{"f:status":{}}"#, "null");
}
