//! ConversionReview: what a conversion webhook is asked, and what it answers.

use std::sync::LazyLock;

use bytes::Bytes;
use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{ApiVersion, Map, Value};
use keelson_schema::Schema;
use keelson_webhook_client::{Reply, ReviewVersion};

const GROUP: &str = "apiextensions.k8s.io";
const KIND: &str = "ConversionReview";

/// What upstream calls the set of kinds that it knows in answers.
const SCHEME: &str = "k8s.io/apiserver/pkg/util/webhook/client.go:71";

/// The question as JSON, with an empty response as upstream sends it.
///
/// Upstream: webhook_converter.go, createConversionReviewObjects (v1.36.4).
pub(super) fn question(form: ReviewVersion, uid: &str, api_version: &str, objects: &[Bytes]) -> Bytes {
    let size = objects.iter().map(|it| it.len() + 1).sum::<usize>();
    let mut out = Vec::with_capacity(size + 512);
    out.extend_from_slice(b"{\"kind\":\"ConversionReview\",\"apiVersion\":");
    json::write_text(&form.of(GROUP), &mut out);
    out.extend_from_slice(b",\"request\":{\"uid\":");
    json::write_text(uid, &mut out);
    out.extend_from_slice(b",\"desiredAPIVersion\":");
    json::write_text(api_version, &mut out);
    out.extend_from_slice(b",\"objects\":[");
    for (position, object) in objects.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        out.extend_from_slice(object);
    }
    out.extend_from_slice(
        b"]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}",
    );
    out.into()
}

/// What comes back, as far as it is looked at.
///
/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go (v1.36.4).
const STRUCTS: &[(&str, &str)] = &[
    ("Status", "status string; message string"),
    ("ConversionResponse", "uid types.UID=string; convertedObjects []any; result Status"),
    ("ConversionReview", "kind string; apiVersion string; response *ConversionResponse"),
];

/// The review that was sent back, or what Go's client says of anything else.
pub(super) fn read(form: ReviewVersion, reply: &Reply) -> Result<Map, String> {
    let parse = |body: &[u8]| json::read(body).map(|it| it.value).map_err(|error| error.to_string());
    typed(form, reply.object(parse).map_err(|(_, why)| why)?)
}

/// The review, if it is one and everything in it has the type that it must have.
fn typed(form: ReviewVersion, review: Map) -> Result<Map, String> {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::by_hand("v1", STRUCTS));
    check_kind(form, &review)?;
    let mut value = Value::Map(review);
    // The only list of anything is one of objects that upstream has not decoded yet.
    let in_go = |text: String| text.replace("[]interface {}", "[]runtime.RawExtension");
    SCHEMA.conform(&mut value).map_err(|error| in_go(error.to_string()))?;
    match value {
        Value::Map(review) => Ok(review),
        _ => Ok(Map::new()),
    }
}

/// An answer that does not say what it is is read as what was asked for.
///
/// Upstream: apimachinery/pkg/runtime/serializer/json/json.go, Serializer.Decode (v1.36.4).
fn check_kind(form: ReviewVersion, review: &Map) -> Result<(), String> {
    let text = |key: &str| review.str(key).unwrap_or_default();
    let asked = form.of(GROUP);
    let api_version = if text("apiVersion").is_empty() { &asked } else { text("apiVersion") };
    let kind = if text("kind").is_empty() { KIND } else { text("kind") };
    if api_version == asked && kind == KIND {
        return Ok(());
    }
    let versions = [ReviewVersion::V1, ReviewVersion::V1beta1].map(|it| it.of(GROUP));
    let is_known = (kind == KIND && versions.iter().any(|it| it == api_version))
        || (kind, api_version) == ("Status", "v1");
    if is_known {
        let short = |api_version: &str| api_version.rsplit('/').next().unwrap_or_default().to_owned();
        let (from, to) = (short(api_version), short(&asked));
        return Err(format!("converting ({from}.{kind}) to ({to}.{KIND}): unknown conversion"));
    }
    let (kind, version) = (quote(kind), quote(api_version));
    Err(format!("no kind {kind} is registered for version {version} in scheme {}", quote(SCHEME)))
}

