//! Admission webhooks: the same dialogue with us and with upstream, and the questions that both ask.

use std::fs;

use keelson_testkit::{Answer, Options, RunningServer, fixture};
use keelson_tests::upstream::{Accounts, Upstream};
use keelson_tests::webhooks::{CONFIGURATIONS, MAPS, Side, audited, differences};
use serde_json::{Value, json};

const MERGE: &str = "application/merge-patch+json";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/hooked/deployments";
const PODS: &str = "/api/v1/namespaces/hooked/pods";

/// Requests about objects; the responses in order.
async fn dialogue(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let mut note = |answer: &Answer| answers.push(side.shown(answer));
    let map = fixture::config_map;

    side.post("MutatingWebhookConfiguration", "/label", &json!({})).await.expect(201);
    side.validating("/judge", &json!({})).await;
    note(&client.post(MAPS, &map("good")).await);
    note(&client.post(MAPS, &map("bad")).await);
    note(&client.post(&format!("{MAPS}?dryRun=All&fieldManager=m"), &map("dry")).await);
    note(&client.put(&format!("{MAPS}/good"), &map("good")).await);
    let patch = json!({"data": {"more": "x"}});
    note(&client.patch(&format!("{MAPS}/good?fieldManager=p"), MERGE, &patch).await);
    note(&client.delete(&format!("{MAPS}/good")).await);
    note(&client.post("/api/v1/namespaces/default/configmaps", &map("elsewhere")).await);
    side.forget().await;

    side.post("MutatingWebhookConfiguration", "/count", &json!({"reinvocationPolicy": "IfNeeded"}))
        .await
        .expect(201);
    side.mutating("/label", &json!({})).await;
    note(&client.post(MAPS, &map("twice")).await);
    side.forget().await;

    for path in ["/broken-patch", "/patch-of-nonsense", "/other-name", "/invalid"] {
        side.mutating(path, &json!({})).await;
        note(&client.post(MAPS, &map("patched")).await);
        side.forget().await;
    }
    for path in ["/silent", "/other-uid", "/error", "/empty", "/missing"] {
        side.validating(path, &json!({})).await;
        note(&client.post(MAPS, &map("judged")).await);
        side.forget().await;
    }
    let open = json!({"failurePolicy": "Ignore", "sideEffects": "NoneOnDryRun"});
    side.validating("/error", &open).await;
    note(&client.post(MAPS, &map("let-through")).await);
    side.forget().await;
    let nowhere = json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}});
    side.validating("/nowhere", &nowhere).await;
    note(&client.post(MAPS, &map("unheard")).await);
    side.forget().await;
    let unknown =
        json!({"clientConfig": {"service": {"namespace": "hooked", "name": "nobody", "path": "/x"}}});
    side.validating("/service", &unknown).await;
    note(&client.post(MAPS, &map("unserved")).await);
    side.forget().await;
    answers
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn webhooks_are_asked_and_obeyed_as_by_upstream() {
    let test = "webhooks_are_asked_and_obeyed_as_by_upstream";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let server = RunningServer::start(Options::default()).await;
    let (theirs, ours) = (Side::slow(upstream.client().clone()).await, Side::slow(server.client()).await);
    let (expected, found) = tokio::join!(Box::pin(dialogue(&theirs)), Box::pin(dialogue(&ours)));
    let mut different = differences(&expected, &found);
    different.extend(differences(&theirs.questions(), &ours.questions()));
    different.extend(differences(&theirs.numbers().await, &ours.numbers().await));
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
}

fn deployment() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    })
}

fn rules(group: &str, version: &str, resources: &[&str]) -> Value {
    json!({"rules": [{"operations": ["*"], "apiGroups": [group], "apiVersions": [version], "resources": resources}]})
}

