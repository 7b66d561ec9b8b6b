//! Checks of converted objects: a conversion webhook may change everything but the identity of an object.
//!
//! Metadata is taken from the original. Only labels and annotations are the webhook's, and they are validated where it
//! changed them.

use keelson_codec::json;
use keelson_object::meta::StringMap;
use keelson_object::{ApiVersion, FieldErrors, Map, Object, ObjectMeta, Path, SmolStr, Value};
use keelson_registry::lifecycle::meta_rules;
use keelson_structural::scale::go_type;

/// The beginning of all complaints about the conversion of `object`.
pub(super) fn about(object: &Object) -> String {
    let ApiVersion { group, version } = ApiVersion::parse(&object.api_version).unwrap_or_default();
    format!("conversion webhook for {group}/{version}, Kind={}", object.kind)
}

/// `original` as a webhook converted it to `api_version`, or what is wrong with that.
///
/// Upstream: webhook_converter.go, webhookConverter.Convert (v1.36.4).
pub(super) fn accept(original: Object, converted: Value, api_version: &str) -> Result<Object, String> {
    let mut converted = object_of(converted)?;
    let about = || about(&original);
    let text = |key: &str| converted.str(key).unwrap_or_default();
    let (found_version, found_kind) = (text("apiVersion"), text("kind"));
    if found_version != api_version {
        return Err(format!(
            "{} returned invalid object at index 0: invalid groupVersion (expected {api_version}, received {found_version})",
            about()
        ));
    }
    if found_kind != original.kind {
        let expected = &original.kind;
        return Err(format!(
            "{} returned invalid object at index 0: invalid kind (expected {expected}, received {found_kind})",
            about()
        ));
    }
    check_identity(&original.meta, converted.map("metadata"))
        .map_err(|why| format!("{} returned invalid object: {why}", about()))?;
    let metadata = converted.remove("metadata");
    let (labels, annotations) = changeable(&original.meta, metadata.as_ref())
        .map_err(|why| format!("{} returned invalid metadata: {why}", about()))?;
    converted.remove("apiVersion");
    converted.remove("kind");
    let meta = ObjectMeta { labels, annotations, ..original.meta };
    Ok(Object { api_version: api_version.into(), kind: original.kind, meta, fields: converted })
}

/// A converted object as a tree. What cannot be read is not said to come from a webhook, as upstream does it.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/unstructured/helpers.go, unstructuredJSONScheme.Decode (v1.36.4).
fn object_of(converted: Value) -> Result<Map, String> {
    let map = match converted {
        Value::Map(map) => map,
        Value::Null => return Err("unexpected end of JSON input".to_owned()),
        other => {
            let found = other.json_type();
            return Err(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            ));
        }
    };
    let is_version = ApiVersion::parse(map.str("apiVersion").unwrap_or_default()).is_some();
    let has_version = map.str("apiVersion").is_some_and(|it| !it.is_empty());
    if map.str("kind").unwrap_or_default().is_empty() || (has_version && !is_version) {
        let body = json::to_bytes(&Value::Map(map));
        return Err(format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(&body)));
    }
    Ok(map)
}

/// Upstream: webhook_converter.go, validateConvertedObject (v1.36.4).
fn check_identity(original: &ObjectMeta, converted: Option<&Map>) -> Result<(), String> {
    let text = |key: &str| converted.and_then(|it| it.str(key)).unwrap_or_default();
    for (what, key, expected) in [
        ("name", "name", &original.name),
        ("namespace", "namespace", &original.namespace),
        ("UID", "uid", &original.uid),
    ] {
        let found = text(key);
        if expected != found {
            return Err(format!("must have the same {what}: {expected} != {found}"));
        }
    }
    Ok(())
}

/// The labels and annotations of a converted object.
///
/// Upstream: webhook_converter.go, restoreObjectMeta (v1.36.4).
fn changeable(original: &ObjectMeta, converted: Option<&Value>) -> Result<(StringMap, StringMap), String> {
    let metadata = match converted {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Map(metadata)) => metadata,
        Some(other) => {
            return Err(format!("invalid metadata of type {} in converted object", go_type(other)));
        }
    };
    let labels = texts(metadata, "labels")?;
    if labels != original.labels {
        let mut errors = FieldErrors::default();
        meta_rules::check_labels(&labels, &Path::root("metadata").key("labels"), &mut errors);
        refuse(&errors)?;
    }
    let annotations = texts(metadata, "annotations")?;
    if annotations != original.annotations {
        let mut errors = FieldErrors::default();
        meta_rules::check_annotations(&annotations, &Path::root("metadata").key("annotation"), &mut errors);
        refuse(&errors)?;
    }
    Ok((labels, annotations))
}

