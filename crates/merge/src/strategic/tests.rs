//! What strategic merge does to a pod template, case by case.

use super::merge;
use keelson_codec::json;
use keelson_object::Value;
use keelson_schema::Schema;

fn read(text: &str) -> Value {
    json::read(text.as_bytes()).unwrap().value
}

/// All three are the `spec` of a pod.
#[track_caller]
fn check(target: &str, patch: &str, expected: &str) {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let wrap = |spec: &str| read(&format!(r#"{{"spec":{spec}}}"#));
    let mut value = wrap(target);
    merge(&mut value, wrap(patch), &schema).unwrap();
    let mut text = Vec::new();
    json::write(&value, &mut text);
    assert_eq!(String::from_utf8(text).unwrap(), format!(r#"{{"spec":{expected}}}"#));
}

#[track_caller]
fn refused(patch: &str, expected: &str) {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let mut value = read(r#"{"spec":{"containers":[{"name":"a"}]}}"#);
    assert_eq!(merge(&mut value, read(patch), &schema).unwrap_err().to_string(), expected);
}

#[test]
fn items_are_merged_by_their_key() {
    check(
        r#"{"containers":[{"name":"web","image":"a"},{"name":"log"}]}"#,
        r#"{"containers":[{"name":"web","image":"b"},{"name":"new","image":"c"}]}"#,
        r#"{"containers":[{"name":"web","image":"b"},{"name":"new","image":"c"},{"name":"log"}]}"#,
    );
}

#[test]
fn an_item_is_deleted_by_directive() {
    check(
        r#"{"containers":[{"name":"web"},{"name":"log"}]}"#,
        r#"{"containers":[{"name":"log","$patch":"delete"}]}"#,
        r#"{"containers":[{"name":"web"}]}"#,
    );
}

#[test]
fn a_list_is_replaced_by_directive() {
    check(
        r#"{"containers":[{"name":"web"},{"name":"log"}]}"#,
        r#"{"containers":[{"name":"one"},{"$patch":"replace"}]}"#,
        r#"{"containers":[{"name":"one"}]}"#,
    );
}

#[test]
fn a_map_is_replaced_by_directive() {
    check(
        r#"{"nodeSelector":{"a":"1","b":"2"}}"#,
        r#"{"nodeSelector":{"$patch":"replace","c":"3"}}"#,
        r#"{"nodeSelector":{"c":"3"}}"#,
    );
}

#[test]
fn lists_that_are_not_merged_are_replaced() {
    check(
        r#"{"tolerations":[{"key":"a"}],"containers":[{"name":"w","args":["1","2"]}]}"#,
        r#"{"tolerations":[{"key":"b"}],"containers":[{"name":"w","args":["3"]}]}"#,
        r#"{"tolerations":[{"key":"b"}],"containers":[{"name":"w","args":["3"]}]}"#,
    );
}

#[test]
fn null_removes_and_what_is_new_has_no_nulls() {
    check(r#"{"hostname":"a","subdomain":"b"}"#, r#"{"hostname":null}"#, r#"{"subdomain":"b"}"#);
    check(
        r#"{}"#,
        r#"{"securityContext":{"runAsUser":1,"runAsGroup":null}}"#,
        r#"{"securityContext":{"runAsUser":1}}"#,
    );
}

#[test]
fn retain_keys_drops_the_others() {
    check(
        r#"{"volumes":[{"name":"v","emptyDir":{}}]}"#,
        r#"{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/x"}}]}"#,
        r#"{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}"#,
    );
}

#[test]
fn an_order_is_followed_and_strangers_keep_their_place() {
    check(
        r#"{"containers":[{"name":"a"},{"name":"x"},{"name":"b"}]}"#,
        r#"{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b","image":"i"}]}"#,
        r#"{"containers":[{"name":"x"},{"name":"b","image":"i"},{"name":"a"}]}"#,
    );
}

#[test]
fn scalars_are_sets_where_the_schema_says_so() {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let mut value = read(r#"{"metadata":{"finalizers":["a","b"]}}"#);
    let patch = r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["c","b"],"finalizers":["c"]}}"#;
    merge(&mut value, read(patch), &schema).unwrap();
    assert_eq!(value, read(r#"{"metadata":{"finalizers":["c","b"]}}"#));
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(r#"{"spec":{"$patch":"dance"}}"#, "unknown patch type: dance in map: map[$patch:dance]");
    refused(
        r#"{"spec":{"containers":[{"image":"x"}]}}"#,
        "map: map[image:x] does not contain declared merge key: name",
    );
    refused("[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}");
}