/// Requests about subresources, and with options.
async fn parts(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let mut note = |answer: &Answer| answers.push(side.shown(answer));
    let everything = rules("*", "*", &["*/*"]);
    side.post("MutatingWebhookConfiguration", "/look", &everything).await.expect(201);
    side.validating("/see", &everything).await;

    let (web, a, b, c) =
        (format!("{DEPLOYMENTS}/web"), format!("{PODS}/a"), format!("{PODS}/b"), format!("{MAPS}/c"));
    note(&client.post(DEPLOYMENTS, &deployment()).await);
    side.caught_up(&web).await;
    let scale = json!({"metadata": {"name": "web", "namespace": "hooked"}, "spec": {"replicas": 2}});
    note(&client.put(&format!("{web}/scale"), &scale).await);
    side.caught_up(&web).await;
    note(&client.patch(&format!("{web}/scale"), MERGE, &json!({"spec": {"replicas": 3}})).await);
    side.caught_up(&web).await;
    let status = json!({"status": {"replicas": 3, "observedGeneration": 1}});
    note(&client.patch(&format!("{web}/status"), MERGE, &status).await);
    side.caught_up(&web).await;
    note(&client.delete_with(&web, &json!({"propagationPolicy": "Orphan"})).await);

    note(&client.post(PODS, &fixture::small_pod("a")).await);
    side.caught_up(&a).await;
    let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}});
    note(&client.post(&format!("{a}/binding"), &binding).await);
    side.caught_up(&a).await;
    let dry = json!({"metadata": {"name": "a"}, "deleteOptions": {"dryRun": ["All"]}});
    note(&client.post(&format!("{a}/eviction"), &dry).await);
    note(&client.delete(&a).await);
    side.caught_up(&a).await;
    note(&client.delete(&a).await);
    note(&client.post(PODS, &fixture::small_pod("b")).await);
    side.caught_up(&b).await;
    note(&client.post(&format!("{b}/eviction"), &json!({"metadata": {"name": "b"}})).await);

    note(&client.post(MAPS, &fixture::config_map("c")).await);
    side.caught_up(&c).await;
    note(&client.put(&c, &fixture::config_map("c")).await);
    side.caught_up(&c).await;
    note(&client.delete(&format!("{c}?gracePeriodSeconds=5&propagationPolicy=Background&dryRun=All")).await);
    let wrong = json!({"preconditions": {"uid": "x"}});
    note(&client.delete_with(&c, &wrong).await);
    note(&client.delete_with(MAPS, &json!({"gracePeriodSeconds": 1, "orphanDependents": false})).await);
    let accounts = "/api/v1/namespaces/hooked/serviceaccounts";
    note(&client.post(accounts, &json!({"metadata": {"name": "s"}})).await);
    let token = json!({"spec": {"audiences": ["a"], "expirationSeconds": 600}});
    note(&client.post(&format!("{accounts}/s/token"), &token).await);
    side.forget().await;

    side.mutating("/seven", &rules("apps", "v1", &["deployments", "deployments/*"])).await;
    note(&client.post(DEPLOYMENTS, &deployment()).await);
    side.caught_up(&web).await;
    note(&client.put(&format!("{web}/scale"), &scale).await);
    side.forget().await;
    side.mutating("/less", &rules("apps", "v1", &["deployments/scale"])).await;
    side.caught_up(&web).await;
    note(&client.put(&format!("{web}/scale"), &scale).await);
    side.forget().await;
    answers
}

/// Rules of one version and requests in other versions.
async fn versions(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let mut note = |answer: &Answer| answers.push(side.shown(answer));
    let v2 = rules("autoscaling", "v2", &["horizontalpodautoscalers"]);
    let mut exact = v2.clone();
    exact["matchPolicy"] = json!("Exact");
    side.post("MutatingWebhookConfiguration", "/label", &v2).await.expect(201);
    side.post("ValidatingWebhookConfiguration", "/exact", &exact).await.expect(201);
    side.validating("/see", &v2).await;
    let scaler = json!({
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}, "targetCPUUtilizationPercentage": 50},
    });
    let scalers = "/apis/autoscaling/v1/namespaces/hooked/horizontalpodautoscalers";
    note(&client.post(scalers, &scaler).await);
    side.caught_up(&format!("{scalers}/h")).await;
    note(
        &client
            .patch(&format!("{scalers}/h/status"), MERGE, &json!({"status": {"currentReplicas": 1}}))
            .await,
    );
    side.caught_up(&format!("{scalers}/h")).await;
    note(&client.delete(&format!("{scalers}/h")).await);
    side.forget().await;

    // Events are the same objects in two groups.
    let (old, new) = ("/api/v1/namespaces/hooked/events", "/apis/events.k8s.io/v1/namespaces/hooked/events");
    let seen_from = |group: &str| rules(group, "v1", &["events"]);
    side.post("MutatingWebhookConfiguration", "/label", &seen_from("events.k8s.io")).await.expect(201);
    side.validating("/see", &seen_from("events.k8s.io")).await;
    note(&client.post(old, &old_event("old")).await);
    side.forget().await;
    // Upstream treats an event that was converted there and back as changed, so this step has no mutating
    // webhook.
    side.validating("/see", &seen_from("events.k8s.io")).await;
    side.caught_up(&format!("{old}/old")).await;
    note(&client.patch(&format!("{old}/old"), MERGE, &json!({"count": 2})).await);
    side.forget().await;
    side.post("MutatingWebhookConfiguration", "/label", &seen_from("")).await.expect(201);
    side.validating("/see", &seen_from("")).await;
    note(&client.post(new, &new_event("new")).await);
    side.caught_up(&format!("{new}/new")).await;
    note(&client.delete(&format!("{new}/new")).await);
    side.forget().await;
    answers
}

fn old_event(name: &str) -> Value {
    json!({
        "metadata": {"name": name}, "type": "Normal", "reason": "Because", "message": "hello", "count": 1,
        "involvedObject": {"kind": "Pod", "namespace": "hooked", "name": "p"}, "source": {"component": "c"},
    })
}

