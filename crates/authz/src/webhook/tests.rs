//! Tests of the webhook authorizer over a socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keelson_object::selector::{field, label};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Retry, ReviewVersion, Target as Place};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{OnFailure, Webhook, WebhookObserver, WebhookSettings, review};
use crate::{Attributes, Authorizer, Decision, Selectors, Subject, Target, Verdict};

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl WebhookObserver for Seen {
    fn asked(&self, webhook: &str, result: &'static str, _: Duration) {
        self.0.lock().push(format!("{webhook} {result}"));
    }

    fn failed_open(&self, webhook: &str, result: &'static str) {
        self.0.lock().push(format!("{webhook} open {result}"));
    }
}

/// Answers every request with the next of `replies`, `status body`, then with the last one; records the
/// requests.
async fn somebody(replies: Vec<String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/authorize", listener.local_addr().expect("an address"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    keelson_stdx::task::spawn("somebody", async move {
        for number in 0.. {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut text = Vec::new();
            loop {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).await.unwrap_or(0);
                text.extend_from_slice(&part[..count]);
                let whole = String::from_utf8_lossy(&text);
                let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if count == 0 || length.and_then(|it| it.parse().ok()) == Some(body.len()) {
                    kept.lock().push(body.to_owned());
                    break;
                }
            }
            let reply: &String = &replies[number.min(replies.len() - 1)];
            let (status, body) = reply.split_once(' ').expect("status body");
            let answer = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

fn webhook(url: &str, on_failure: OnFailure, clock: &Clock, seen: &Arc<Seen>) -> Webhook {
    let settings = WebhookSettings {
        name: "hook".to_owned(),
        version: ReviewVersion::V1,
        authorized_ttl: Duration::from_secs(60),
        unauthorized_ttl: Duration::from_secs(1),
        timeout: Duration::from_secs(30),
        on_failure,
        retry: Retry { attempts: 2, ..Retry::from(Duration::ZERO) },
    };
    let client = Client::new(Place::new(url), &Clock::real()).expect("a client");
    Webhook::new(client, settings, seen.clone(), clock.clone())
}

async fn ask(webhook: &Webhook, path: &str) -> Verdict {
    let groups = ["dev".to_owned()];
    let extra = BTreeMap::from([("k".to_owned(), vec!["v".to_owned()])]);
    let user = Subject { name: "jane", uid: "7", groups: &groups, extra: &extra };
    let attributes =
        Attributes { user, verb: "get", target: Target::Path, path, selectors: Selectors::default() };
    webhook.authorize(&attributes).await
}

fn reply(status: &str) -> String {
    format!(
        r#"200 {{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{status}}}"#
    )
}

async fn check(replies: &[String], on_failure: OnFailure, expected: (Decision, &str), seen: &[&str]) {
    let (url, _) = somebody(replies.to_vec()).await;
    let noted = Arc::new(Seen::default());
    let verdict = ask(&webhook(&url, on_failure, &Clock::real(), &noted), "/x").await;
    let error = verdict.error.map(|it| it.to_string()).unwrap_or_default();
    assert_eq!((verdict.decision, error.replace(&url, "URL").as_str()), expected);
    assert_eq!(*noted.0.lock(), seen);
}

#[tokio::test]
async fn answers_are_taken() {
    let (no_opinion, deny) = (OnFailure::NoOpinion, OnFailure::Deny);
    let allowed = Decision::Allow { reason: "fine".into() };
    check(&[reply(r#"{"allowed":true,"reason":"fine"}"#)], no_opinion, (allowed, ""), &["hook success"])
        .await;
    let denied = Decision::Deny { reason: "bad".into() };
    let both = "webhook subject access review returned both allow and deny response";
    check(&[reply(r#"{"denied":true,"reason":"bad"}"#)], no_opinion, (denied.clone(), ""), &["hook success"])
        .await;
    let confused = reply(r#"{"denied":true,"allowed":true,"reason":"bad"}"#);
    check(&[confused], no_opinion, (denied, both), &["hook success"]).await;
    check(&[reply("{}")], deny, (Decision::NO_OPINION, ""), &["hook success"]).await;
    let again = ["500 x".to_owned(), reply(r#"{"allowed":true}"#)];
    check(&again, no_opinion, (Decision::ALLOW, ""), &["hook error", "hook success"]).await;
}

#[tokio::test]
async fn silence_is_what_the_operator_says() {
    let refused = "x";
    let open = &["hook error", "hook open error"][..];
    check(&["403 x".to_owned()], OnFailure::NoOpinion, (Decision::NO_OPINION, refused), open).await;
    check(&["403 x".to_owned()], OnFailure::Deny, (Decision::DENY, refused), &["hook error"]).await;
    let late = "the server was unable to return a response in the time allotted, but may still be processing the request";
    let twice = &["hook timeout", "hook timeout", "hook open timeout"];
    check(&["504 x".to_owned()], OnFailure::NoOpinion, (Decision::NO_OPINION, late), twice).await;
    let garbage = "couldn't get version/kind; json parse error: unexpected end of JSON input";
    check(&["200 {".to_owned()], OnFailure::NoOpinion, (Decision::NO_OPINION, garbage), open).await;
    let other = r#"200 {"apiVersion":"v1","kind":"Pod"}"#.to_owned();
    let no_kind = "converting (v1.Pod) to (v1.SubjectAccessReview): unknown conversion";
    check(&[other], OnFailure::Deny, (Decision::DENY, no_kind), &["hook error"]).await;
}

#[tokio::test]
async fn who_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let url = format!("http://{address}/authorize");
    let verdict = ask(&webhook(&url, OnFailure::Deny, &Clock::real(), &Arc::default()), "/x").await;
    assert_eq!(verdict.decision, Decision::DENY);
    let expected = format!("Post \"{url}?timeout=30s\": dial tcp {address}: connect: connection refused");
    assert_eq!(verdict.error.map(|it| it.to_string()), Some(expected));
}

#[tokio::test]
async fn answers_are_remembered_for_a_while() {
    let (url, asked) = somebody(vec![reply(r#"{"allowed":true}"#), reply("{}")]).await;
    let (clock, hand) = Clock::manual();
    let webhook = webhook(&url, OnFailure::Deny, &clock, &Arc::new(Seen::default()));
    let count = || asked.lock().len();
    assert!(ask(&webhook, "/x").await.decision.is_allowed());
    hand.advance(Duration::from_secs(59));
    assert!(ask(&webhook, "/x").await.decision.is_allowed());
    assert_eq!(count(), 1);
    hand.advance(Duration::from_secs(1));
    assert!(!ask(&webhook, "/x").await.decision.is_allowed());
    assert!(!ask(&webhook, "/x").await.decision.is_allowed());
    assert_eq!(count(), 2);
    hand.advance(Duration::from_secs(1));
    assert!(!ask(&webhook, "/x").await.decision.is_allowed());
    assert_eq!(count(), 3);
    // Overlong requests are never cached.
    let long = format!("/{}", "x".repeat(10_000));
    ask(&webhook, &long).await;
    ask(&webhook, &long).await;
    assert_eq!(count(), 5);
    assert_eq!(
        asked.lock()[0],
        r#"{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"},"user":"jane","groups":["dev"],"extra":{"k":["v"]},"uid":"7"},"status":{"allowed":false}}"#
    );
}

#[test]
fn resources_are_asked_about_with_their_selectors() {
    let fields = field::Selector::parse("spec.nodeName=one,status.phase!=Failed").expect("a selector");
    let labels = label::Selector::parse("app in (b,a),!old,n>1").expect("a selector");
    let target = Target::Resource {
        namespace: "ns",
        api_group: "apps",
        api_version: "v1",
        resource: "pods",
        subresource: "",
        name: "",
    };
    let groups = ["dev".to_owned()];
    let user = Subject { name: "jane", uid: "", groups: &groups, extra: &BTreeMap::new() };
    let selectors = Selectors { fields: fields.terms(), labels: labels.requirements() };
    let attributes = Attributes { user, verb: "list", target, path: "", selectors };
    let text = |version| String::from_utf8(review::spec(&attributes, version).to_vec()).expect("text");
    assert_eq!(
        text(ReviewVersion::V1beta1),
        r#"{"resourceAttributes":{"namespace":"ns","verb":"list","group":"apps","version":"v1","resource":"pods","fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["one"]},{"key":"status.phase","operator":"NotIn","values":["Failed"]}]},"labelSelector":{"requirements":[{"key":"app","operator":"In","values":["a","b"]},{"key":"old","operator":"DoesNotExist"}]}},"user":"jane","group":["dev"]}"#
    );
    assert!(text(ReviewVersion::V1).contains(r#""groups":["dev"]"#));
}
