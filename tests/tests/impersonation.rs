//! Impersonation: a matrix of users, impersonated users and requests, compared with upstream.

use std::fs;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::{Client, Options, RunningServer};
use keelson_tests::upstream::{Accounts, Upstream};
use serde_json::{Value, json};

const TOKENS: &str = "legacy-token,larry,1,imp-legacy\nnarrow-token,nora,2,imp-narrow\nboth-token,bo,3,\"imp-legacy,imp-narrow\"\n\
    none-token,nemo,4,nobodies\n";

/// The users that impersonate.
const ASKERS: [&str; 4] = ["legacy-token", "narrow-token", "both-token", "none-token"];

/// The impersonated users.
const WANTED: &[&[(&str, &str)]] = &[
    &[("impersonate-user", "alice")],
    &[("impersonate-user", "carol")],
    &[("impersonate-user", "mallory")],
    &[("impersonate-user", "alice"), ("impersonate-group", "devs")],
    &[("impersonate-user", "alice"), ("impersonate-group", "ops")],
    &[("impersonate-user", "alice"), ("impersonate-group", "system:masters")],
    &[("impersonate-user", "carol"), ("impersonate-group", "ops")],
    &[("impersonate-user", "carol"), ("impersonate-group", "")],
    &[("impersonate-user", "carol"), ("impersonate-group", "system:masters")],
    &[("impersonate-user", "alice"), ("impersonate-uid", "7")],
    &[("impersonate-user", "alice"), ("impersonate-uid", "8")],
    &[("impersonate-user", "carol"), ("impersonate-uid", "7")],
    &[("impersonate-user", "alice"), ("impersonate-extra-acme.io%2Fteam", "blue")],
    &[("impersonate-user", "alice"), ("impersonate-extra-acme.io%2Fteam", "red")],
    &[("impersonate-user", "carol"), ("impersonate-extra-acme.io%2Fteam", "blue")],
    &[("impersonate-user", "carol"), ("impersonate-extra-plain", "blue")],
    &[("impersonate-user", "carol"), ("impersonate-extra-acme.io%2Fteam", "")],
    &[("impersonate-user", "system:serviceaccount:imp:bot")],
    &[("impersonate-user", "system:serviceaccount:imp:other")],
    &[("impersonate-user", "system:serviceaccount:imp:bot"), ("impersonate-group", "devs")],
    &[("impersonate-user", "system:serviceaccount:Imp:bot")],
    &[("impersonate-user", "system:node:n1")],
    &[("impersonate-user", "system:node:n2")],
    &[("impersonate-user", "system:node:UPPER")],
    &[("impersonate-user", "system:anonymous")],
    &[("impersonate-user", "<b>&")],
    &[("impersonate-group", "devs")],
    &[("impersonate-uid", "7")],
    &[("impersonate-extra-acme.io%2Fteam", "blue"), ("impersonate-group", "g")],
];

/// The requests.
const ASKS: [(&str, &str); 5] = [
    ("GET", "/api/v1/namespaces/imp/configmaps"),
    ("GET", "/api/v1/namespaces/imp/configmaps/missing"),
    ("DELETE", "/api/v1/namespaces/imp/configmaps/missing"),
    ("GET", "/api/v1/nodes"),
    ("GET", "/metrics/nowhere"),
];

fn role(name: &str, rules: &Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name}],
    })
}

