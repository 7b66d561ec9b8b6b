//! Error responses.

use keelson_testkit::{Answer, fixture};
use keelson_tests::Place;
use serde_json::json;

async fn check(place: &Place, asked: (&str, &str), expected: (u16, &str, &str)) {
    let (method, path) = asked;
    let (code, reason, message) = expected;
    let answer = place.client.call(method, path).send().await;
    let status = answer.refused(code, reason);
    assert_eq!(status["message"], message, "{method} {path}");
}

#[tokio::test]
async fn what_is_not_served_is_not_found() {
    const NOT_FOUND: (u16, &str, &str) =
        (404, "NotFound", "the server could not find the requested resource");
    let place = Place::new("not-found").await;
    check(&place, ("GET", "/api/v1/nope"), NOT_FOUND).await;
    check(&place, ("GET", "/apis/apps/v2"), NOT_FOUND).await;
    check(&place, ("GET", "/api/v1/namespaces/default/configmaps/x/y"), NOT_FOUND).await;
    check(
        &place,
        ("GET", "/api/v1/namespaces/default/configmaps/x"),
        (404, "NotFound", "configmaps \"x\" not found"),
    )
    .await;
    check(
        &place,
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/x"),
        (404, "NotFound", "deployments.apps \"x\" not found"),
    )
    .await;

    for path in ["/nope", "/apis/nope/v1/x", "//api/v1", "/readyz/nope"] {
        let answer = place.client.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.text(), "404 page not found\n", "{path}");
    }
}

#[tokio::test]
async fn a_wrong_method_is_not_allowed() {
    let expected =
        (405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    let place = Place::new("methods").await;
    check(&place, ("PUT", "/api/v1/namespaces"), expected).await;
    check(&place, ("POST", "/api/v1/namespaces/default/configmaps/x"), expected).await;
    check(&place, ("TRACE", "/api/v1/namespaces"), expected).await;
    check(&place, ("DELETE", "/api"), expected).await;
}

async fn post(place: &Place, media_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let call = place.client.call("POST", &place.path("configmaps"));
    call.header("content-type", media_type).body(body.into()).send().await
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_a_bad_request() {
    let place = Place::new("bodies").await;
    for (body, message) in [
        (
            "{",
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
             json parse error: unexpected end of JSON input ({)",
        ),
        (
            "",
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; \
             json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"kube-system"}}"#,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ] {
        let status = post(&place, "application/json", body).await.refused(400, "BadRequest");
        assert_eq!(status["message"], message, "{body}");
    }
    for (media_type, body) in [
        ("application/json", "[]"),
        ("application/json", "nonsense"),
        ("application/json", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}"#),
        (
            "application/json",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}"#,
        ),
        ("application/json", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}"#),
        ("application/yaml", "a: ["),
        ("application/yaml", "a: &a [*a, *a]"),
    ] {
        post(&place, media_type, body).await.refused(400, "BadRequest");
    }
    assert!(place.names("").await.iter().all(|name| name == "kube-root-ca.crt"));
}

#[tokio::test]
async fn a_strict_request_names_unknown_and_duplicate_fields() {
    let place = Place::new("strict").await;
    let path = place.path("configmaps?fieldValidation=Strict");
    for (body, fields) in [
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"dataa":{"a":"1"}}"#,
            r#"unknown field "dataa""#,
        ),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1","a":"2"}}"#,
            r#"duplicate field "data.a""#,
        ),
        (
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","b":1},"a":2}"#,
            r#"unknown field "a", unknown field "metadata.b""#,
        ),
    ] {
        let call = place.client.call("POST", &path).header("content-type", "application/json");
        let status = call.body(body).send().await.refused(400, "BadRequest");
        let message = status["message"].as_str().unwrap_or_default();
        let before = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: ";
        let found = message.strip_prefix(before).unwrap_or_else(|| panic!("{message}"));
        let sorted = |text: &str| {
            let mut parts: Vec<String> = text.split(", ").map(String::from).collect();
            parts.sort();
            parts
        };
        assert_eq!(sorted(found), sorted(fields));
    }
}

