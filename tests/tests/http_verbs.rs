//! Corners of the verbs that scenarios cannot show: headers, and what must not happen.

use keelson_tests::Place;
use serde_json::json;

#[tokio::test]
async fn the_old_address_of_a_watch_only_watches() {
    let place = Place::new("old-watch").await;
    place.config_map("a", "1").await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}});
    let old = "/api/v1/watch/namespaces/old-watch/configmaps";
    place.client.post(old, &object).await.refused(405, "MethodNotAllowed");
    place.client.put(&format!("{old}/a"), &object).await.refused(405, "MethodNotAllowed");
    place.client.delete(&format!("{old}/a")).await.refused(405, "MethodNotAllowed");
    place.client.get("/api/v1/watch/namespaces/old-watch/pods/a/status").await.expect(404);
    assert_eq!(place.names("").await, ["a"]);
}

#[tokio::test]
async fn an_owner_counts_once() {
    let place = Place::new("owners").await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "ownerReferences": [owner, owner]},
    });
    let created = place.client.post(&place.path("configmaps"), &object).await;
    assert_eq!(created.expect(201)["metadata"]["ownerReferences"], json!([owner]));
    assert_eq!(
        created.header("warning"),
        "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
         may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u\""
    );
    let patch = json!({"metadata": {"ownerReferences": [owner, owner]}});
    let patched =
        place.client.patch(&place.path("configmaps/a"), "application/merge-patch+json", &patch).await;
    assert_eq!(patched.expect(200)["metadata"]["ownerReferences"], json!([owner]));
    assert!(
        patched.header("warning").contains("after mutating admission happens"),
        "{:?}",
        patched.header("warning")
    );
}

#[tokio::test]
async fn duplicates_in_yaml_are_told_with_their_line() {
    let place = Place::new("yaml-lines").await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n  k: two\n";
    let call =
        place.client.call("POST", &place.path("configmaps")).header("content-type", "application/yaml");
    let created = call.body(text).send().await;
    assert_eq!(created.expect(201)["data"], json!({"k": "two"}));
    assert_eq!(created.header("warning"), "299 - \"line 7: key \\\"k\\\" already set in map\"");
}
