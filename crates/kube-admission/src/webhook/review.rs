//! AdmissionReview: encoding of the request and decoding of the response.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{ApiVersion, Map, Object, Value};
use keelson_registry::admission::{Operation, Request};
use keelson_registry::{DryRun, Resource};
use keelson_schema::{Schema, TypeMismatch};
use keelson_status::Status;
use keelson_webhook_client::ReviewVersion;

use super::matching::Invocation;
use super::text_list;

const GROUP: &str = "admission.k8s.io";

/// The objects for a webhook, in the version it wants.
pub(crate) struct Shown<'s> {
    pub(crate) invocation: Invocation<'s>,
    pub(crate) object: Option<&'s Object>,
    pub(crate) old: Option<&'s Object>,
}

/// The question as JSON.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go (v1.36.4).
pub(crate) fn question(
    form: ReviewVersion,
    uid: &str,
    request: &Request<'_>,
    shown: &Shown<'_>,
) -> bytes::Bytes {
    let (resource, own) = (request.resource, request.context.api_version.as_str());
    let Invocation { resource: other, version } = shown.invocation;
    let asked = version.api_version.as_str();
    // What is posted to some subresources is of another kind.
    let foreign = shown.object.filter(|it| it.kind != resource.kind);
    let kind = |api_version: &str, resource: &Resource| match foreign {
        Some(object) => group_version(&object.api_version, ("kind", &object.kind)),
        None => group_version(api_version, ("kind", &resource.kind)),
    };
    let plural =
        |api_version: &str, resource: &Resource| group_version(api_version, ("resource", &resource.plural));
    let mut body = Map::new();
    body.push_new("uid", uid);
    body.push_new("kind", kind(asked, other));
    body.push_new("resource", plural(asked, other));
    push_text(&mut body, "subResource", request.subresource);
    body.push_new("requestKind", kind(own, resource));
    body.push_new("requestResource", plural(own, resource));
    push_text(&mut body, "requestSubResource", request.subresource);
    push_text(&mut body, "name", &request.place.name);
    push_text(&mut body, "namespace", request.namespace());
    body.push_new("operation", request.operation.as_str());
    body.push_new("userInfo", request.context.user.info());
    let tree = |object: Option<&Object>| match object.map(|it| it.clone().into_value()) {
        // The options of a connect are not an object of their own.
        Some(Value::Map(mut options)) if request.operation == Operation::Connect => {
            options.remove("metadata");
            Value::Map(options)
        }
        tree => tree.unwrap_or_default(),
    };
    body.push_new("object", tree(shown.object));
    body.push_new("oldObject", tree(shown.old));
    body.push_new("dryRun", request.context.dry_run == DryRun::All);
    body.push_new("options", options(request));
    let mut review = Map::new();
    review.push_new("kind", "AdmissionReview");
    review.push_new("apiVersion", form.of(GROUP));
    review.push_new("request", body);
    json::to_bytes(&Value::Map(review))
}

/// The options of the request; a patch counts as an update or a create.
fn options(request: &Request<'_>) -> Value {
    let kind = match request.operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => return Value::Null,
    };
    let mut options = Map::new();
    options.push_new("kind", kind);
    options.push_new("apiVersion", "meta.k8s.io/v1");
    for (key, value) in request.context.options.as_map().into_iter().flat_map(|it| it.iter()) {
        options.push_new(key.clone(), value.clone());
    }
    // Kinds with a grace period set it, whatever was requested.
    if let Some(seconds) = request.grace_seconds {
        options.set("gracePeriodSeconds", seconds);
    }
    Value::Map(options)
}

fn push_text(map: &mut Map, key: &'static str, text: &str) {
    if !text.is_empty() {
        map.push_new(key, text);
    }
}

fn group_version(api_version: &str, (key, name): (&'static str, &str)) -> Map {
    let ApiVersion { group, version } = ApiVersion::parse(api_version).unwrap_or_default();
    let mut map = Map::new();
    map.push_new("group", group);
    map.push_new("version", version);
    map.push_new(key, name);
    map
}

/// The answer of a webhook.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// A JSON patch, not read yet.
    pub(crate) patch: Vec<u8>,
    pub(crate) result: Option<Status>,
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
}

/// Whether a webhook may change objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Change,
    Judge,
}

