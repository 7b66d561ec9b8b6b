//! ImagePolicyWebhook: its calls, decisions and audit annotations, compared with upstream.

use std::fs;
use std::path::Path;

use keelson_testkit::{Asked, Callee, Options, RunningServer, fixture};
use keelson_tests::upstream::{Accounts, Upstream};
use keelson_tests::webhooks::{Side, audited, differences};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/hooked/pods";

const AUDIT: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  namespaces: [hooked]
- level: None
";

/// A webhook whose answer depends on the first image.
fn backend(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let answer = |status: Value| {
        let review = json!({"apiVersion": review["apiVersion"], "kind": "ImageReview", "status": status});
        (200, review.to_string())
    };
    match review["spec"]["containers"][0]["image"].as_str().unwrap_or_default() {
        "good" => answer(json!({"allowed": true})),
        "bad" => answer(json!({"allowed": false, "reason": "it is bad"})),
        "silent" => answer(json!({})),
        "noted" => answer(json!({
            "allowed": true,
            "auditAnnotations": {"seen": "yes", "audit-required": "true", "not a name": "x", "two/parts": "x", "": "x"},
        })),
        "noted-bad" => answer(json!({"allowed": false, "auditAnnotations": {"seen": "no"}})),
        "error" => {
            (500, r#"{"kind":"Status","status":"Failure","message":"out of order","code":500}"#.to_owned())
        }
        "forbidden" => (
            403,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not you","reason":"Forbidden","code":403}"#
                .to_owned(),
        ),
        "garbage" => (200, "not a review".to_owned()),
        "yaml" => (200, "kind: ImageReview\nstatus: {allowed: true}\n".to_owned()),
        "other" => (200, r#"{"kind":"Pod","apiVersion":"v1"}"#.to_owned()),
        _ => (404, "404 page not found".to_owned()),
    }
}

/// The flags of a server that asks `backend`, and writes an audit log.
fn flags(folder: &Path, backend: &Callee, is_open: bool) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    fs::create_dir_all(folder).expect("a folder");
    fs::write(file("backend.kubeconfig"), backend.kubeconfig("/review", "secret")).expect("a file");
    fs::write(file("policy.yaml"), AUDIT).expect("a file");
    let policy = json!({
        "kubeConfigFile": file("backend.kubeconfig"), "allowTTL": 60, "denyTTL": 60, "retryBackoff": 1,
        "defaultAllow": is_open,
    });
    let admission = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": policy}}],
    });
    fs::write(file("admission.yaml"), admission.to_string()).expect("a file");
    vec![
        "--enable-admission-plugins=ImagePolicyWebhook".to_owned(),
        format!("--admission-control-config-file={}", file("admission.yaml")),
        format!("--audit-policy-file={}", file("policy.yaml")),
        format!("--audit-log-path={}", file("audit.log")),
    ]
}

fn pod(name: &str, image: &str) -> Value {
    let mut pod = fixture::small_pod(name);
    pod["spec"]["containers"][0]["image"] = json!(image);
    pod["metadata"]["annotations"] = json!({"mine.image-policy.k8s.io/ticket": "7", "other": "x"});
    pod
}

async fn dialogue(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let pods = json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
    side.validating("/see", &pods).await;
    for image in [
        "good",
        "bad",
        "silent",
        "noted",
        "noted-bad",
        "error",
        "forbidden",
        "garbage",
        "yaml",
        "other",
        "missing",
    ] {
        let made = client.post(PODS, &pod(image, image)).await;
        answers.push(format!("{image}: {}", side.shown(&made)));
        answers.push(side.shown(&client.get(&format!("{PODS}/{image}")).await));
    }
    // Cached answers are not requested again, and changes of labels are not checked.
    answers.push(side.shown(&client.post(PODS, &pod("again", "bad")).await));
    answers.push(side.shown(&client.post(PODS, &pod("noted-again", "noted")).await));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    answers.push(
        side.shown(&client.patch(&format!("{PODS}/good"), "application/merge-patch+json", &label).await),
    );
    let debug = json!({"spec": {"ephemeralContainers": [{"name": "d", "image": "bad"}]}});
    let path = format!("{PODS}/good/ephemeralcontainers");
    let answer = client.patch(&path, "application/strategic-merge-patch+json", &debug).await;
    answers.push(side.shown(&answer));
    answers.extend(side.questions());
    side.forget().await;
    answers
}

/// The audit annotations about images.
fn noted(folder: &Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("audit.log")).unwrap_or_default();
    let events = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let notes = events.filter_map(|event| {
        let all = event["annotations"].as_object()?.iter();
        let ours: Vec<String> = all
            .filter(|(key, _)| key.contains("image-policy"))
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        let request = format!("{} {} {}", event["verb"], event["requestURI"], event["objectRef"]["name"]);
        (!ours.is_empty()).then(|| format!("{request} {}", ours.join(" ")))
    });
    notes.collect()
}

async fn compare(test: &str, is_open: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let (at_theirs, at_ours) = (folder.path().join("theirs"), folder.path().join("ours"));
    let asked = async || Callee::open(backend).await.expect("a backend");
    let (of_theirs, of_ours) = (asked().await, asked().await);
    let given = flags(&at_theirs, &of_theirs, is_open);
    let Some(upstream) = Upstream::with(test, Accounts::Free, &given).await else { return };
    let options = flags(&at_ours, &of_ours, is_open).into_iter().fold(Options::default(), Options::argument);
    let server = RunningServer::start(options).await;
    let (theirs, ours) = (Side::slow(upstream.client().clone()).await, Side::slow(server.client()).await);
    let (expected, found) = tokio::join!(Box::pin(dialogue(&theirs)), Box::pin(dialogue(&ours)));
    let backend = |text: &String, callee: &Callee| text.replace(&callee.url(""), "https://BACKEND");
    let expected: Vec<String> = expected.iter().map(|it| backend(it, &of_theirs)).collect();
    let found: Vec<String> = found.iter().map(|it| backend(it, &of_ours)).collect();
    let mut different = differences(&expected, &found);
    let questions = |callee: &Callee| {
        let asked = callee.asked().into_iter();
        asked.map(|it| format!("{} {} {} {}", it.method, it.path, it.authorization, it.body.trim())).collect()
    };
    let (expected, found): (Vec<String>, Vec<String>) = (questions(&of_theirs), questions(&of_ours));
    different.extend(differences(&expected, &found));
    let last = format!("{PODS}/the-last");
    for (side, folder) in [(&theirs, &at_theirs), (&ours, &at_ours)] {
        side.client.get(&last).await.expect(404);
        audited(&folder.join("audit.log"), &last).await;
    }
    different.extend(differences(&noted(&at_theirs), &noted(&at_ours)));
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
    let failed_open = "imagepolicywebhook.image-policy.k8s.io/failed-open: \"true\"";
    let is_noted = noted(&at_ours).iter().any(|it| it.ends_with(failed_open));
    assert_eq!(is_noted, is_open, "{:#?}", noted(&at_ours));
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn images_are_asked_about_as_by_upstream_that_fails_open() {
    compare("images_are_asked_about_as_by_upstream_that_fails_open", true).await;
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn images_are_asked_about_as_by_upstream_that_fails_closed() {
    compare("images_are_asked_about_as_by_upstream_that_fails_closed", false).await;
}