fn new_event(name: &str) -> Value {
    json!({
        "metadata": {"name": name}, "type": "Normal", "reason": "Because", "note": "hello", "action": "Do",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
        "reportingInstance": "c-1", "regarding": {"kind": "Pod", "namespace": "hooked", "name": "p"},
    })
}

/// Webhooks are not called for webhook configurations, and broken objects are not stored.
async fn breakage(side: &Side) -> Vec<String> {
    let mut answers = Vec::new();
    let client = &side.client;
    let mut note = |answer: &Answer| answers.push(side.shown(answer));
    for path in ["/number-for-text", "/text-for-object", "/no-object"] {
        side.mutating(path, &json!({})).await;
        note(&client.post(MAPS, &fixture::config_map("broken")).await);
        side.forget().await;
    }
    // A webhook that wants to keep itself, or to lose its own failure policy.
    let mut own = rules("admissionregistration.k8s.io", "*", &["*"]);
    own["namespaceSelector"] = json!({});
    side.mutating("/invalid", &own).await;
    let path = format!("{CONFIGURATIONS}/mutatingwebhookconfigurations/a-invalid");
    let before = side.callee.asked().len();
    let lost = json!([{"op": "remove", "path": "/webhooks/0/failurePolicy"}]);
    let answer = client.patch(&path, "application/json-patch+json", &lost).await;
    note(&client.get(&path).await);
    assert_eq!(answer.expect(200)["webhooks"][0]["failurePolicy"], "Fail", "it has its default again");
    note(&client.delete(&path).await);
    assert_eq!(side.callee.asked().len(), before, "nobody is asked about configurations");
    answers
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn webhooks_see_parts_versions_and_options_as_upstream_shows_them() {
    let test = "webhooks_see_parts_versions_and_options_as_upstream_shows_them";
    let folder = tempfile::tempdir().expect("a folder");
    let admission = accounts(folder.path(), "*", "everybody");
    let policy = folder.path().join("policy.yaml");
    fs::write(&policy, AUDIT).expect("a file");
    let flags = |log: &str| {
        vec![
            format!("--admission-control-config-file={admission}"),
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", folder.path().join(log).display()),
        ]
    };
    let Some(upstream) = Upstream::with(test, Accounts::Free, &flags("theirs.log")).await else { return };
    let options = flags("ours.log").into_iter().fold(Options::default(), Options::argument);
    let server = RunningServer::start(options).await;
    let (theirs, ours) = (Side::slow(upstream.client().clone()).await, Side::slow(server.client()).await);
    let all = async |side: &Side| {
        let mut answers = Box::pin(parts(side)).await;
        answers.extend(Box::pin(versions(side)).await);
        answers.extend(Box::pin(breakage(side)).await);
        answers
    };
    let (expected, found) = tokio::join!(all(&theirs), all(&ours));
    let mut different = differences(&expected, &found);
    different.extend(differences(&theirs.questions(), &ours.questions()));
    different.extend(differences(&theirs.numbers().await, &ours.numbers().await));
    let last = format!("{MAPS}/the-last");
    for (side, log) in [(&theirs, "theirs.log"), (&ours, "ours.log")] {
        side.client.get(&last).await.expect(404);
        audited(&folder.path().join(log), &last).await;
    }
    let notes = |log: &str| annotations(&fs::read_to_string(folder.path().join(log)).unwrap_or_default());
    different.extend(differences(&notes("theirs.log"), &notes("ours.log")));
    assert!(different.is_empty(), "{} differences:\n{}", different.len(), different.join("\n"));
    assert!(!notes("ours.log").is_empty(), "something is noted");
}

const AUDIT: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: ['system:apiserver']
- level: Request
  namespaces: [hooked]
  resources: [{group: apps}]
- level: Metadata
  namespaces: [hooked]
";

/// The audit annotations of webhooks, for each request.
fn annotations(log: &str) -> Vec<String> {
    let events = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let noted = events.filter_map(|event| {
        let all = event["annotations"].as_object()?.iter();
        let of_webhooks: Vec<String> = all
            .filter(|(key, _)| key.contains("webhook.admission"))
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        let request = format!("{} {}", event["verb"], event["requestURI"]);
        (!of_webhooks.is_empty()).then(|| format!("{request} {}", of_webhooks.join(" ")))
    });
    noted.collect()
}

/// A file for all plugins, by which webhooks that are called like `user` see `token`.
fn accounts(folder: &std::path::Path, user: &str, token: &str) -> String {
    let kubeconfig = folder.join("webhooks.kubeconfig");
    let text =
        format!("apiVersion: v1\nkind: Config\nusers:\n- name: {user:?}\n  user: {{token: {token}}}\n");
    fs::write(&kubeconfig, text).expect("a file");
    let plugins: String = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"]
        .map(|plugin| {
            format!(
                "- name: {plugin}\n  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    \
                 kind: WebhookAdmissionConfiguration\n    kubeConfigFile: {}\n",
                kubeconfig.display()
            )
        })
        .concat();
    let file = folder.join("admission.yaml");
    let text =
        format!("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n{plugins}");
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}