/// The fields of the response that are read.
///
/// Upstream: staging/src/k8s.io/api/admission/v1/types.go (v1.36.4).
const STRUCTS: &[(&str, &str)] = &[
    ("StatusCause", "reason CauseType=string; message string; field string"),
    (
        "StatusDetails",
        "name string; group string; kind string; uid types.UID=string; causes []StatusCause; retryAfterSeconds int32",
    ),
    (
        "Status",
        "kind string; apiVersion string; metadata any; status string; message string; reason StatusReason=string; \
         details *StatusDetails; code int32",
    ),
    (
        "AdmissionResponse",
        "uid types.UID=string; allowed bool; status *Status; patch bytes; patchType *PatchType=string; \
         auditAnnotations map[string]string; warnings []string",
    ),
    ("AdmissionReview", "kind string; apiVersion string; request any; response *AdmissionResponse"),
];

/// The review, if everything in it has the type that it must have.
pub(crate) fn typed(review: Map) -> Result<Map, TypeMismatch> {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::by_hand("v1", STRUCTS));
    let mut value = Value::Map(review);
    SCHEMA.conform(&mut value)?;
    let Value::Map(review) = value else { return Ok(Map::new()) };
    Ok(review)
}

/// Reads an answer, or returns why it is invalid.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go, VerifyAdmissionResponse (v1.36.4).
pub(crate) fn answer(form: ReviewVersion, uid: &str, task: Task, review: &Map) -> Result<Answer, String> {
    let Some(response) = review.map("response") else { return Err("webhook response was absent".to_owned()) };
    let patch = STANDARD.decode(response.str("patch").unwrap_or_default());
    let patch = patch.map_err(|error| format!("response.patch: {error}"))?;
    let patch_type = response.str("patchType");
    if form == ReviewVersion::V1 {
        let found = response.str("uid").unwrap_or_default();
        if found != uid {
            return Err(format!("expected response.uid={}, got {}", quote(uid), quote(found)));
        }
        check_kind(review)?;
        match (task, patch.is_empty(), patch_type) {
            (Task::Change, false, None) => {
                return Err("webhook returned response.patch but not response.patchType".to_owned());
            }
            (Task::Change, true, Some(_)) => {
                return Err("webhook returned response.patchType but not response.patch".to_owned());
            }
            (Task::Change, false, Some("")) => {
                return Err("webhook returned invalid response.patchType of \"\"".to_owned());
            }
            (Task::Judge, false, _) => {
                return Err("validating webhook may not return response.patch".to_owned());
            }
            (Task::Judge, true, Some(_)) => {
                return Err("validating webhook may not return response.patchType".to_owned());
            }
            (Task::Change, false, Some(other)) if other != "JSONPatch" => {
                return Err(format!("unsupported patch type {}", quote(other)));
            }
            _ => (),
        }
    }
    let annotations = response.map("auditAnnotations").into_iter().flat_map(|it| it.iter());
    Ok(Answer {
        allowed: response.bool("allowed").unwrap_or_default(),
        patch,
        result: response.map("status").map(Status::from_map),
        warnings: text_list(response, "warnings"),
        annotations: annotations
            .filter_map(|(key, value)| Some((key.to_string(), value.as_str()?.to_owned())))
            .collect(),
    })
}

fn check_kind(review: &Map) -> Result<(), String> {
    let text = |key: &str| review.str(key).unwrap_or_default();
    let ApiVersion { group, version } = ApiVersion::parse(text("apiVersion")).unwrap_or_default();
    let kind = text("kind");
    if (group.as_str(), version.as_str(), kind) == (GROUP, "v1", "AdmissionReview") {
        return Ok(());
    }
    let expected = format!("{GROUP}/v1, Kind=AdmissionReview");
    Err(format!("expected webhook response of {expected}, got {group}/{version}, Kind={kind}"))
}

#[cfg(test)]
mod tests {
    use keelson_webhook_client::ReviewVersion;

    use super::{Answer, Task, answer, typed};
    use crate::testing::map;

