//! RBAC: permissions, escalation checks, and bootstrap roles.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Client, Options, Protocol, RunningServer};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const SERVER_DEFAULTS: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/// The time limit for a change to take effect.
const COUNTS_WITHIN: Duration = Duration::from_secs(10);

fn client(server: &RunningServer, user: &str, groups: &[&str]) -> Client {
    let credentials = server.credentials().with_identity(server.issue(user, groups));
    server.client_as(&credentials, Protocol::Http1)
}

/// Repeats the request until it has this status: changes of roles take effect a moment later, as upstream.
async fn until(client: &Client, path: &str, status: u16) {
    let clock = Clock::real();
    let deadline = clock.monotonic() + COUNTS_WITHIN;
    loop {
        let answer = client.get(path).await;
        if answer.status == status {
            return;
        }
        assert!(clock.monotonic() < deadline, "{path}: {} {}", answer.status, answer.text());
        clock.sleep(Duration::from_millis(10)).await;
    }
}

fn role(name: &str, verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [group], "resources": resources}]})
}

fn binding(name: &str, role: (&str, &str), user: &str) -> Value {
    json!({"metadata": {"name": name}, "roleRef": {"kind": role.0, "name": role.1},
           "subjects": [{"kind": "User", "name": user}]})
}

async fn make_namespace(server: &RunningServer, name: &str) {
    server.client().post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await.expect(201);
}

#[tokio::test]
async fn an_editor_of_a_namespace_edits_there_and_nowhere_else() {
    let server = RunningServer::shared().await;
    make_namespace(&server, "edited").await;
    let jane = client(&server, "editor-jane", &[]);
    let (here, there) = ("/api/v1/namespaces/edited/configmaps", "/api/v1/namespaces/default/configmaps");
    jane.get(here).await.refused(403, "Forbidden");
    let bindings = format!("{RBAC}/namespaces/edited/rolebindings");
    let edit = binding("jane", ("ClusterRole", "edit"), "editor-jane");
    server.client().post(&bindings, &edit).await.expect(201);
    until(&jane, here, 200).await;
    jane.post(here, &json!({"metadata": {"name": "a"}})).await.expect(201);
    jane.get("/apis/apps/v1/namespaces/edited/deployments").await.expect(200);
    jane.get(there).await.refused(403, "Forbidden");
    jane.get("/api/v1/nodes").await.refused(403, "Forbidden");
    jane.get(&bindings).await.refused(403, "Forbidden");
    server.client().delete(&format!("{bindings}/jane")).await.expect(200);
    until(&jane, here, 403).await;
}

#[tokio::test]
async fn a_role_that_comes_late_counts_from_then_on() {
    let server = RunningServer::shared().await;
    make_namespace(&server, "late").await;
    let roles = format!("{RBAC}/namespaces/late/roles");
    let bindings = format!("{RBAC}/namespaces/late/rolebindings");
    let joe = client(&server, "late-joe", &[]);
    let pods = "/api/v1/namespaces/late/pods";
    server.client().post(&bindings, &binding("b", ("Role", "r"), "late-joe")).await.expect(201);
    let clock = Clock::real();
    let deadline = clock.monotonic() + COUNTS_WITHIN;
    let told = "pods is forbidden: User \"late-joe\" cannot list resource \"pods\" in API group \"\" in the namespace \
                \"late\": RBAC: role.rbac.authorization.k8s.io \"r\" not found";
    while joe.get(pods).await.refused(403, "Forbidden")["message"] != told {
        assert!(clock.monotonic() < deadline, "{}", joe.get(pods).await.text());
        clock.sleep(Duration::from_millis(10)).await;
    }
    server.client().post(&roles, &role("r", &["list"], "", &["pods"])).await.expect(201);
    until(&joe, pods, 200).await;
    server.client().delete(&format!("{roles}/r")).await.expect(200);
    until(&joe, pods, 403).await;
}

