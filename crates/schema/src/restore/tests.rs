//! Tests of the checks after a strategic merge patch.

use keelson_codec::json;

use crate::Schema;

#[track_caller]
fn check(text: &str, expected: &str) {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let tree = json::read(text.as_bytes()).unwrap().value;
    assert_eq!(schema.misfit(&tree).unwrap_or_default(), expected, "{text}");
}

#[test]
fn wrong_types_are_named_as_the_converter_does() {
    check(r#"{"metadata":{"labels":"x"}}"#, "cannot restore map from string");
    check(r#"{"metadata":"x"}"#, "cannot restore struct from: string");
    check(r#"{"spec":[1]}"#, "cannot restore struct from: slice");
    check(r#"{"spec":{"replicas":"x"}}"#, "unrecognized type: int32");
    check(r#"{"spec":{"replicas":1.5}}"#, "cannot convert float64 to int32");
    check(r#"{"spec":{"paused":1}}"#, "unrecognized type: bool");
    check(r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#, "cannot restore slice from map");
    check(
        r#"{"spec":{"template":{"spec":{"restartPolicy":1}}}}"#,
        "cannot convert int64 to v1.RestartPolicy",
    );
    check(r#"{"spec":{"template":{"spec":{"restartPolicy":true}}}}"#, "unrecognized type: string");
    check(r#"{"spec":{"replicas":2.0},"metadata":{"labels":{"a":null}}}"#, "");
}

#[test]
fn the_first_field_of_the_kind_is_reported() {
    check(r#"{"spec":{"paused":1,"replicas":"x"},"metadata":{"name":1}}"#, "cannot convert int64 to string");
    check(r#"{"spec":{"paused":1,"replicas":"x"}}"#, "unrecognized type: int32");
}

#[test]
fn types_that_decode_themselves_say_what_is_wrong() {
    check(
        r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1.5}}}}"#,
        "json: cannot unmarshal number 1.5 into Go value of type int32",
    );
    check(
        r#"{"metadata":{"creationTimestamp":5}}"#,
        "json: cannot unmarshal number into Go value of type string",
    );
}