    #[track_caller]
    fn check(form: ReviewVersion, task: Task, response: &str, expected: Result<bool, &str>) {
        let review = map(&format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{response}}}"#
        ));
        let review = typed(review).map_err(|it| it.to_string());
        let found = review.and_then(|it| answer(form, "u", task, &it)).map(|it| it.allowed);
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn an_answer_must_fit_its_question() {
        check(ReviewVersion::V1, Task::Judge, r#"{"uid":"u","allowed":true}"#, Ok(true));
        check(ReviewVersion::V1, Task::Judge, r#"{"uid":"u"}"#, Ok(false));
        check(
            ReviewVersion::V1,
            Task::Judge,
            r#"{"uid":"x","allowed":true}"#,
            Err(r#"expected response.uid="u", got "x""#),
        );
        check(ReviewVersion::V1beta1, Task::Judge, r#"{"uid":"x","allowed":true}"#, Ok(true));
        check(ReviewVersion::V1, Task::Judge, "null", Err("webhook response was absent"));
        let other = map(r#"{"response":{"uid":"u"}}"#);
        assert_eq!(
            answer(ReviewVersion::V1, "u", Task::Judge, &other),
            Err("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
                .to_owned())
        );
    }

    #[test]
    fn everything_in_an_answer_has_its_type() {
        let check = |response: &str, expected: &str| {
            let review = map(&format!(r#"{{"kind":"AdmissionReview","request":7,"response":{response}}}"#));
            let found = typed(review).err().map(|it| it.to_string()).unwrap_or_default();
            assert_eq!(found, expected, "{response}");
        };
        check(r#"{"uid":"u","warnings":["a"],"status":{"code":400},"patch":[1],"more":{}}"#, "");
        let wrong = "json: cannot unmarshal";
        let field = "into Go struct field AdmissionResponse.response";
        check(r#"{"warnings":["a",7]}"#, &format!("{wrong} number {field}.warnings of type string"));
        check(r#"{"warnings":"a"}"#, &format!("{wrong} string {field}.warnings of type []string"));
        check(r#"{"allowed":"true"}"#, &format!("{wrong} string {field}.allowed of type bool"));
        check(
            r#"{"auditAnnotations":{"a":true}}"#,
            &format!("{wrong} bool {field}.auditAnnotations of type string"),
        );
        check(
            r#"{"status":{"code":"x"}}"#,
            &format!("{wrong} string into Go struct field Status.response.status.code of type int32"),
        );
        check(
            "[]",
            &format!(
                "{wrong} array into Go struct field AdmissionReview.response of type v1.AdmissionResponse"
            ),
        );
    }

    #[test]
    fn only_who_may_change_objects_patches() {
        let patch = r#"{"uid":"u","allowed":true,"patch":"W10=","patchType":"JSONPatch"}"#;
        check(ReviewVersion::V1, Task::Change, patch, Ok(true));
        let numbers = r#"{"uid":"u","allowed":true,"patch":[91,93],"patchType":"JSONPatch"}"#;
        check(ReviewVersion::V1, Task::Change, numbers, Ok(true));
        check(
            ReviewVersion::V1,
            Task::Judge,
            numbers,
            Err("validating webhook may not return response.patch"),
        );
        check(
            ReviewVersion::V1,
            Task::Change,
            r#"{"uid":"u","patch":[300],"patchType":"JSONPatch"}"#,
            Err(
                "json: cannot unmarshal number 300 into Go struct field AdmissionResponse.response.patch of type uint8",
            ),
        );
        check(ReviewVersion::V1, Task::Judge, patch, Err("validating webhook may not return response.patch"));
        check(
            ReviewVersion::V1,
            Task::Change,
            r#"{"uid":"u","patch":"W10="}"#,
            Err("webhook returned response.patch but not response.patchType"),
        );
        check(
            ReviewVersion::V1,
            Task::Change,
            r#"{"uid":"u","patchType":"JSONPatch"}"#,
            Err("webhook returned response.patchType but not response.patch"),
        );
    }

    #[test]
    fn everything_else_is_read() {
        let review = map(
            r#"{"response":{"allowed":false,"status":{"message":"no","code":418},"warnings":["w"],"auditAnnotations":{"k":"v"}}}"#,
        );
        let found = answer(ReviewVersion::V1beta1, "", Task::Judge, &review).expect("an answer");
        let status = found.result.as_ref().expect("a status");
        assert_eq!((status.message.as_str(), status.code), ("no", 418));
        let expected = Answer {
            warnings: vec!["w".to_owned()],
            annotations: vec![("k".to_owned(), "v".to_owned())],
            result: found.result.clone(),
            ..Answer::default()
        };
        assert_eq!(found, expected);
    }
}
