//! Webhook reviews of immediate deletions, and warnings from webhooks to clients, as upstream does.

use keelson_testkit::{Options, RunningServer, fixture};
use keelson_tests::upstream::Upstream;
use keelson_tests::webhooks::{MAPS, Side, differences};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/hooked/pods";

/// The warnings of webhooks, as they are in their answers.
fn warnings() -> Vec<String> {
    let list = |texts: &[&str]| json!(texts).to_string();
    let same = |count: usize, width: usize, letter: char| {
        let texts = (0..count).map(|it| format!("{it:03}{}", letter.to_string().repeat(width - 3)));
        json!(texts.collect::<Vec<_>>()).to_string()
    };
    let with = |count: usize, width: usize, more: &[&str]| {
        let mut texts: Vec<Value> = serde_json::from_str(&same(count, width, 'x')).unwrap_or_default();
        texts.extend(more.iter().map(|it| json!(it)));
        json!(texts).to_string()
    };
    vec![
        list(&[]),
        "null".to_owned(),
        list(&["a", "b", "a", "", " ", "b "]),
        list(&["\"quoted\" and \\ back", "é 😀 日本", "299 - \"no\"", "a, b; c=d"]),
        list(&["one\nline", "tab\there", "good", "\u{7f}", "\u{85}", "bell\u{7}", "\u{2028}", "\u{feff}"]),
        // Unpaired surrogates, which are not valid text.
        r#"["\ud800x", "\udc00", "\ud83d\ude00"]"#.to_owned(),
        r#"[null, "a", ""]"#.to_owned(),
        r#"["a", 7]"#.to_owned(),
        r#""text""#.to_owned(),
        r#"{"a": "b"}"#.to_owned(),
        // And what else can be wrong with an answer.
        r#"[], "allowed": "true""#.to_owned(),
        r#"[], "auditAnnotations": {"a": true}"#.to_owned(),
        r#"[], "auditAnnotations": []"#.to_owned(),
        r#"[], "status": {"code": "x"}"#.to_owned(),
        r#"[], "status": []"#.to_owned(),
        r#"[], "patch": 7"#.to_owned(),
        r#"[], "patch": "no base64""#.to_owned(),
        r#"[], "patch": [300]"#.to_owned(),
        r#"[], "patchType": 7"#.to_owned(),
        r#"[], "uid": 7"#.to_owned(),
        list(&[&"x".repeat(4096)]),
        list(&[&"x".repeat(4097), "b"]),
        list(&[&"é".repeat(4096), "b"]),
        list(&[&"😀".repeat(5000), "b"]),
        same(16, 256, 'x'),
        with(16, 256, &["a", "b"]),
        with(15, 256, &[&"y".repeat(255), "z", "a"]),
        same(30, 300, 'x'),
        same(30, 300, '"'),
        same(200, 45, 'é'),
        same(3000, 20, 'x'),
        list(&[&format!("{}\n", "x".repeat(5000)), "b"]),
        list(&[&format!("{}\n", "x".repeat(5000)), &"y".repeat(5000), "b"]),
    ]
}

async fn heard(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    side.post("MutatingWebhookConfiguration", "/warn-again", &json!({})).await.expect(201);
    side.validating("/warn", &json!({})).await;
    let object = |said: &str| json!({"metadata": {"name": "told"}, "data": {"said": said}});
    for said in warnings() {
        let made = side.client.post(&format!("{MAPS}?dryRun=All"), &object(&said)).await;
        answers.push(format!("{}: {}", said.chars().take(60).collect::<String>(), side.shown(&made)));
    }
    // What the server itself has to say comes first, and the rest has less space.
    let mut odd = object(&json!(["x".repeat(4000)]).to_string());
    odd["unknown"] = json!(1);
    odd["u".repeat(90)] = json!(1);
    let made = side.client.post(&format!("{MAPS}?dryRun=All&fieldValidation=Warn"), &odd).await;
    answers.push(side.shown(&made));
    side.forget().await;
    answers
}

/// Pods that are deleted at once, and the reviews of each deletion. Upstream sends one more review if its
/// cache is late: duplicate reviews count once.
async fn vanished(side: &Side) -> Vec<String> {
    let pods = json!({"rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
    side.validating("/see", &pods).await;
    let before = side.questions().len();
    let mut answers = Vec::new();
    for (name, node, deletions) in [
        ("unscheduled", "", vec![json!({})]),
        ("forced", "n", vec![json!({"gracePeriodSeconds": 0})]),
        ("hurried", "n", vec![json!({"gracePeriodSeconds": 1}), json!({"gracePeriodSeconds": 0})]),
        ("patient", "n", vec![json!({}), json!({}), json!({"gracePeriodSeconds": 0})]),
        ("dry", "", vec![json!({"dryRun": ["All"]}), json!({"gracePeriodSeconds": -3})]),
        ("held", "", vec![json!({}), json!({})]),
    ] {
        let mut pod = fixture::small_pod(name);
        pod["spec"]["nodeName"] = json!(node);
        if name == "held" {
            pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
        }
        side.client.post(PODS, &pod).await.expect(201);
        for options in deletions {
            let gone = side.client.delete_with(&format!("{PODS}/{name}"), &options).await;
            answers.push(format!("{name} {options}: {}", side.shown(&gone)));
        }
    }
    let mut asked = side.questions().split_off(before);
    asked.dedup();
    answers.extend(asked);
    side.forget().await;
    answers
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn warnings_and_pods_that_go_at_once_are_as_with_upstream() {
    let test = "warnings_and_pods_that_go_at_once_are_as_with_upstream";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let server = RunningServer::start(Options::default()).await;
    let (theirs, ours) = (Side::slow(upstream.client().clone()).await, Side::slow(server.client()).await);
    let all = async |side: &Side| {
        let mut answers = Box::pin(heard(side)).await;
        answers.extend(Box::pin(vanished(side)).await);
        answers
    };
    let (expected, found) = tokio::join!(all(&theirs), all(&ours));
    let different = differences(&expected, &found);
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
    let asked_of = |name: &str| found.iter().filter(|it| it.starts_with("POST") && it.contains(name)).count();
    assert_eq!((asked_of("\"unscheduled\""), asked_of("\"patient\"")), (2, 3), "{found:#?}");
}