/// The objects in an answer, or why it is none.
///
/// Upstream: webhook_converter.go, getConvertedObjectsFromResponse (v1.36.4).
pub(super) fn converted_objects(
    form: ReviewVersion,
    uid: &str,
    mut review: Map,
) -> Result<Vec<Value>, String> {
    if form == ReviewVersion::V1 {
        let kind = review.str("kind").unwrap_or_default();
        let ApiVersion { group, version } =
            ApiVersion::parse(review.str("apiVersion").unwrap_or_default()).unwrap_or_default();
        if (&*group, &*version, kind) != (GROUP, "v1", KIND) {
            let expected = format!("{GROUP}/v1, Kind={KIND}");
            return Err(format!(
                "expected webhook response of {expected}, got {group}/{version}, Kind={kind}"
            ));
        }
    }
    let Some(Value::Map(mut response)) = review.remove("response") else {
        return Err("no response provided".to_owned());
    };
    let found = response.str("uid").unwrap_or_default();
    if form == ReviewVersion::V1 && found != uid {
        return Err(format!("expected response.uid={}, got {}", quote(uid), quote(found)));
    }
    let result = |key: &str| response.map("result").and_then(|it| it.str(key)).unwrap_or_default();
    if result("status") != "Success" {
        return Err(match (result("message"), result("status")) {
            ("", status) => format!("response.result.status was '{status}', not 'Success'"),
            (message, _) => message.to_owned(),
        });
    }
    match response.remove("convertedObjects") {
        Some(Value::List(objects)) => Ok(objects),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use keelson_codec::json;
    use keelson_object::Value;
    use keelson_webhook_client::ReviewVersion::{self, V1, V1beta1};

    use super::{converted_objects, question, typed};

    /// How many objects are in an answer, or what is said of it.
    #[track_caller]
    fn check(form: ReviewVersion, answer: &str, expected: Result<usize, &str>) {
        let Value::Map(review) = json::read(answer.as_bytes()).expect("it is JSON").value else {
            panic!("{answer} is no object");
        };
        let found = typed(form, review).and_then(|it| converted_objects(form, "u", it)).map(|it| it.len());
        assert_eq!(found, expected.map_err(str::to_owned), "{answer}");
    }

    fn v1(response: &str) -> String {
        let head = r#""kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1""#;
        format!(r#"{{{head},"response":{response}}}"#)
    }

    const SUCCESS: &str = r#"{"uid":"u","convertedObjects":[{},{}],"result":{"status":"Success"}}"#;

    #[test]
    fn a_question_names_the_version_that_is_wanted() {
        let objects = [Bytes::from_static(b"{\"a\":1}"), Bytes::from_static(b"{}")];
        assert_eq!(
            question(V1beta1, "u", "example.com/v2", &objects),
            r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"u","desiredAPIVersion":"example.com/v2","objects":[{"a":1},{}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#
        );
    }

    #[test]
    fn the_answer_is_a_successful_review_of_what_was_asked() {
        check(V1, &v1(SUCCESS), Ok(2));
        check(V1, &v1(r#"{"uid":"u","result":{"status":"Success"}}"#), Ok(0));
        let other = r#"{"uid":"x","result":{"status":"Success"}}"#;
        check(V1, &v1(other), Err(r#"expected response.uid="u", got "x""#));
        check(V1, &v1("null"), Err("no response provided"));
        let nothing = "response.result.status was '', not 'Success'";
        check(V1, &v1(r#"{"uid":"u"}"#), Err(nothing));
        let failure = r#"{"uid":"u","result":{"status":"Failure"}}"#;
        check(V1, &v1(failure), Err("response.result.status was 'Failure', not 'Success'"));
        let told = r#"{"uid":"u","result":{"status":"Failure","message":"no idea"}}"#;
        check(V1, &v1(told), Err("no idea"));
    }

    #[test]
    fn v1beta1_looks_neither_at_the_uid_nor_at_a_missing_kind() {
        check(V1beta1, &format!(r#"{{"response":{}}}"#, SUCCESS.replace("\"u\"", "\"x\"")), Ok(2));
        check(V1beta1, "{}", Err("no response provided"));
        let expected =
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=";
        check(V1, &format!(r#"{{"response":{SUCCESS}}}"#), Err(expected));
    }

    #[test]
    fn an_answer_of_another_kind_is_not_read() {
        let converting = "converting (v1.ConversionReview) to (v1beta1.ConversionReview): unknown conversion";
        check(V1beta1, &v1(SUCCESS), Err(converting));
        let status = r#"{"kind":"Status","apiVersion":"v1"}"#;
        check(V1, status, Err("converting (v1.Status) to (v1.ConversionReview): unknown conversion"));
        check(
            V1,
            r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}"#,
            Err(
                r#"no kind "AdmissionReview" is registered for version "admission.k8s.io/v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71""#,
            ),
        );
    }

    #[test]
    fn values_have_the_types_of_a_review() {
        let wrong = "json: cannot unmarshal number into Go struct field ConversionResponse.response.uid of type types.UID";
        check(V1, &v1(r#"{"uid":7}"#), Err(wrong));
        let wrong = "json: cannot unmarshal string into Go struct field ConversionResponse.response.convertedObjects of \
                     type []runtime.RawExtension";
        check(V1, &v1(r#"{"uid":"u","convertedObjects":"x"}"#), Err(wrong));
    }
}
