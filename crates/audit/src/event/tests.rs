//! Tests of the encoding of events.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use keelson_status::Status;

use super::json::{Form, Objects};
use super::{Event, ObjectReference, UserInfo};
use crate::{Level, Stage};

#[track_caller]
fn check(event: &Event, form: Form, objects: Objects, expected: &str) {
    let mut out = BytesMut::new();
    event.write_json(form, objects, &mut out);
    assert_eq!(std::str::from_utf8(&out).expect("text"), expected);
}

fn event() -> Event {
    Event {
        level: Level::RequestResponse,
        audit_id: "id".to_owned(),
        stage: Stage::ResponseComplete,
        request_uri: "/api/v1?a=1&b=2".to_owned(),
        verb: "create".to_owned(),
        user: UserInfo {
            username: "jane".to_owned(),
            uid: "7".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            extra: BTreeMap::from([("k".to_owned(), vec!["v".to_owned()])]),
        },
        source_ips: vec!["127.0.0.1".to_owned()],
        user_agent: "kubectl".to_owned(),
        object: Some(ObjectReference {
            resource: "configmaps".to_owned(),
            namespace: "default".to_owned(),
            api_version: "v1".to_owned(),
            ..ObjectReference::default()
        }),
        code: 201,
        request_object: Some(Bytes::from_static(b"{\"a\":1}")),
        response_object: Some(Bytes::from_static(b"{\"b\":2}")),
        received: Duration::new(1_800_000_000, 120_000_000),
        stage_time: Duration::new(1_800_000_000, 123_456_789),
        annotations: BTreeMap::from([("b".to_owned(), "2".to_owned())]),
        ..Event::default()
    }
}

#[test]
fn an_event_is_written_as_go_writes_it() {
    check(
        &event(),
        Form::Whole,
        Objects::All,
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id","stage":"ResponseComplete","requestURI":"/api/v1?a=1\u0026b=2","verb":"create","user":{"username":"jane","uid":"7","groups":["a","b"],"extra":{"k":["v"]}},"sourceIPs":["127.0.0.1"],"userAgent":"kubectl","objectRef":{"resource":"configmaps","namespace":"default","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"requestObject":{"a":1},"responseObject":{"b":2},"requestReceivedTimestamp":"2027-01-15T08:00:00.120000Z","stageTimestamp":"2027-01-15T08:00:00.123456Z","annotations":{"b":"2"}}"#,
    );
}

#[test]
fn what_is_left_out_is_said() {
    let event = Event { source_ips: Vec::new(), user_agent: String::new(), object: None, ..event() };
    check(
        &event,
        Form::Item,
        Objects::LeftOut,
        r#"{"level":"RequestResponse","auditID":"id","stage":"ResponseComplete","requestURI":"/api/v1?a=1\u0026b=2","verb":"create","user":{"username":"jane","uid":"7","groups":["a","b"],"extra":{"k":["v"]}},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2027-01-15T08:00:00.120000Z","stageTimestamp":"2027-01-15T08:00:00.123456Z","annotations":{"audit.k8s.io/truncated":"true","b":"2"}}"#,
    );
}

#[test]
fn a_status_is_repeated_with_the_code() {
    let event = Event {
        level: Level::Metadata,
        user: UserInfo::default(),
        impersonated_user: Some(UserInfo { username: "bob".to_owned(), ..UserInfo::default() }),
        impersonation_constraint: "impersonate:user-info",
        source_ips: Vec::new(),
        user_agent: String::new(),
        object: None,
        code: 404,
        status: Some(Box::new(Status::not_found("", "configmaps", "a"))),
        request_object: None,
        response_object: None,
        annotations: BTreeMap::new(),
        ..event()
    };
    check(
        &event,
        Form::Item,
        Objects::All,
        r#"{"level":"Metadata","auditID":"id","stage":"ResponseComplete","requestURI":"/api/v1?a=1\u0026b=2","verb":"create","user":{},"impersonatedUser":{"username":"bob"},"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},"responseStatus":{"metadata":{},"status":"Failure","message":"configmaps \"a\" not found","reason":"NotFound","details":{"name":"a","kind":"configmaps"},"code":404},"requestReceivedTimestamp":"2027-01-15T08:00:00.120000Z","stageTimestamp":"2027-01-15T08:00:00.123456Z"}"#,
    );
}

#[test]
fn there_is_a_line_for_people() {
    assert_eq!(
        event().to_line(),
        r#"2027-01-15T08:00:00.12Z AUDIT: id="id" stage="ResponseComplete" ip="127.0.0.1" method="create" user="jane" groups="\"a\",\"b\"" as="<self>" asgroups="<lookup>" user-agent="kubectl" namespace="default" uri="/api/v1?a=1&b=2" response="201""#
    );
    let nobody = Event { received: Duration::from_secs(1_800_000_000), ..Event::default() };
    assert_eq!(
        nobody.to_line(),
        r#"2027-01-15T08:00:00Z AUDIT: id="" stage="ResponseStarted" ip="<unknown>" method="" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="" response="<deferred>""#
    );
}

#[test]
fn long_names_of_clients_are_cut() {
    assert_eq!(Event::cut_user_agent("kubectl"), "kubectl");
    let cut = Event::cut_user_agent(&"x".repeat(2000));
    assert_eq!((cut.len(), cut.ends_with("x...TRUNCATED")), (1024 + 12, true));
}
