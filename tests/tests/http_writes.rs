//! Writes: create, update, delete, and what guards them.

use keelson_testkit::{Options, Protocol, RunningServer, fixture};
use keelson_tests::Place;
use keelson_tests::place::{name, revision};
use serde_json::{Value, json};

#[tokio::test]
async fn the_system_fills_in_metadata() {
    let place = Place::new("filled").await;
    let created = place.config_map("a", "1").await;
    let meta = &created["metadata"];
    assert_eq!((&meta["name"], &meta["namespace"]), (&json!("a"), &json!("filled")));
    assert_eq!(meta["uid"].as_str().map(str::len), Some(36));
    let time = meta["creationTimestamp"].as_str().unwrap_or_default();
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    assert!(revision(&created) > 0);
    let got = place.client.get(&place.path("configmaps/a")).await;
    assert_eq!(got.expect(200), created);
    assert_eq!(got.header("content-type"), "application/json");
    assert_eq!(got.header("cache-control"), "no-cache, private");
    assert_eq!(got.header("audit-id").len(), 36);
}

#[tokio::test]
async fn a_name_can_be_generated() {
    let place = Place::new("generated").await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}});
    let mut found = Vec::new();
    for _ in 0..5 {
        let created = place.client.post(&place.path("configmaps"), &object).await.expect(201);
        let name = name(&created);
        assert!(name.starts_with("gen-") && name.len() == 9, "{name}");
        let suffix_is_safe = name[4..].chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c));
        assert!(suffix_is_safe, "{name}");
        found.push(name);
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 5);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let place = Place::new("taken").await;
    place.config_map("a", "1").await;
    let again = place.client.post(&place.path("configmaps"), &fixture::config_map("a")).await;
    let status = again.refused(409, "AlreadyExists");
    assert_eq!(status["message"], "configmaps \"a\" already exists");
    assert_eq!(status["details"], json!({"name": "a", "kind": "configmaps"}));
}

#[tokio::test]
async fn an_update_needs_the_latest_revision_or_none() {
    let place = Place::new("updated").await;
    let path = place.path("configmaps/a");
    let first = place.config_map("a", "1").await;
    let with = |revision: &Value, value: &str| {
        let mut object = fixture::config_map("a");
        object["data"]["key"] = json!(value);
        object["metadata"]["resourceVersion"] = revision.clone();
        object
    };
    let second = place.client.put(&path, &with(&first["metadata"]["resourceVersion"], "2")).await.expect(200);
    assert!(revision(&second) > revision(&first));
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(second["metadata"]["creationTimestamp"], first["metadata"]["creationTimestamp"]);

    let stale = place.client.put(&path, &with(&first["metadata"]["resourceVersion"], "3")).await;
    let status = stale.refused(409, "Conflict");
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
         please apply your changes to the latest version and try again"
    );

    let third = place.client.put(&path, &with(&json!(""), "4")).await.expect(200);
    assert_eq!(third["data"]["key"], "4");
    let same = place.client.put(&path, &with(&json!(""), "4")).await.expect(200);
    assert_eq!(revision(&same), revision(&third), "what changes nothing is not written");
}

#[tokio::test]
async fn an_update_is_of_the_object_in_the_path() {
    let place = Place::new("update-path").await;
    place.config_map("a", "1").await;
    let put = async |path: &str, object: &Value| place.client.put(&place.path(path), object).await;
    let status = put("configmaps/a", &fixture::config_map("b")).await.refused(400, "BadRequest");
    assert_eq!(status["message"], "the name of the object (b) does not match the name on the URL (a)");
    let status = put("configmaps/none", &fixture::config_map("none")).await.refused(404, "NotFound");
    assert_eq!(status["message"], "configmaps \"none\" not found");
    let mut other = fixture::config_map("a");
    other["metadata"]["uid"] = json!("2f0c7d0e-6a5c-4a57-9f2c-0d8b6a0d7c11");
    put("configmaps/a", &other).await.refused(409, "Conflict");
}

