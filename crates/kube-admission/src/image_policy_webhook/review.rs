//! ImageReview: encoding of the request and decoding of the response.

use bytes::Bytes;
use keelson_codec::config_file::Error;
use keelson_codec::{json, yaml};
use keelson_object::{ApiVersion, Map, Object, Value};
use keelson_registry::admission::Request;
use keelson_schema::Schema;
use keelson_webhook_client::Reply;

const API_VERSION: &str = "imagepolicy.k8s.io/v1alpha1";
const KIND: &str = "ImageReview";

/// The decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) allowed: bool,
    pub(super) reason: String,
    /// Annotations for the audit event.
    pub(super) annotations: Vec<(String, String)>,
}

/// The `spec`, written in upstream's order; equal questions give equal bytes.
pub(super) fn spec(request: &Request<'_>, pod: &Object) -> Bytes {
    json::to_bytes(&Value::Map(question(request.subresource, &request.place.namespace, pod)))
}

/// Upstream: plugin/pkg/admission/imagepolicy/admission.go, Validate (v1.36.4).
fn question(subresource: &str, namespace: &str, pod: &Object) -> Map {
    let lists: &[&str] = match subresource {
        "ephemeralcontainers" => &["ephemeralContainers"],
        _ => &["containers", "initContainers"],
    };
    let spec = pod.fields.map("spec");
    let containers = lists.iter().flat_map(|key| spec.into_iter().flat_map(|it| it.maps(key)));
    let images = containers.map(|container| {
        let mut map = Map::new();
        put(&mut map, "image", container.str("image").unwrap_or_default());
        Value::Map(map)
    });
    let images: Vec<Value> = images.collect();
    let mut annotations = Map::new();
    for (key, value) in pod.meta.annotations.iter().filter(|(key, _)| key.contains(".image-policy.k8s.io/")) {
        annotations.push_new(key, value);
    }
    let mut question = Map::new();
    if !images.is_empty() {
        question.push_new("containers", images);
    }
    if !annotations.is_empty() {
        question.push_new("annotations", annotations);
    }
    put(&mut question, "namespace", namespace);
    question
}

fn put(map: &mut Map, key: &'static str, text: &str) {
    if !text.is_empty() {
        map.push_new(key, text);
    }
}

/// The whole review around a `spec`.
pub(super) fn body(spec: &[u8]) -> Bytes {
    let head = format!(r#"{{"kind":"{KIND}","apiVersion":"{API_VERSION}","metadata":{{}},"spec":"#);
    let tail = b",\"status\":{\"allowed\":false}}\n";
    [head.as_bytes(), spec, tail].concat().into()
}

/// The response if it is not JSON: upstream reads it as YAML.
pub(super) fn as_yaml(reply: &Reply) -> Option<Result<Map, String>> {
    if !(200..300).contains(&reply.status) || reply.body.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    Some(match yaml::read(&reply.body).map(|it| it.value) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(Error::NoObject { found: other.json_type() }.to_string()),
        Err(error) => Err(error.to_string()),
    })
}

/// The `status` of the response.
pub(super) fn read(map: &Map) -> Result<Status, String> {
    let (version, kind) = (map.str("apiVersion").unwrap_or(""), map.str("kind").unwrap_or(""));
    if ![API_VERSION, ""].contains(&version) || ![KIND, ""].contains(&kind) {
        let ApiVersion { group, version: of_group } = ApiVersion::parse(version).unwrap_or_default();
        if Schema::builtin(&group, &of_group, kind).is_some() {
            return Err(format!("converting ({of_group}.{kind}) to (v1alpha1.{KIND}): unknown conversion"));
        }
        let (kind, api_version) = (kind.to_owned(), version.to_owned());
        return Err(Error::OtherKind { kind, api_version }.to_string());
    }
    let empty = Map::new();
    let status = map.map("status").unwrap_or(&empty);
    let annotations = status.map("auditAnnotations").unwrap_or(&empty);
    let annotations = annotations.iter();
    Ok(Status {
        allowed: status.bool("allowed").unwrap_or_default(),
        reason: status.str("reason").unwrap_or_default().to_owned(),
        annotations: annotations
            .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;

    use super::{Status, question, read};
    use crate::testing::{map, object};

    #[track_caller]
    fn check(subresource: &str, expected: &str) {
        let pod = object(
            r#"{"metadata":{"annotations":{"a.image-policy.k8s.io/b":"c","x":"y"}},"spec":{"initContainers":[{"image":"i"}],
            "containers":[{"image":"c"},{"name":"n"}],"ephemeralContainers":[{"image":"e"}]}}"#,
        );
        let bytes = json::to_bytes(&Value::Map(question(subresource, "n", &pod)));
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
    }

    #[test]
    fn images_are_named_in_upstreams_order() {
        check(
            "",
            r#"{"containers":[{"image":"c"},{},{"image":"i"}],"annotations":{"a.image-policy.k8s.io/b":"c"},"namespace":"n"}"#,
        );
        check(
            "ephemeralcontainers",
            r#"{"containers":[{"image":"e"}],"annotations":{"a.image-policy.k8s.io/b":"c"},"namespace":"n"}"#,
        );
    }

    #[test]
    fn an_answer_is_a_review() {
        let answer = r#"{"apiVersion":"imagepolicy.k8s.io/v1alpha1","kind":"ImageReview","status":{"allowed":true,"auditAnnotations":{"k":"v"}}}"#;
        let annotations = vec![(String::from("k"), String::from("v"))];
        assert_eq!(read(&map(answer)), Ok(Status { allowed: true, annotations, ..Status::default() }));
        assert_eq!(read(&map("{}")), Ok(Status::default()));
        let other = r#"{"apiVersion":"v1","kind":"Pod"}"#;
        let refusal = "converting (v1.Pod) to (v1alpha1.ImageReview): unknown conversion";
        assert_eq!(read(&map(other)), Err(refusal.to_owned()));
        let other = r#"{"apiVersion":"v1","kind":"Nothing"}"#;
        let refusal =
            r#"no kind "Nothing" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#;
        assert_eq!(read(&map(other)), Err(refusal.to_owned()));
    }
}