/// Makes the roles.
async fn prepare(admin: &Client) {
    let groups = "/apis/rbac.authorization.k8s.io/v1";
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "imp"}})).await.expect(201);
    let legacy = json!([
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["alice", "system:anonymous"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["devs", "system:masters"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["bot"], "verbs": ["impersonate"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["uids"], "resourceNames": ["7"], "verbs": ["impersonate"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/acme.io/team"], "resourceNames": ["blue"], "verbs": ["impersonate"]},
    ]);
    let narrow = json!([
        {"apiGroups": [""], "resources": ["configmaps"],
         "verbs": ["impersonate-on:user-info:list", "impersonate-on:serviceaccount:list", "impersonate-on:arbitrary-node:list"]},
        {"nonResourceURLs": ["/metrics/*"], "verbs": ["impersonate-on:user-info:get"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "resourceNames": ["carol"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["groups"], "resourceNames": ["system:masters", "ops"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/acme.io/team"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["nodes"], "resourceNames": ["n1"], "verbs": ["impersonate:arbitrary-node"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["serviceaccounts"], "resourceNames": ["bot"], "verbs": ["impersonate:serviceaccount"]},
    ]);
    for (name, rules) in [("imp-legacy", legacy), ("imp-narrow", narrow)] {
        admin.post(&format!("{groups}/clusterroles"), &role(name, &rules)).await.expect(201);
        admin.post(&format!("{groups}/clusterrolebindings"), &binding(name)).await.expect(201);
    }
    // Without a controller manager the role `view` is not aggregated.
    let reading = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]);
    admin.post(&format!("{groups}/clusterroles"), &role("imp-readers", &reading)).await.expect(201);
    let readers = json!({
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "imp-readers"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "ops"},
            {"kind": "ServiceAccount", "name": "bot", "namespace": "imp"},
        ],
    });
    admin.post(&format!("{groups}/namespaces/imp/rolebindings"), &readers).await.expect(201);
}

/// Waits until the last rule counts, then asks everything.
async fn ask_all(admin: &Client, anybody: &Client) -> Vec<String> {
    prepare(admin).await;
    let alice = |path: &str| {
        let call = anybody.call("GET", path).header("authorization", "Bearer legacy-token");
        call.header("impersonate-user", "alice").send()
    };
    for attempt in 0.. {
        let answer = alice(ASKS[0].1).await;
        if answer.status == 200 {
            break;
        }
        assert!(attempt < 200, "the rules never count: {}", answer.text());
        Clock::real().sleep(Duration::from_millis(50)).await;
    }
    let mut answers = Vec::new();
    for asker in ASKERS {
        for wanted in WANTED {
            for (method, path) in ASKS {
                let call = anybody.call(method, path).header("authorization", &format!("Bearer {asker}"));
                let call = wanted.iter().fold(call, |call, (name, value)| call.header(name, value));
                let answer = call.send().await;
                let text = answer.text();
                let body = if answer.status == 200 { "found" } else { text.trim_end() };
                let nosniff = answer.header("x-content-type-options").to_owned();
                answers
                    .push(format!("{asker} {wanted:?} {method} {path}: {} {nosniff} {body}", answer.status));
            }
        }
    }
    answers
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn who_may_act_as_whom_is_as_upstream_says() {
    for gate in ["true", "false"] {
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = folder.path().join("tokens.csv");
        fs::write(&tokens, TOKENS).expect("written");
        let gate = format!("--feature-gates=ConstrainedImpersonation={gate}");
        let flags = [format!("--token-auth-file={}", tokens.display()), gate];
        let test = "who_may_act_as_whom_is_as_upstream_says";
        let Some(upstream) = Upstream::with(test, Accounts::Free, &flags).await else { return };
        let server = RunningServer::start(flags.iter().fold(Options::default(), Options::argument)).await;
        let theirs = ask_all(upstream.client(), upstream.anonymous()).await;
        let ours = ask_all(&server.client(), &server.anonymous()).await;
        let different: Vec<String> = theirs
            .iter()
            .zip(&ours)
            .filter(|(theirs, ours)| theirs != ours)
            .map(|(theirs, ours)| format!("  upstream {theirs}\n  ours     {ours}"))
            .collect();
        println!("{} {}: {} compared, {} differ", flags[0], flags[1], theirs.len(), different.len());
        assert!(different.is_empty(), "{}", different.join("\n"));
    }
}

/// Users can impersonate only the users, groups and extra that they have the permission for.
#[tokio::test]
async fn nobody_becomes_more_than_they_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens.csv");
    fs::write(&tokens, TOKENS).expect("written");
    let options = Options::default().argument(format!("--token-auth-file={}", tokens.display()));
    let server = RunningServer::start(options).await;
    let answers = ask_all(&server.client(), &server.anonymous()).await;
    let found = |asker: &str, whom: &str| {
        answers.iter().any(|it| it.starts_with(asker) && it.contains(whom) && it.contains(": 200 "))
    };
    for (asker, whom, may) in [
        ("legacy-token", "[(\"impersonate-user\", \"alice\")]", true),
        ("legacy-token", "\"carol\"", false),
        ("legacy-token", "\"8\"", false),
        ("legacy-token", "\"red\"", false),
        ("legacy-token", "imp:bot\")]", true),
        ("legacy-token", "imp:other", false),
        ("narrow-token", "\"alice\"", false),
        ("narrow-token", "(\"impersonate-group\", \"ops\")", true),
        ("narrow-token", "system:masters", false),
        ("narrow-token", "imp:bot\")]", true),
        ("none-token", "", false),
    ] {
        assert_eq!(found(asker, whom), may, "{asker} {whom}");
    }
    let metrics = server.client().get("/metrics").await.text();
    for family in [
        "apiserver_impersonation_attempts_total{mode=\"legacy\",decision=\"allowed\"}",
        "apiserver_impersonation_attempts_total{mode=\"user-info\",decision=\"allowed\"}",
        "apiserver_impersonation_attempts_total{mode=\"\",decision=\"denied\"}",
        "apiserver_impersonation_authorization_attempts_total{mode=\"arbitrary-node\",decision=\"allowed\"}",
    ] {
        assert!(metrics.contains(family), "{family}");
    }
}
