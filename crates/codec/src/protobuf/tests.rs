//! Tests with handmade messages, and properties of any bytes.

use keelson_object::{Object, Value};
use keelson_schema::Schema;
use proptest::prelude::*;

use super::read::{MAX_DEPTH, MAX_ENVELOPES, read_limited};
use super::{
    Envelope, Error, Head, decode, encode, encode_object, metadata_only, read, split_frame, write,
    write_frame, write_frozen, write_object,
};
use crate::{json, stored};

fn tree(text: &str) -> Value {
    json::read(text.as_bytes()).expect("JSON").value
}

fn print(value: &Value) -> String {
    String::from_utf8_lossy(&json::to_bytes(value)).into_owned()
}

/// `kind` is `apps/v1 Deployment`.
fn schema(kind: &str) -> Schema {
    let (version, kind) = kind.split_once(' ').expect("version and kind");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    Schema::builtin(group, version, kind).expect("a built-in kind")
}

/// A field of bytes with a number below 16.
fn field(number: u8, parts: &[&[u8]]) -> Vec<u8> {
    large_field(number.into(), &parts.concat())
}

/// A field of bytes with any number.
fn large_field(number: usize, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    super::envelope::put_varint(number << 3 | 2, &mut out);
    super::envelope::put_varint(content.len(), &mut out);
    out.extend_from_slice(content);
    out
}

/// Metadata with only a name.
fn named(name: &str) -> Vec<u8> {
    field(1, &[&field(1, &[name.as_bytes()]), b"\x12\0\x1a\0\x22\0\x2a\0\x32\0\x38\0\x42\0"])
}