fn texts(metadata: &Map, field: &str) -> Result<StringMap, String> {
    let map = match metadata.get(field) {
        None | Some(Value::Null) => return Ok(StringMap::default()),
        Some(Value::Map(map)) => map,
        Some(other) => {
            return Err(format!("invalid metadata.{field} of type {} in converted object", go_type(other)));
        }
    };
    let text = |(key, value): (&SmolStr, &Value)| match value {
        Value::String(text) => Ok((key.clone(), text.clone())),
        other => {
            let found = go_type(other);
            Err(format!("metadata.{field}[{key}] must be a string, but is {found} in converted object"))
        }
    };
    map.iter().map(text).collect()
}

fn refuse(errors: &FieldErrors) -> Result<(), String> {
    if errors.is_empty() { Ok(()) } else { Err(errors.aggregate()) }
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::{Object, Value};

    use super::accept;

    const ABOUT: &str = "conversion webhook for example.com/v1, Kind=Foo";

    fn original() -> Object {
        let metadata = r#"{"name":"a","namespace":"n","uid":"u","generation":3,"finalizers":["x/y"],"labels":{"l":"1"}}"#;
        let text =
            format!(r#"{{"apiVersion":"example.com/v1","kind":"Foo","metadata":{metadata},"host":"h"}}"#);
        Object::from_value(json::read(text.as_bytes()).expect("it is JSON").value).expect("it is an object")
    }

    fn accepted(converted: &str) -> Result<Object, String> {
        let converted = json::read(converted.as_bytes()).expect("it is JSON").value;
        accept(original(), converted, "example.com/v2")
    }

    /// What is said of a converted object with this metadata.
    #[track_caller]
    fn check(metadata: &str, expected: &str) {
        let converted = format!(r#"{{"apiVersion":"example.com/v2","kind":"Foo","metadata":{metadata}}}"#);
        let found = accepted(&converted).expect_err(metadata);
        assert_eq!(found, format!("{ABOUT} returned invalid {expected}"));
    }

    /// What is said of a converted object.
    #[track_caller]
    fn check_whole(converted: &str, expected: &str) {
        assert_eq!(accepted(converted).expect_err(converted), expected);
    }

    #[test]
    fn metadata_is_restored_but_for_labels_and_annotations() {
        let metadata = r#"{"name":"a","namespace":"n","uid":"u","generation":42,"finalizers":["mine/z"],"garbage":1,
            "labels":{"new":"2"},"annotations":{"By":"webhook"}}"#;
        let converted = format!(
            r#"{{"apiVersion":"example.com/v2","kind":"Foo","metadata":{metadata},"spec":{{"host":"h"}}}}"#
        );
        let found = accepted(&converted).expect("it is accepted");
        let mut expected = original();
        expected.api_version = "example.com/v2".into();
        expected.meta.labels = [("new".into(), "2".into())].into_iter().collect();
        expected.meta.annotations = [("By".into(), "webhook".into())].into_iter().collect();
        expected.fields = [("spec".into(), Value::Map([("host".into(), "h".into())].into_iter().collect()))]
            .into_iter()
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        check_whole("null", "unexpected end of JSON input");
        check_whole("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}");
        check_whole("{}", "Object 'Kind' is missing in '{}'");
        check_whole(
            r#"{"kind":"Foo","apiVersion":"a/b/c"}"#,
            r#"Object 'Kind' is missing in '{"kind":"Foo","apiVersion":"a/b/c"}'"#,
        );
    }

    #[test]
    fn version_and_kind_are_those_that_were_asked_for() {
        check_whole(
            r#"{"kind":"Foo"}"#,
            &format!(
                "{ABOUT} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received )"
            ),
        );
        check_whole(
            r#"{"kind":"Bar","apiVersion":"example.com/v2"}"#,
            &format!("{ABOUT} returned invalid object at index 0: invalid kind (expected Foo, received Bar)"),
        );
    }

    #[test]
    fn the_identity_of_an_object_stays() {
        check("7", "object: must have the same name: a != ");
        check(r#"{"name":"b"}"#, "object: must have the same name: a != b");
        check(r#"{"name":"a","namespace":"m"}"#, "object: must have the same namespace: n != m");
        check(r#"{"name":"a","namespace":"n","uid":"v"}"#, "object: must have the same UID: u != v");
    }

    #[test]
    fn labels_and_annotations_are_validated_if_they_changed() {
        let with = |more: &str| format!(r#"{{"name":"a","namespace":"n","uid":"u",{more}}}"#);
        check(&with(r#""labels":7"#), "metadata: invalid metadata.labels of type int64 in converted object");
        check(
            &with(r#""annotations":{"a":true}"#),
            "metadata: metadata.annotations[a] must be a string, but is bool in converted object",
        );
        check(
            &with(r#""labels":{"l":"a b"}"#),
            "metadata: metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
             'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        );
        check(
            &with(r#""annotations":{"a b":"c"}"#),
            "metadata: metadata.annotation: Invalid value: \"a b\": name part must consist of alphanumeric characters, \
             '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
             '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        );
    }
}
