//! Every constructor against what upstream writes.

use keelson_object::{FieldErrors, Path};

use crate::{Cause, Details, Status, cause};

/// `rest` is the object after `"metadata":{},`.
fn check(status: &Status, rest: &str) {
    let expected = format!(r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},{rest}}}"#);
    assert_eq!(status.to_json_text(), expected);
}

#[test]
fn objects_are_there_or_not() {
    check(
        &Status::not_found("apps", "deployments", "web"),
        r#""status":"Failure","message":"deployments.apps \"web\" not found","reason":"NotFound","details":{"name":"web","group":"apps","kind":"deployments"},"code":404"#,
    );
    check(
        &Status::already_exists("", "pods", "web"),
        r#""status":"Failure","message":"pods \"web\" already exists","reason":"AlreadyExists","details":{"name":"web","kind":"pods"},"code":409"#,
    );
    check(
        &Status::generate_name_conflict("", "pods", "web-x", 1),
        r#""status":"Failure","message":"pods \"web-x\" already exists, the server was not able to generate a unique name for the object","reason":"AlreadyExists","details":{"name":"web-x","kind":"pods","retryAfterSeconds":1},"code":409"#,
    );
    check(
        &Status::conflict("", "pods", "web", "the object has been modified"),
        r#""status":"Failure","message":"Operation cannot be fulfilled on pods \"web\": the object has been modified","reason":"Conflict","details":{"name":"web","kind":"pods"},"code":409"#,
    );
    check(&Status::gone("gone"), r#""status":"Failure","message":"gone","reason":"Gone","code":410"#);
    check(
        &Status::resource_expired("too old resource version: 1 (2)"),
        r#""status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410"#,
    );
}

#[test]
fn access_is_refused_in_three_ways() {
    check(
        &Status::unauthorized("Unauthorized"),
        r#""status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401"#,
    );
    assert_eq!(Status::unauthorized("").message, "not authorized");
    check(
        &Status::forbidden("", "", "", "User \"a\" cannot get path \"/x\""),
        r#""status":"Failure","message":"forbidden: User \"a\" cannot get path \"/x\"","reason":"Forbidden","details":{},"code":403"#,
    );
    check(
        &Status::forbidden("apps", "deployments", "", "no"),
        r#""status":"Failure","message":"deployments.apps is forbidden: no","reason":"Forbidden","details":{"group":"apps","kind":"deployments"},"code":403"#,
    );
    check(
        &Status::forbidden("apps", "deployments", "web", "no"),
        r#""status":"Failure","message":"deployments.apps \"web\" is forbidden: no","reason":"Forbidden","details":{"name":"web","group":"apps","kind":"deployments"},"code":403"#,
    );
}

#[test]
fn invalid_objects_list_their_mistakes() {
    let mut errors = FieldErrors::default();
    check(
        &Status::invalid("apps", "Deployment", "web", &errors),
        r#""status":"Failure","message":"Deployment.apps \"web\" is invalid","reason":"Invalid","details":{"name":"web","group":"apps","kind":"Deployment"},"code":422"#,
    );
    let at = Path::root("spec.replicas");
    errors.invalid(&at, -1, "must be greater than or equal to 0");
    check(
        &Status::invalid("", "Pod", "web", &errors),
        r#""status":"Failure","message":"Pod \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0","reason":"Invalid","details":{"name":"web","kind":"Pod","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: -1: must be greater than or equal to 0","field":"spec.replicas"}]},"code":422"#,
    );
    errors.required(&Path::root("metadata").key("name"), "name or generateName is required");
    errors.invalid(&at, -1, "must be greater than or equal to 0");
    let status = Status::invalid("", "Pod", "", &errors);
    let expected = "Pod \"\" is invalid: [spec.replicas: Invalid value: -1: must be greater than or equal to 0, \
        metadata.name: Required value: name or generateName is required]";
    assert_eq!(status.message, expected);
    assert_eq!(status.details.map(|it| it.causes.len()), Some(3));
}

#[test]
fn requests_can_be_wrong_in_many_ways() {
    check(
        &Status::bad_request("no"),
        r#""status":"Failure","message":"no","reason":"BadRequest","code":400"#,
    );
    check(
        &Status::method_not_supported("apps", "deployments", "patch"),
        r#""status":"Failure","message":"patch is not supported on resources of kind \"deployments.apps\"","reason":"MethodNotAllowed","details":{"group":"apps","kind":"deployments"},"code":405"#,
    );
    check(
        &Status::not_acceptable(&["application/json", "application/yaml"]),
        r#""status":"Failure","message":"only the following media types are accepted: application/json, application/yaml","reason":"NotAcceptable","code":406"#,
    );
    check(
        &Status::not_acceptable_conversion("meta.k8s.io/v1, Kind=Table", &["application/json"]),
        r#""status":"Failure","message":"only the following media types are accepted when converting to meta.k8s.io/v1, Kind=Table: application/json","reason":"NotAcceptable","code":406"#,
    );
    check(
        &Status::unsupported_media_type(&["application/json"]),
        r#""status":"Failure","message":"the body of the request was in an unknown format - accepted media types include: application/json","reason":"UnsupportedMediaType","code":415"#,
    );
    check(
        &Status::request_entity_too_large("limit is 3145728"),
        r#""status":"Failure","message":"Request entity too large: limit is 3145728","reason":"RequestEntityTooLarge","code":413"#,
    );
}

#[test]
fn the_server_can_fail_too() {
    check(
        &Status::internal_error("boom"),
        r#""status":"Failure","message":"Internal error occurred: boom","reason":"InternalError","details":{"causes":[{"message":"boom"}]},"code":500"#,
    );
    check(&Status::unclassified(500, "boom"), r#""status":"Failure","message":"boom","code":500"#);
    check(
        &Status::server_timeout("", "pods", "list", 2),
        r#""status":"Failure","message":"The list operation against pods could not be completed at this time, please try again.","reason":"ServerTimeout","details":{"name":"list","kind":"pods","retryAfterSeconds":2},"code":500"#,
    );
    check(
        &Status::timeout("request did not complete within the allotted timeout", 0),
        r#""status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504"#,
    );
    check(
        &Status::too_large_resource_version(9, 5, 1),
        r#""status":"Failure","message":"Timeout: Too large resource version: 9, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504"#,
    );
    check(
        &Status::too_many_requests("storage is (re)initializing", 1),
        r#""status":"Failure","message":"storage is (re)initializing","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429"#,
    );
    check(
        &Status::service_unavailable("down"),
        r#""status":"Failure","message":"down","reason":"ServiceUnavailable","code":503"#,
    );
    assert_eq!(Status::too_many_requests("x", 7).retry_after_seconds(), Some(7));
    assert_eq!(Status::timeout("x", 0).retry_after_seconds(), None);
}

#[test]
fn conflicts_of_managers_are_causes() {
    let cause = Cause {
        reason: cause::FIELD_MANAGER_CONFLICT.into(),
        message: "conflict with \"kubectl\"".to_owned(),
        field: ".spec.replicas".to_owned(),
    };
    check(
        &Status::apply_conflict(vec![cause], "Apply failed with 1 conflict"),
        r#""status":"Failure","message":"Apply failed with 1 conflict","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\"","field":".spec.replicas"}]},"code":409"#,
    );
}

#[test]
fn deletions_answer_with_what_was_deleted() {
    let status = Status::success(Details {
        name: "web".to_owned(),
        kind: "pods".to_owned(),
        uid: "u-1".to_owned(),
        ..Details::default()
    });
    check(&status, r#""status":"Success","details":{"name":"web","kind":"pods","uid":"u-1"}"#);
    assert_eq!(status.http_code(), 200);
}

#[test]
fn an_expired_list_can_be_continued() {
    let mut status = Status::resource_expired("The provided continue parameter is too old");
    status.continue_token = "abc".to_owned();
    assert_eq!(
        status.to_json_text(),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"abc"},"status":"Failure","message":"The provided continue parameter is too old","reason":"Expired","code":410}"#
    );
}
