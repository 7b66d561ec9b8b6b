//! Tests of stored bytes to frozen objects and back.

use bytes::Bytes;
use keelson_object::meta::StringMap;
use keelson_object::scalar::Time;
use keelson_object::{Frozen, Map, Object, ObjectMeta, OwnerReference, SelectableField, Value};
use proptest::prelude::*;

use super::{StoredError, decode, encode, head, thaw, thaw_without_managers};
use crate::json;
use crate::json::properties::{any_map, any_text, any_value};

fn frozen(stored: &str, fields: &[SelectableField]) -> Frozen {
    decode(&Bytes::copy_from_slice(stored.as_bytes()), 7, fields)
        .unwrap_or_else(|error| panic!("{stored}: {error}"))
}

/// Freezes `stored` at revision 7, and checks the result and its metadata.
fn check(stored: &str, expected: &str, metadata: &str) {
    let frozen = frozen(stored, &[]);
    assert_eq!(frozen.json(), expected, "{stored}");
    assert_eq!(String::from_utf8_lossy(frozen.metadata_json()), metadata, "{stored}");
    assert_eq!(frozen.revision(), 7);
}

#[test]
fn the_head_goes_and_the_resource_version_comes() {
    check(
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","uid":"c","labels":{"x":"y"}},"spec":{"n":1}}"#,
        r#""metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7","labels":{"x":"y"}},"spec":{"n":1}}"#,
        r#"{"name":"a","namespace":"b","uid":"c","resourceVersion":"7","labels":{"x":"y"}}"#,
    );
}