#[tokio::test]
async fn what_is_immutable_stays() {
    let place = Place::new("immutable").await;
    let mut object = fixture::config_map("a");
    object["immutable"] = json!(true);
    place.client.post(&place.path("configmaps"), &object).await.expect(201);
    object["data"]["key"] = json!("other");
    let status = place.client.put(&place.path("configmaps/a"), &object).await.refused(422, "Invalid");
    assert_eq!(
        status["message"],
        "ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set"
    );
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace() {
    let place = Place::new("dry-run").await;
    let before = place.client.get(&place.path("configmaps")).await.expect(200);
    let created =
        place.client.post(&place.path("configmaps?dryRun=All"), &fixture::config_map("a")).await.expect(201);
    assert!(created["metadata"]["uid"].is_string(), "{created}");
    place.client.get(&place.path("configmaps/a")).await.refused(404, "NotFound");
    let after = place.client.get(&place.path("configmaps")).await.expect(200);
    assert_eq!(after["items"], before["items"]);

    let kept = place.config_map("b", "1").await;
    let mut changed = kept.clone();
    changed["data"]["key"] = json!("2");
    let answer = place.client.put(&place.path("configmaps/b?dryRun=All"), &changed).await.expect(200);
    assert_eq!(answer["data"]["key"], "2");
    place.client.delete(&place.path("configmaps/b?dryRun=All")).await.expect(200);
    assert_eq!(place.client.get(&place.path("configmaps/b")).await.expect(200), kept);
}

#[tokio::test]
async fn a_deletion_says_what_it_deleted() {
    let place = Place::new("deleted").await;
    let created = place.config_map("a", "1").await;
    let status = place.client.delete(&place.path("configmaps/a")).await.expect(200);
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]},
        })
    );
    place.client.delete(&place.path("configmaps/a")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn preconditions_guard_a_deletion() {
    let place = Place::new("preconditions").await;
    let created = place.config_map("a", "1").await;
    let path = place.path("configmaps/a");
    for (name, value, message) in [
        ("uid", "nope", "the UID in the precondition (nope) does not match the UID in record ("),
        (
            "resourceVersion",
            "1",
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (",
        ),
    ] {
        let options = json!({"preconditions": {name: value}});
        let status = place.client.delete_with(&path, &options).await.refused(409, "Conflict");
        let said = status["message"].as_str().unwrap_or_default();
        assert!(said.contains(message), "{said}");
    }
    let meta = &created["metadata"];
    let options = json!({"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}});
    place.client.delete_with(&path, &options).await.expect(200);
}

#[tokio::test]
async fn finalizers_hold_a_deletion_back() {
    let place = Place::new("finalizers").await;
    let path = place.path("configmaps/a");
    let mut object = fixture::config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/b", "example.com/a"]);
    place.client.post(&place.path("configmaps"), &object).await.expect(201);
    let mut watch =
        place.client.watch(&place.path("configmaps?watch=1&fieldSelector=metadata.name%3Da")).await;
    assert_eq!(watch.event().await["type"], "ADDED");

    let deleting = place.client.delete(&path).await.expect(200);
    assert!(deleting["metadata"]["deletionTimestamp"].is_string(), "{deleting}");
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(watch.change().await["type"], "MODIFIED");
    let again = place.client.delete(&path).await.expect(200);
    assert_eq!(revision(&again), revision(&deleting), "a second deletion changes nothing");

    let mut added = deleting.clone();
    added["metadata"]["finalizers"] = json!(["example.com/a", "example.com/b", "example.com/c"]);
    let status = place.client.put(&path, &added).await.refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "metadata.finalizers");

    let mut one = deleting.clone();
    one["metadata"]["finalizers"] = json!(["example.com/a"]);
    place.client.put(&path, &one).await.expect(200);
    assert_eq!(watch.change().await["type"], "MODIFIED");
    place.client.put(&path, &fixture::config_map("a")).await.expect(200);
    assert_eq!(watch.change().await["type"], "DELETED");
    place.client.get(&path).await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let place = Place::new("collection").await;
    for (name, go) in [("a", "yes"), ("b", "no"), ("c", "yes")] {
        let mut object = fixture::config_map(name);
        object["metadata"]["labels"] = json!({"go": go});
        place.client.post(&place.path("configmaps"), &object).await.expect(201);
    }
    let answer = place.client.delete(&place.path("configmaps?labelSelector=go%3Dyes")).await.expect(200);
    assert_eq!(answer["kind"], "ConfigMapList");
    assert_eq!(keelson_tests::place::names(&answer), ["a", "c"]);
    assert_eq!(place.names("?labelSelector=go").await, ["b"]);
}

#[tokio::test]
async fn a_pod_gets_its_defaults_and_its_grace() {
    let place = Place::new("pods").await;
    let pod = place.client.post(&place.path("pods"), &fixture::small_pod("web")).await.expect(201);
    let spec = &pod["spec"];
    assert_eq!(
        (&spec["restartPolicy"], &spec["dnsPolicy"], &spec["terminationGracePeriodSeconds"]),
        (&json!("Always"), &json!("ClusterFirst"), &json!(30))
    );
    assert_eq!(spec["containers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["qosClass"]),
        (&json!("Pending"), &json!("BestEffort"))
    );
    // A pod without a node does not run, so it is deleted at once.
    place.client.delete(&place.path("pods/web")).await.expect(200);
    place.client.get(&place.path("pods/web")).await.refused(404, "NotFound");

    let mut placed = fixture::small_pod("placed");
    placed["spec"]["nodeName"] = json!("node-1");
    place.client.post(&place.path("pods"), &placed).await.expect(201);
    let deleting = place.client.delete(&place.path("pods/placed")).await.expect(200);
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 30, "{deleting}");
    place.client.get(&place.path("pods/placed")).await.expect(200);
    place.client.delete(&place.path("pods/placed?gracePeriodSeconds=0")).await.expect(200);
    place.client.get(&place.path("pods/placed")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn status_is_written_through_its_own_path() {
    let place = Place::new("status").await;
    let apps = format!("/apis/apps/v1/namespaces/{}/deployments", place.namespace);
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        "status": {"replicas": 7},
    });
    let created = place.client.post(&apps, &deployment).await.expect(201);
    assert_eq!(created["status"], json!({}), "a new object has no status");
    assert_eq!(created["metadata"]["generation"], 1);

    let mut changed = created.clone();
    changed["spec"]["replicas"] = json!(5);
    changed["status"] = json!({"replicas": 2, "observedGeneration": 1});
    let through_status = place.client.put(&format!("{apps}/web/status"), &changed).await.expect(200);
    assert_eq!(through_status["spec"]["replicas"], 2, "spec does not change through status");
    assert_eq!(through_status["status"]["replicas"], 2);
    assert_eq!(through_status["metadata"]["generation"], 1);

    changed["metadata"] = through_status["metadata"].clone();
    changed["status"] = json!({"replicas": 9});
    let through_spec = place.client.put(&format!("{apps}/web"), &changed).await.expect(200);
    assert_eq!(through_spec["spec"]["replicas"], 5);
    assert_eq!(through_spec["status"]["replicas"], 2, "status does not change through spec");
    assert_eq!(through_spec["metadata"]["generation"], 2);
}

#[tokio::test]
async fn a_namespace_waits_for_its_finalizer() {
    let place = Place::new("namespaces").await;
    let found = place.client.get("/api/v1/namespaces/namespaces").await.expect(200);
    assert_eq!(found["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(found["status"]["phase"], "Active");
    assert_eq!(found["metadata"]["labels"]["kubernetes.io/metadata.name"], "namespaces");
    let deleting = place.client.delete("/api/v1/namespaces/namespaces").await.expect(200);
    assert_eq!(deleting["status"]["phase"], "Terminating");
    for protected in ["default", "kube-system", "kube-public"] {
        let answer = place.client.delete(&format!("/api/v1/namespaces/{protected}")).await;
        let status = answer.refused(403, "Forbidden");
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.ends_with("is forbidden: this namespace may not be deleted"), "{message}");
    }
}

/// A write whose deadline passes before it begins gets a response, even if its body is incomplete, and the
/// connection stays usable.
#[tokio::test]
async fn a_write_that_is_late_from_the_beginning_is_answered() {
    let server = RunningServer::start(Options::default()).await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = server.client_as(server.credentials(), protocol);
        for round in 0..40 {
            // One frame, several, and more than HTTP/2 takes before it is read.
            let size = [10, 100_000, 300_000, 1_000_000][round % 4];
            let method = if round % 8 < 4 { "PUT" } else { "POST" };
            let at = if method == "PUT" { "/late" } else { "" };
            let path = format!("/api/v1/namespaces/default/configmaps{at}?timeout=1ns");
            let call = client.call(method, &path).json(&fixture::config_map_of("late", size));
            call.send().await.refused(504, "Timeout");
        }
        client.get("/api/v1/namespaces/default/configmaps/late").await.refused(404, "NotFound");
    }
}