/// Reads a message and returns it as JSON, or the error.
#[track_caller]
fn check_read(kind: &str, message: &[u8], expected: &str) {
    let found = match read(message, schema(kind).root()) {
        Ok(value) => print(&value),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

#[track_caller]
fn check_write(kind: &str, text: &str, expected: &[u8]) {
    let written = write(&tree(text), schema(kind).root()).unwrap();
    assert_eq!(written.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

/// Checks reading and writing; `text` is in canonical form.
#[track_caller]
fn check(kind: &str, text: &str, message: &[u8]) {
    check_write(kind, text, message);
    check_read(kind, message, text);
}

#[test]
fn maps_are_sorted_and_bytes_are_bytes() {
    let message = [
        named("a"),
        field(2, &[b"\x0a\x01k\x12\x01v"]),
        field(2, &[b"\x0a\x01l\x12\0"]),
        field(3, &[b"\x0a\x01x\x12\x02\x01\x02"]),
        field(3, &[b"\x0a\x01y\x12\0"]),
        b"\x20\x01".to_vec(),
    ]
    .concat();
    let text = r#"{"metadata":{"name":"a"},"immutable":true,"data":{"k":"v","l":""},"binaryData":{"x":"AQI=","y":""}}"#;
    check("v1 ConfigMap", text, &message);
    let unsorted = r#"{"binaryData":{"y":"","x":"AQI="},"immutable":true,"data":{"l":"","k":"v"},"metadata":{"name":"a"}}"#;
    check_write("v1 ConfigMap", unsorted, &message);
}

#[test]
fn of_equal_keys_the_last_counts() {
    let entry = |key: &[u8], value: &[u8]| field(2, &[&field(1, &[key]), &field(2, &[value])]);
    let message = [entry(b"k", b"1"), entry(b"b", b"2"), entry(b"k", b"3"), field(2, &[])].concat();
    check_read("v1 ConfigMap", &message, r#"{"metadata":{},"data":{"":"","b":"2","k":"3"}}"#);
}

#[test]
fn what_is_not_set_is_written_by_its_type() {
    let zero = b"\x0a\0\x12\0\x1a\0\x22\0\x2a\0\x32\0\x38\0\x42\0";
    check_write("apps/v1 ControllerRevision", "{}", &[&field(1, &[zero])[..], b"\x12\0\x18\0"].concat());
    check_read("apps/v1 ControllerRevision", b"", r#"{"metadata":{},"data":null,"revision":0}"#);
    check("v1 DeleteOptions", "{}", b"");
    check("v1 DeleteOptions", r#"{"gracePeriodSeconds":0,"orphanDependents":false}"#, b"\x08\0\x18\0");
}

#[test]
fn a_message_may_come_in_parts() {
    let spec = |content: &[u8]| field(2, &[content]);
    let labels = |content: &[u8]| spec(&field(2, &[&field(1, &[content])]));
    let message = [
        spec(b"\x08\x01"),
        labels(b"\x0a\x01a\x12\x011"),
        spec(b"\x08\x05"),
        labels(b"\x0a\x01b\x12\x012"),
        field(1, &[b"\x72\x01f"]),
        field(1, &[b"\x72\x01g\x0a\x01n"]),
    ]
    .concat();
    let text = r#"{"metadata":{"name":"n","finalizers":["f","g"]},"spec":{"replicas":5,"selector":{"matchLabels":{"a":"1","b":"2"}},"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}"#;
    check_read("apps/v1 Deployment", &message, text);
}

#[test]
fn of_a_scalar_the_last_counts_even_if_it_is_zero() {
    check_read("v1 ConfigMap", &field(1, &[b"\x0a\x01n\x0a\0"]), r#"{"metadata":{}}"#);
    check_read("v1 ConfigMap", &field(1, &[b"\x0a\x01n\x0a\0\x0a\x01m"]), r#"{"metadata":{"name":"m"}}"#);
    let generations = field(1, &[b"\x38\x07\x0a\x01n\x38\0"]);
    check_read("v1 ConfigMap", &generations, r#"{"metadata":{"name":"n"}}"#);
    let error = read(&field(1, &[b"\x08\0"]), schema("v1 ConfigMap").root()).unwrap_err();
    assert_eq!(error.to_string(), "proto: wrong wireType = 0 for field Name");
}

#[test]
fn parts_within_parts_are_read_in_reasonable_time() {
    let kind = schema("apiextensions.k8s.io/v1 CustomResourceDefinition");
    // Reading a part twice on every level would never end.
    let both = |inner: &[u8]| [large_field(28, inner), large_field(28, b"\x12\x01y")].concat();
    let nest = nest(200, b"\x2a\x01x", both);
    let message = field(2, &[&field(7, &[&field(4, &[&field(1, &[&nest])])])]);
    let text = print(&read(&message, kind.root()).unwrap());
    assert_eq!(text.matches(r#""not":{"$schema":"y""#).count(), 200, "{text}");
    assert!(text.contains(r#"{"$schema":"y","type":"x"}"#), "{text}");
}

#[test]
fn scalars_that_are_messages() {
    let port = |target: &[u8]| {
        field(2, &[&field(1, &[b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", &field(4, &[target])])])
    };
    let check_port = |target: &[u8], expected: &str| {
        let text =
            r#"{"metadata":{},"spec":{"ports":[{"port":-1,"targetPort":%}]},"status":{"loadBalancer":{}}}"#;
        check_read("v1 Service", &port(target), &text.replace('%', expected));
    };
    check_port(b"", "0");
    check_port(b"\x08\0\x10\x50\x1a\0", "80");
    check_port(b"\x08\x01\x10\x50\x1a\x03web", "\"web\"");
    check_read("v1 Service", &port(b"\x08\x02"), "impossible IntOrString.Type");

    let check_time = |metadata: &[u8], expected: &str| {
        let text = format!(r#"{{"metadata":{expected}}}"#);
        check_read("meta.k8s.io/v1 PartialObjectMetadata", &field(1, &[metadata]), &text);
    };
    check_time(b"\x42\0", "{}");
    check_time(b"\x4a\0", "{}");
    check_time(b"\x42\x04\x08\x01\x10\x07", r#"{"creationTimestamp":"1970-01-01T00:00:01Z"}"#);
    check_time(b"\x4a\x02\x10\0", r#"{"deletionTimestamp":"1970-01-01T00:00:00Z"}"#);
    let times = b"\x1a\x05\x08\x01\x10\x88\x27\x22\x11\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x98\x8c\xeb\xdc\x03";
    check(
        "coordination.k8s.io/v1 Lease",
        r#"{"metadata":{"name":"a"},"spec":{"acquireTime":"1970-01-01T00:00:01.000005Z","renewTime":"1969-12-31T23:59:59.999999Z"}}"#,
        &[named("a"), field(2, &[times])].concat(),
    );

    let quota =
        |text: &[u8]| field(2, &[&field(1, &[&field(1, &[b"cpu"]), &field(2, &[&field(1, &[text])])])]);
    let hard = r#"{"metadata":{},"spec":{"hard":{"cpu":"500m"}},"status":{}}"#;
    check_read("v1 ResourceQuota", &quota(b"0.5"), hard);
    check_read(
        "v1 ResourceQuota",
        &quota(b"x"),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
}

#[test]
fn wrapped_lists_are_there_even_if_they_are_empty() {
    let resource =
        |verbs: &[u8]| field(2, &[b"\x0a\x01n\x10\0\x1a\x01K", verbs, b"\x32\0\x42\0\x4a\0\x52\0"]);
    let check_verbs = |verbs: &[u8], expected: &str| {
        let text = r#"{"groupVersion":"v1","resources":[{"name":"n","singularName":"","namespaced":false,"kind":"K","verbs":%}]}"#;
        check(
            "v1 APIResourceList",
            &text.replace('%', expected),
            &[b"\x0a\x02v1", &resource(verbs)[..]].concat(),
        );
    };
    check_verbs(b"", "null");
    check_verbs(b"\x22\0", "[]");
    check_verbs(b"\x22\x08\x0a\x03get\x0a\x01x", r#"["get","x"]"#);
}

#[test]
fn numbers_of_a_list_may_be_packed() {
    // spec.securityContext.supplementalGroups is field 4 of field 14 of field 2.
    let pod = |groups: &[u8]| field(2, &[&field(14, &[groups])]);
    let text = |groups: &str| {
        format!(
            r#"{{"metadata":{{}},"spec":{{"containers":null,"securityContext":{{"supplementalGroups":[{groups}]}}}},"status":{{}}}}"#
        )
    };
    check_read("v1 Pod", &pod(b"\x20\x01\x20\x96\x01"), &text("1,150"));
    check_read("v1 Pod", &pod(b"\x22\x03\x01\x96\x01"), &text("1,150"));
    check_read("v1 Pod", &pod(b"\x20\x01\x22\x02\x96\x01\x20\x07"), &text("1,150,7"));
    check_read("v1 Pod", &pod(b"\x22\x02\x01\x96"), "unexpected EOF");
    check_read(
        "v1 Pod",
        &pod(b"\x21\0\0\0\0\0\0\0\0"),
        "proto: wrong wireType = 1 for field SupplementalGroups",
    );
}

#[test]
fn a_schema_may_be_something_simpler() {
    let text = r#"{"metadata":{"name":"a"},"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":[{"name":"","served":false,"storage":false,"schema":{"openAPIV3Schema":%}}]},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}"#;
    let kind = schema("apiextensions.k8s.io/v1 CustomResourceDefinition");
    let check = |inner: &str| {
        let text = text.replace('%', inner);
        let message = write(&tree(&text), kind.root()).unwrap();
        assert_eq!(print(&read(&message, kind.root()).unwrap()), text);
    };
    check(r#"{"items":{"type":"x"}}"#);
    check(r#"{"items":[{"type":"x"},{}]}"#);
    check(r#"{"additionalProperties":true,"additionalItems":false}"#);
    check(r#"{"additionalProperties":{"type":"x"}}"#);
    check(r#"{"dependencies":{"a":{"type":"x"},"b":["c","d"],"e":null}}"#);
    check(r#"{"default":{"b":[1,null,2.5],"a":"x"},"maximum":1.5,"minimum":-3,"enum":[null,"a",1]}"#);
    check(r#"{"x-kubernetes-preserve-unknown-fields":false,"x-kubernetes-list-type":""}"#);
}

#[test]
fn unknown_fields_are_skipped_and_broken_ones_are_not() {
    let known = named("a");
    let check_after = |more: &[u8], expected: &str| {
        check_read("v1 ConfigMap", &[&known[..], more].concat(), expected);
    };
    let whole = r#"{"metadata":{"name":"a"}}"#;
    check_after(b"\xf8\x07\x01", whole);
    check_after(b"\x6b\x73\x08\x01\x74\x6c", whole);
    check_after(b"\x7d\0\0\0\0\x79\0\0\0\0\0\0\0\0\x7a\x02hi", whole);
    check_after(b"\x12\x05\x0a\x01k\x18\x07", r#"{"metadata":{"name":"a"},"data":{"k":""}}"#);
    check_after(b"\x7a\x03hi", "unexpected EOF");
    check_after(b"\x6b", "unexpected EOF");
    check_after(b"\x6c", "proto: ConfigMap: wiretype end group for non-group");
    check_after(b"\x6f", "proto: illegal wireType 7");
    check_after(b"\x0a\x03\x0a\x01", "unexpected EOF");
    check_after(b"\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field Name");
    check_after(b"\x22\0", "proto: wrong wireType = 2 for field Immutable");
    check_after(b"\x12\x02\x0f\0", "proto: illegal wireType 7");
    check_after(
        b"\x12\x07\x0a\x01k\x12\x02\xc3\xff",
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\u{fffd}\u{fffd}\"}}",
    );
}

/// `inner`, nested `depth` times: `wrap` puts one message around another.
fn nest(depth: usize, inner: &[u8], wrap: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    (0..depth).fold(inner.to_vec(), |message, _| wrap(&message))
}

#[test]
fn nesting_is_limited() {
    let kind = schema("apiextensions.k8s.io/v1 CustomResourceDefinition");
    // The object, its spec, a version, its validation and the outermost schema are around the nest.
    let definition = |schema: &[u8]| field(2, &[&field(7, &[&field(4, &[&field(1, &[schema])])])]);
    let check = |wrap: &dyn Fn(&[u8]) -> Vec<u8>| {
        let deepest = read(&definition(&nest(MAX_DEPTH - 5, b"\x2a\x01x", wrap)), kind.root()).unwrap();
        assert!(write(&deepest, kind.root()).is_ok());
        let deeper = read(&definition(&nest(MAX_DEPTH - 4, b"\x2a\x01x", wrap)), kind.root());
        assert_eq!(deeper, Err(Error::TooDeep));
    };
    // `not` has the number 28, `properties` 29, `items` 24.
    check(&|inner| large_field(28, inner));
    check(&|inner| large_field(29, &[b"\x0a\x01p".to_vec(), field(2, &[inner])].concat()));
    check(&|inner| large_field(24, &field(1, &[inner])));

    let list = Head::new("meta.k8s.io/v1", "List");
    let wrap = |inner: &[u8]| field(2, &[&field(1, &[&list.wrap(inner)])]);
    assert!(read(&nest(MAX_ENVELOPES, b"", wrap), schema("meta.k8s.io/v1 List").root()).is_ok());
    let deeper = read(&nest(MAX_ENVELOPES + 1, b"", wrap), schema("meta.k8s.io/v1 List").root());
    assert_eq!(deeper, Err(Error::TooDeep));
}

#[test]
fn the_number_of_values_is_limited() {
    let pods = b"\x12\0".repeat(100);
    assert!(read(&pods, schema("v1 PodList").root()).is_ok());
    let limited = read_limited(&pods, schema("v1 PodList").root(), 100);
    assert_eq!(limited, Err(Error::TooMany { limit: 100 }));
}

#[test]
fn envelopes_say_what_is_in_them() {
    let check = |data: &[u8], expected: &str| {
        let found = match decode(data) {
            Ok(value) => print(&value),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{}", data.escape_ascii());
    };
    check(b"", "empty data");
    check(b"k8s\0", "empty body");
    let no_prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    check(b"{\"kind\":\"Pod\"}", no_prefix);
    check(b"k8s", no_prefix);
    check(b"k8s\0\x0a\x02", "unexpected EOF");
    check(b"k8s\0\x08\x02", "proto: wrong wireType = 0 for field TypeMeta");
    check(b"k8s\0\x1a\0", r#"Object 'Kind' is missing in 'runtime.TypeMeta{APIVersion:"", Kind:""}'"#);
    check(
        b"k8s\0\x0a\x05\x12\x03Pod",
        r#"Object 'apiVersion' is missing in 'runtime.TypeMeta{APIVersion:"", Kind:"Pod"}'"#,
    );
    check(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pad", r#"no kind "Pad" is registered for version "v1""#);
    check(
        b"k8s\0\x0a\x10\x0a\x02v1\x12\x0aGetOptions\x12\x04\x0a\x0217\x1a\0\x22\x01x",
        r#"{"kind":"GetOptions","apiVersion":"v1","resourceVersion":"17"}"#,
    );
    let table = encode(&tree("{}"), "meta.k8s.io/v1", "Table").unwrap_err().to_string();
    let expected = "object *v1.Table does not implement the protobuf marshalling interface and cannot be encoded to a \
                    protobuf message";
    assert_eq!(table, expected);
}

#[test]
fn the_path_says_what_the_envelope_does_not() {
    let check = |type_meta: &[u8], expected: (&str, &str)| {
        let data = [b"k8s\0".to_vec(), field(1, &[type_meta])].concat();
        let envelope = Envelope::read(&data).unwrap().or("apps/v1", "Deployment");
        assert_eq!((envelope.api_version.as_str(), envelope.kind.as_str()), expected);
    };
    check(b"", ("apps/v1", "Deployment"));
    check(b"\x12\x03Pod", ("apps/v1", "Pod"));
    check(b"\x0a\x02v1", ("v1", "Deployment"));
    check(b"\x0a\x05a/b/c", ("apps/v1", "Deployment"));
    check(b"\x0a\x02v1\x12\x03Pod", ("v1", "Pod"));
}

#[test]
fn one_message_serves_every_answer() {
    let text = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"1"}},"data":{"k":"v"}}"#;
    let frozen = stored::decode(&text.into(), 7, &[]).unwrap();
    let object = stored::thaw(&frozen, "v1", "ConfigMap").unwrap();
    let kind = schema("v1 ConfigMap");
    let message = write_frozen(&frozen, kind.root()).unwrap();
    assert_eq!(message, write_object(&object, kind.root()).unwrap());
    let whole = object.clone().into_value();

    let head = Head::new("v1", "ConfigMap");
    assert_eq!(head.wrap(&message), encode_object(&object).unwrap());
    assert_eq!(head.size(message.len()), head.wrap(&message).len());
    assert_eq!(print(&decode(&head.wrap(&message)).unwrap()), print(&whole));

    let partial = Head::new("meta.k8s.io/v1", "PartialObjectMetadata");
    let value = decode(&partial.wrap(metadata_only(&message).unwrap())).unwrap();
    let partial = Object::from_value(value).unwrap();
    assert_eq!((partial.kind.as_str(), partial.meta), ("PartialObjectMetadata", object.meta));
    assert_eq!(metadata_only(b""), None);
    assert_eq!(metadata_only(b"\x12\0"), None);
    assert_eq!(metadata_only(b"\x0a\x05"), None);
}

#[test]
fn events_travel_in_frames() {
    let status = tree(r#"{"metadata":{},"status":"Failure","code":410}"#);
    let message = write(&status, schema("v1 Status").root()).unwrap();
    let mut stream = Vec::new();
    write_frame("ERROR", &Head::new("v1", "Status"), &message, &mut stream);
    write_frame("ADDED", &Head::new("v1", "Pod"), b"", &mut stream);

    let event = schema("v1 WatchEvent");
    let mut events = Vec::new();
    let mut rest = &stream[..];
    while let Some((frame, after)) = split_frame(rest) {
        events.push(print(&read(frame, event.root()).unwrap()));
        rest = after;
    }
    assert!(rest.is_empty());
    let expected = [
        r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":410}}"#,
        r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null},"status":{}}}"#,
    ];
    assert_eq!(events, expected);
    assert_eq!(split_frame(&stream[..20]), None);
    assert_eq!(split_frame(&[0, 0]), None);
}

#[test]
fn a_tree_of_another_kind_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = write(&tree(text), schema("v1 Pod").root()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    };
    check("[]", "array where v1.Pod is expected");
    check(r#"{"spec":1}"#, "number where v1.PodSpec is expected");
    check(r#"{"spec":{"containers":{}}}"#, "object where []v1.Container is expected");
    check(r#"{"spec":{"containers":[[]]}}"#, "array where v1.Container is expected");
    check(r#"{"spec":{"nodeSelector":[]}}"#, "array where map[string]string is expected");
    check(r#"{"spec":{"nodeName":7}}"#, "number where string is expected");
    check(r#"{"spec":{"priority":5000000000}}"#, "number where int32 is expected");
    check(r#"{"spec":{"overhead":{"cpu":true}}}"#, "bool where resource.Quantity is expected");
    check(
        r#"{"metadata":{"creationTimestamp":"now"}}"#,
        r#"parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006""#,
    );
}

/// Bytes that look like fields more often than random ones.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..24),
        (1_u8..16, any::<u16>()).prop_map(|(number, value)| {
            let mut out = vec![number << 3];
            super::envelope::put_varint(value.into(), &mut out);
            out
        }),
        (1_u8..16, "[a-z0-9]{0,8}").prop_map(|(number, text)| field(number, &[text.as_bytes()])),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        (1_u8..16, proptest::collection::vec(inner, 0..6))
            .prop_map(|(number, parts)| field(number, &[&parts.concat()]))
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(parts in proptest::collection::vec(any_message(), 0..8)) {
        let data = parts.concat();
        let _ = decode(&data);
        let _ = decode(&[b"k8s\0", &data[..]].concat());
        for kind in [
            "v1 Pod", "v1 Service", "v1 Event", "apps/v1 Deployment", "v1 WatchEvent",
            "apiextensions.k8s.io/v1 CustomResourceDefinition", "admission.k8s.io/v1 AdmissionReview",
            "authorization.k8s.io/v1 SubjectAccessReview", "v1 APIResourceList",
        ] {
            let kind = schema(kind);
            // The result of reading is in canonical form: it can be written, and is read back unchanged.
            if let Ok(value) = read(&data, kind.root()) {
                let once = write(&value, kind.root()).unwrap();
                let again = read(&once, kind.root()).unwrap();
                prop_assert_eq!(print(&again), print(&value));
                let mut conformed = value.clone();
                kind.conform(&mut conformed).unwrap();
                prop_assert_eq!(print(&conformed), print(&value));
            }
        }
    }
}