#[tokio::test]
async fn unknown_fields_are_warned_of_and_dropped() {
    let place = Place::new("warned").await;
    let mut object = fixture::config_map("x");
    object["nope"] = json!(1);
    let answer = place.client.post(&place.path("configmaps"), &object).await;
    let created = answer.expect(201);
    assert!(created.get("nope").is_none(), "{created}");
    assert_eq!(answer.header("warning"), r#"299 - "unknown field \"nope\"""#);
    object["metadata"]["name"] = json!("y");
    let path = place.path("configmaps?fieldValidation=Ignore&dryRun=All");
    let answer = place.client.post(&path, &object).await;
    answer.expect(201);
    assert_eq!(answer.header("warning"), "");
}

#[tokio::test]
async fn an_invalid_object_is_unprocessable_with_a_cause_per_field() {
    let place = Place::new("invalid").await;
    let post = async |object| place.client.post(&place.path("configmaps"), &object).await;
    let status = post(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})).await;
    let status = status.refused(422, "Invalid");
    assert_eq!(
        status["message"],
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"
    );
    assert_eq!(
        status["details"],
        json!({
            "kind": "ConfigMap",
            "causes": [{
                "reason": "FieldValueRequired",
                "message": "Required value: name or generateName is required",
                "field": "metadata.name",
            }],
        })
    );
    for name in ["A_B", "a/b", "..", "a\u{0}b", "-a", &"a".repeat(254)] {
        let status = post(fixture::config_map(name)).await.refused(422, "Invalid");
        assert_eq!(status["details"]["causes"][0]["field"], "metadata.name", "{name}");
    }
    let huge = fixture::config_map_of("huge", 1_100_000);
    let status = post(huge).await.refused(422, "Invalid");
    assert_eq!(
        status["message"],
        "ConfigMap \"huge\" is invalid: []: Too long: may not be more than 1048576 bytes"
    );
}

#[tokio::test]
async fn names_in_paths_are_not_paths() {
    let place = Place::new("paths").await;
    for name in ["..", "."] {
        let status = place.client.get(&place.path(&format!("configmaps/{name}"))).await;
        let status = status.refused(400, "BadRequest");
        assert_eq!(status["message"], format!("Name parameter invalid: \"{name}\": may not be '{name}'"));
    }
    for name in ["a%00b", "a%2Fb", "%2e%2e%2fsecrets"] {
        let answer = place.client.get(&place.path(&format!("configmaps/{name}"))).await;
        assert!(answer.status.is_client_error(), "{name}: {} {}", answer.status, answer.text());
    }
}

#[tokio::test]
async fn a_large_body_is_too_large() {
    let place = Place::new("large").await;
    let body = vec![b'a'; 3 * 1024 * 1024 + 1];
    let status = post(&place, "application/json", body).await.refused(413, "RequestEntityTooLarge");
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn media_types_that_are_not_spoken_are_refused() {
    let place = Place::new("media-types").await;
    let status = post(&place, "text/plain", "{}").await.refused(415, "UnsupportedMediaType");
    let message = status["message"].as_str().unwrap_or_default();
    assert!(
        message
            .starts_with("the body of the request was in an unknown format - accepted media types include: "),
        "{message}"
    );
    let call = place.client.call("GET", &place.path("configmaps"));
    call.header("accept", "text/html").send().await.refused(406, "NotAcceptable");
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    let place = Place::new("options").await;
    for (query, code, reason) in [
        ("limit=x", 400, "BadRequest"),
        ("labelSelector=a===b", 400, "BadRequest"),
        ("fieldSelector=spec.x%3D1", 400, "BadRequest"),
        ("resourceVersion=abc", 400, "BadRequest"),
        ("continue=abc", 400, "BadRequest"),
        ("sendInitialEvents=true", 422, "Invalid"),
        ("watch=1&sendInitialEvents=true", 422, "Invalid"),
        ("resourceVersionMatch=Exact", 422, "Invalid"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid"),
        ("resourceVersion=5&resourceVersionMatch=Nope", 422, "Invalid"),
    ] {
        let answer = place.client.get(&place.path(&format!("configmaps?{query}"))).await;
        let status = answer.refused(code, reason);
        assert!(status["message"].as_str().is_some_and(|text| !text.is_empty()), "{query}");
    }
    let object = fixture::config_map("x");
    for query in ["dryRun=Nope", "fieldValidation=Nope"] {
        let answer = place.client.post(&place.path(&format!("configmaps?{query}")), &object).await;
        answer.refused(422, "Invalid");
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_told_where() {
    let place = Place::new("where").await;
    let call = place.client.call("POST", &place.path("configmaps"));
    let answer = call.body("{\n  \"metadata\": {]\n}").send().await;
    answer.refused(400, "BadRequest");
    assert_eq!(answer.header("warning"), "299 - \"the body is no JSON at line 2, column 16\"");
    let call =
        place.client.call("POST", &place.path("configmaps")).header("content-type", "application/yaml");
    let refused = call.body("a: 1\nb: [\n").send().await.refused(400, "BadRequest");
    assert!(refused["message"].as_str().is_some_and(|text| text.contains("line ")), "{refused}");
}