#[test]
fn managers_can_be_left_out() {
    let check = |metadata: &str| {
        let stored =
            format!("{{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{metadata},\"spec\":{{\"a\":1}}}}");
        let frozen = frozen(&stored, &[]);
        let mut expected = thaw(&frozen, "v1", "K").unwrap();
        expected.meta.managed_fields.clear();
        assert_eq!(thaw_without_managers(&frozen, "v1", "K"), Ok(expected), "{metadata}");
    };
    check(r#"{"name":"a"}"#);
    check(r#"{"name":"a","managedFields":[{"manager":"m]}","fieldsV1":{"f:x":{"k:{\"b\":1}":{}}}}]}"#);
    check(r#"{"name":"a","managedFields":[{"manager":"m"}],"finalizers":["f"]}"#);
    check(r#"{"managedFields":[{"manager":"m"}],"name":"a"}"#);
    check(r#"{"name":"a","annotations":{"x":",\"managedFields\":[","managedFields":"y"}}"#);
}

#[test]
fn the_resource_version_stands_where_metadata_has_it() {
    let check = |stored: &str, expected: &str| {
        let whole = format!("{{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{stored}}}");
        check(&whole, &format!("\"metadata\":{expected}}}"), expected);
    };
    check("{}", r#"{"resourceVersion":"7"}"#);
    check(r#"{"generation":3}"#, r#"{"resourceVersion":"7","generation":3}"#);
    check(r#"{"name":"a"}"#, r#"{"name":"a","resourceVersion":"7"}"#);
    check(
        r#"{"generateName":"a-","generation":1}"#,
        r#"{"generateName":"a-","resourceVersion":"7","generation":1}"#,
    );
    check(
        r#"{"name":"a","resourceVersion":"1234","generation":1}"#,
        r#"{"name":"a","resourceVersion":"7","generation":1}"#,
    );
    check(
        r#"{"name":"a","resourceVersion":"","uid":"u"}"#,
        r#"{"name":"a","resourceVersion":"7","uid":"u"}"#,
    );
    check(
        r#"{"creationTimestamp":null,"name":"a","selfLink":"x"}"#,
        r#"{"creationTimestamp":null,"name":"a","resourceVersion":"7","selfLink":"x"}"#,
    );
}

#[test]
fn members_may_stand_in_any_order() {
    let metadata = r#"{"name":"a","resourceVersion":"7"}"#;
    check(
        r#"{"apiVersion":"v1","kind":"K","metadata":{"name":"a"},"z":1}"#,
        r#""metadata":{"name":"a","resourceVersion":"7"},"z":1}"#,
        metadata,
    );
    check(
        r#"{"apiVersion":"v1","data":{"k":"}"},"kind":"K","metadata":{"name":"a"}}"#,
        r#""data":{"k":"}"},"metadata":{"name":"a","resourceVersion":"7"}}"#,
        metadata,
    );
    check(
        r#"{"a":[1,2],"apiVersion":"v1","b":2,"kind":"K","metadata":{"name":"a"},"z":-1.5e+7}"#,
        r#""a":[1,2],"b":2,"metadata":{"name":"a","resourceVersion":"7"},"z":-1.5e+7}"#,
        metadata,
    );
    check(
        r#"{"metadata":{"name":"a"},"kind":"K","apiVersion":"v1"}"#,
        r#""metadata":{"name":"a","resourceVersion":"7"}}"#,
        metadata,
    );
    check(r#"{"metadata":{"name":"a"}}"#, r#""metadata":{"name":"a","resourceVersion":"7"}}"#, metadata);
    check(
        "{\"kind\":\"K\",\"metadata\":{\"name\":\"a\"}}\n",
        r#""metadata":{"name":"a","resourceVersion":"7"}}"#,
        metadata,
    );
}

#[test]
fn the_index_has_names_and_labels() {
    let frozen = frozen(
        r#"{"kind":"K","metadata":{"name":"a\u003cb","namespace":"ns","uid":"u-1","labels":{"b":"2","a":"\"1\""}}}"#,
        &[],
    );
    let index = frozen.index();
    assert_eq!((index.name.as_str(), index.namespace.as_str(), index.uid.as_str()), ("a<b", "ns", "u-1"));
    assert_eq!(index.labels.iter().collect::<Vec<_>>(), [("a", "\"1\""), ("b", "2")]);
    assert!(index.fields.is_empty());
}

#[test]
fn selectable_fields_are_found_by_path() {
    let stored = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b","labels":{"x":"y"}},
        "spec":{"nodeName":"n1","deep":{"a":{"b":"c","n":5},"f":1.5},"list":["nodeName"],"on":true,"nothing":null,
        "escaped\u003c":"e","empty":"","dotted.key":"no"},"status":{"phase":"Run\"ning"},"top":12}"#;
    let check = |paths: &[&str], expected: &str| {
        let field = SelectableField {
            label: "l".into(),
            paths: paths.iter().map(|it| (*it).into()).collect(),
            default: "-".into(),
        };
        let found = frozen(stored, &[SelectableField::plain("metadata.name"), field]);
        assert_eq!(*found.index().fields, ["a".into(), keelson_object::SmolStr::new(expected)], "{paths:?}");
    };
    check(&["spec.nodeName"], "n1");
    check(&["metadata.name"], "a");
    check(&["metadata.namespace"], "b");
    check(&["status.phase"], "Run\"ning");
    check(&["spec.deep.a.b"], "c");
    check(&["spec.deep.a.n"], "5");
    check(&["spec.deep.f"], "1.5");
    check(&["spec.on"], "true");
    check(&["top"], "12");
    check(&["spec.escaped<"], "e");
    check(&["spec.nothing"], "-");
    check(&["spec.empty"], "-");
    check(&["spec.list"], "-");
    check(&["spec.deep"], "-");
    check(&["spec"], "-");
    check(&["spec.node"], "-");
    check(&["spec.nodeName.more"], "-");
    check(&["spec.dotted.key"], "-");
    check(&[], "-");
    check(&["spec.empty", "spec.nodeName"], "n1");
    check(&["status.phase", "spec.nodeName"], "Run\"ning");
    check(&["spec.nodeName", "status.phase"], "n1");
    check(&["spec.deep.a", "spec.deep.a.b"], "c");
}

#[test]
fn the_head_is_read_in_either_order() {
    let check = |stored: &'static str, kind: &str, api_version: &str| {
        let found = head(&Bytes::from_static(stored.as_bytes())).unwrap();
        assert_eq!((found.0.as_str(), found.1.as_str()), (kind, api_version), "{stored}");
    };
    check(r#"{"kind":"Pod","apiVersion":"v1","metadata":{}}"#, "Pod", "v1");
    check(r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#, "Deployment", "apps/v1");
    check(r#"{"apiVersion":"g/v1","data":{"kind":"no"},"kind":"K"}"#, "K", "g/v1");
    check("{}", "", "");
}

#[test]
fn malformed_bytes_are_errors() {
    let check = |stored: &str, expected: &str| {
        let error = decode(&Bytes::copy_from_slice(stored.as_bytes()), 1, &[]).unwrap_err();
        assert_eq!(error.to_string(), expected, "{stored}");
    };
    check("", "stored object is malformed at byte 0");
    check("[]", "stored object is malformed at byte 0");
    check("{}", "stored object has no metadata");
    check(r#"{"kind":"K""#, "stored object is malformed at byte 11");
    check(r#"{"metadata":[]}"#, "stored object is malformed at byte 12");
    check(r#"{"metadata":{"name":5}}"#, "stored object is malformed at byte 20");
    check(r#"{"metadata":{},"metadata":{}}"#, "stored object is malformed at byte 26");
    check(r#"{"metadata":{}} x"#, "stored object is malformed at byte 16");
    check(r#"{"kind":"a","kind":"b","kind":"c","metadata":{}}"#, "stored object is malformed at byte 23");
    check(r#"{"metadata":{"name":"\x"}}"#, "stored object is not JSON");
    assert!(matches!(head(&Bytes::from_static(b"{\"kind\":1}")), Err(StoredError::Malformed { offset: 8 })));
}

/// Metadata with every field set.
fn full_meta() -> ObjectMeta {
    ObjectMeta {
        name: "web-1".into(),
        generate_name: "web-".into(),
        namespace: "default".into(),
        uid: "8d9c0b1e-0000-4000-8000-000000000001".into(),
        resource_version: "".into(),
        generation: 3,
        creation_timestamp: Time::parse("2026-01-02T03:04:05Z").ok(),
        deletion_timestamp: Time::parse("2026-01-02T03:05:05Z").ok(),
        deletion_grace_period_seconds: Some(0),
        labels: [("b".into(), "2".into()), ("a".into(), "<1>".into())].into_iter().collect(),
        annotations: [("note".into(), "line\nbreak".into())].into_iter().collect(),
        owner_references: vec![OwnerReference {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: "web".into(),
            uid: "u".into(),
            controller: Some(true),
            block_owner_deletion: None,
        }],
        finalizers: vec!["a/b".into(), "c".into()],
        managed_fields: vec![json::read(br#"{"manager":"m","fieldsV1":{"f:spec":{}}}"#).unwrap().value],
    }
}

#[test]
fn metadata_is_written_as_its_tree_says() {
    for meta in [full_meta(), ObjectMeta::default(), ObjectMeta { name: "n".into(), ..ObjectMeta::default() }]
    {
        let object = Object { kind: "K".into(), api_version: "v1".into(), meta, fields: Map::new() };
        let mut expected = b"{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":".to_vec();
        json::write_map(&object.meta.to_map(), &mut expected);
        expected.push(b'}');
        assert_eq!(encode(&object), expected);
    }
}

#[test]
fn the_resource_version_is_never_stored() {
    let meta = ObjectMeta { resource_version: "12".into(), ..full_meta() };
    let object = Object { kind: "K".into(), api_version: "v1".into(), meta, fields: Map::new() };
    assert!(!String::from_utf8_lossy(&encode(&object)).contains("resourceVersion"));
}

fn any_meta() -> impl Strategy<Value = ObjectMeta> {
    let pairs = || {
        proptest::collection::btree_map(any_text(), any_text(), 0..5).prop_map(|it| {
            it.into_iter().map(|(key, value)| (key.into(), value.into())).collect::<StringMap>()
        })
    };
    (any_text(), any_text(), any_text(), pairs(), pairs(), any::<bool>(), any::<i64>()).prop_map(
        |(name, namespace, uid, labels, annotations, is_full, generation)| {
            let rest = if is_full { full_meta() } else { ObjectMeta::default() };
            let (name, namespace, uid) = (name.into(), namespace.into(), uid.into());
            ObjectMeta { name, namespace, uid, labels, annotations, generation, ..rest }
        },
    )
}

fn any_object() -> impl Strategy<Value = Object> {
    (any_meta(), any_text(), any_text(), any_map(any_value())).prop_map(
        |(meta, kind, api_version, mut fields)| {
            fields.retain(|key, _| !matches!(key, "kind" | "apiVersion" | "metadata"));
            // Floats without fraction come back as ints: after one round trip the result is exact.
            let mut text = Vec::new();
            json::write_map(&fields, &mut text);
            let Value::Map(fields) = json::read(&text).unwrap().value else {
                unreachable!("a map was written")
            };
            Object { api_version: api_version.into(), kind: kind.into(), meta, fields }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_object_survives_being_stored(object in any_object(), revision in 1u64..) {
        let stored = encode(&object);
        let (kind, api_version) = head(&stored).unwrap();
        let frozen = decode(&stored, revision, &[SelectableField::plain("spec.a")]).unwrap();
        prop_assert_eq!(&frozen.index().name, &object.meta.name);
        prop_assert_eq!(&frozen.index().labels, &object.meta.labels);
        let metadata = json::read(frozen.metadata_json()).unwrap();
        prop_assert!(metadata.duplicates.is_empty());
        let thawed = thaw(&frozen, &api_version, &kind).unwrap();
        let mut expected = object;
        expected.meta.resource_version = revision.to_string().into();
        prop_assert_eq!(thawed, expected);
    }

    #[test]
    fn damaged_bytes_do_not_panic(object in any_object(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut stored = encode(&object).to_vec();
        let place = at.index(stored.len());
        stored[place] = byte;
        let fields = [SelectableField::plain("spec.a"), SelectableField::plain("metadata.name")];
        for length in [stored.len(), place] {
            let bytes = Bytes::copy_from_slice(&stored[..length]);
            let _ = head(&bytes);
            if let Ok(frozen) = decode(&bytes, 1, &fields) {
                let _ = thaw(&frozen, "v1", "K");
            }
        }
    }
}