/// The words are upstream's; tests/scenarios/rbac/escalation.yaml compares them.
#[tokio::test]
async fn nobody_gives_away_what_they_do_not_have() {
    let server = RunningServer::shared().await;
    make_namespace(&server, "escalation").await;
    let admin = server.client();
    let all = ["create", "update", "patch", "get"];
    let kinds = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];
    let keeper = json!({"metadata": {"name": "escalation-keeper"}, "rules": [
        {"verbs": all, "apiGroups": ["rbac.authorization.k8s.io"], "resources": kinds},
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]});
    admin.post(&format!("{RBAC}/clusterroles"), &keeper).await.expect(201);
    let bound = binding("escalation-keeper", ("ClusterRole", "escalation-keeper"), "keeper");
    admin.post(&format!("{RBAC}/clusterrolebindings"), &bound).await.expect(201);
    let keeper = client(&server, "keeper", &["staff"]);
    until(&keeper, "/api/v1/pods", 200).await;

    let roles = format!("{RBAC}/namespaces/escalation/roles");
    let fine = keeper.post(&roles, &role("fine", &["get", "list"], "", &["pods"])).await;
    fine.expect(201);
    let status = keeper.post(&roles, &role("bad", &["get", "watch"], "", &["pods", "secrets"])).await;
    assert_eq!(
        status.refused(403, "Forbidden")["message"],
        "roles.rbac.authorization.k8s.io \"bad\" is forbidden: user \"keeper\" (groups=[\"staff\" \
         \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\"]}\n\
         {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"watch\"]}"
    );
    let wider = role("fine", &["*"], "*", &["*"]);
    keeper.put(&format!("{roles}/fine"), &wider).await.refused(403, "Forbidden");
    let patch = json!({"rules": wider["rules"]});
    let patched = keeper.patch(&format!("{roles}/fine"), "application/merge-patch+json", &patch).await;
    patched.refused(403, "Forbidden");

    let bindings = format!("{RBAC}/namespaces/escalation/rolebindings");
    keeper.post(&bindings, &binding("ok", ("Role", "fine"), "z")).await.expect(201);
    let admins = binding("no", ("ClusterRole", "cluster-admin"), "keeper");
    keeper.post(&bindings, &admins).await.refused(403, "Forbidden");
    keeper.post(&format!("{RBAC}/clusterrolebindings"), &admins).await.refused(403, "Forbidden");
    let status = keeper.post(&bindings, &binding("no", ("Role", "gone"), "z")).await;
    let message = &status.refused(404, "NotFound")["message"];
    assert_eq!(message, "rolebindings.rbac.authorization.k8s.io \"gone\" not found");
    let gathers = json!({"metadata": {"name": "escalation-gathers"}, "aggregationRule":
        {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let status = keeper.post(&format!("{RBAC}/clusterroles"), &gathers).await;
    assert_eq!(
        status.refused(403, "Forbidden")["message"],
        "clusterroles.rbac.authorization.k8s.io \"escalation-gathers\" is forbidden: must have cluster-admin \
         privileges to use the aggregationRule"
    );
}

#[tokio::test]
async fn roles_gather_the_rules_of_others() {
    let server = RunningServer::shared().await;
    let roles = format!("{RBAC}/clusterroles");
    let label = |name: &str, labels: Value, verbs: &[&str]| {
        let mut role = role(name, verbs, "example.com", &["widgets"]);
        role["metadata"]["labels"] = labels;
        role
    };
    let gathers = json!({"metadata": {"name": "gathers"}, "aggregationRule":
        {"clusterRoleSelectors": [{"matchLabels": {"gathered": "yes"}}]}});
    server.client().post(&roles, &gathers).await.expect(201);
    for (name, verbs) in [("gathered-b", &["get"]), ("gathered-a", &["list"])] {
        server.client().post(&roles, &label(name, json!({"gathered": "yes"}), verbs)).await.expect(201);
    }
    let clock = Clock::real();
    let deadline = clock.monotonic() + COUNTS_WITHIN;
    loop {
        let role = server.client().get(&format!("{roles}/gathers")).await.expect(200);
        let verbs: Vec<&Value> =
            role["rules"].as_array().into_iter().flatten().map(|it| &it["verbs"]).collect();
        if verbs == [&json!(["list"]), &json!(["get"])] {
            let mut managers = role["metadata"]["managedFields"].as_array().into_iter().flatten();
            let ours = managers.find(|it| it["manager"] == "clusterrole-aggregation-controller");
            assert_eq!(ours.map(|it| &it["operation"]), Some(&json!("Apply")), "{role}");
            break;
        }
        assert!(clock.monotonic() < deadline, "{role}");
        clock.sleep(Duration::from_millis(20)).await;
    }
    let view = server.client().get(&format!("{roles}/view")).await.expect(200);
    assert!(view["rules"].as_array().is_some_and(|it| it.len() > 10), "{view}");
}

#[tokio::test]
async fn the_roles_of_every_cluster_are_completed_and_those_of_others_left_alone() {
    let mut server = RunningServer::start(Options::default()).await;
    let client = server.client();
    let role = |name: &str| format!("{RBAC}/clusterroles/{name}");
    let merge = "application/merge-patch+json";
    client.delete(&role("system:kube-dns")).await.expect(200);
    let fewer = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["mine"]}]});
    client.patch(&role("system:node-bootstrapper"), merge, &fewer).await.expect(200);
    let mut protected = fewer.clone();
    protected["metadata"] = json!({"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}});
    client.patch(&role("system:heapster"), merge, &protected).await.expect(200);
    let binding = format!("{RBAC}/clusterrolebindings/system:basic-user");
    client.patch(&binding, merge, &json!({"subjects": []})).await.expect(200);
    server.terminate().await;
    server.restart().await;
    let client = server.client();
    client.get(&role("system:kube-dns")).await.expect(200);
    let completed = client.get(&role("system:node-bootstrapper")).await.expect(200);
    let rules = completed["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 5, "its own, and one for each verb that was missing: {completed}");
    assert_eq!(rules[0]["resources"], json!(["mine"]));
    let left = client.get(&role("system:heapster")).await.expect(200);
    assert_eq!(left["rules"].as_array().map(Vec::len), Some(1), "{left}");
    let bound = client.get(&binding).await.expect(200);
    assert_eq!(bound["subjects"][0]["name"], "system:authenticated");
}

#[tokio::test]
async fn kubectl_says_who_can_do_what() {
    let Some(kubectl) = Tool::Kubectl.path_for("kubectl_says_who_can_do_what") else { return };
    let server = RunningServer::shared().await;
    let can = |arguments: &'static str| {
        let output = std::process::Command::new(&kubectl)
            .arg(format!("--kubeconfig={}", server.kubeconfig().display()))
            .args(["auth", "can-i"])
            .args(arguments.split(' '))
            .output()
            .expect("kubectl runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(can("create deployments.apps"), "yes");
    assert_eq!(can("get /metrics"), "yes");
    let list = can("--list");
    assert!(list.starts_with("Resources"), "{list}");
    assert!(list.contains("*.*"), "{list}");
    assert!(list.contains("[/openapi/*]"), "{list}");
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn the_roles_of_every_cluster_are_upstreams() {
    let test = "the_roles_of_every_cluster_are_upstreams";
    let Some(upstream) = Upstream::for_test(test).await else { return };
    let own = Options::default().argument("--aggregate-cluster-roles=false");
    let server = RunningServer::start(EVERYTHING.into_iter().fold(own, Options::argument)).await;
    let mut compared = 0;
    for plural in SERVER_DEFAULTS {
        let path = format!("{RBAC}/{plural}");
        let (theirs, ours) =
            (objects(upstream.client(), &path).await, objects(&server.client(), &path).await);
        let names = |all: &[Value]| all.iter().map(|it| it["metadata"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!(names(&theirs), names(&ours), "{plural}");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(theirs, ours, "{plural}");
        }
        compared += theirs.len();
    }
    println!("{compared} objects compared");
    assert!(compared > 130, "{compared}");
}

/// All objects, without the parts that always differ.
async fn objects(client: &Client, path: &str) -> Vec<Value> {
    let list = client.get(path).await.expect(200);
    let mut items = list["items"].as_array().cloned().unwrap_or_default();
    for meta in items.iter_mut().map(|it| &mut it["metadata"]) {
        for field in ["uid", "resourceVersion", "creationTimestamp"] {
            meta[field].take();
        }
        for manager in meta["managedFields"].as_array_mut().into_iter().flatten() {
            manager["time"].take();
        }
    }
    items
}
