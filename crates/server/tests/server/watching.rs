//! Watches over real connections.

use keelson_testkit::Protocol;
use serde_json::json;

use crate::garden::Running;

const FLOWERS: &str = "/apis/example.com/v1/namespaces/default/flowers";

fn flower(name: &str, petals: i64) -> serde_json::Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Flower", "metadata": { "name": name, "labels": { "name": name } },
            "spec": { "petals": petals } })
}

#[tokio::test]
async fn changes_arrive_in_order() {
    let running = Running::new().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let admin = running.admin(protocol);
        let name = format!("{protocol:?}").to_lowercase();
        let made = admin.post(FLOWERS, &flower(&name, 1)).await.expect(201);
        let mut watch = admin.watch(&format!("{FLOWERS}?watch=true&labelSelector=name%3D{name}")).await;
        let first = watch.event().await;
        assert_eq!((&first["type"], &first["object"]), (&json!("ADDED"), &made));

        let mut changed = made.clone();
        changed["spec"]["petals"] = json!(2);
        let changed = admin.put(&format!("{FLOWERS}/{name}"), &changed).await.expect(200);
        let second = watch.event().await;
        assert_eq!((&second["type"], &second["object"]), (&json!("MODIFIED"), &changed));

        let mut relabelled = changed.clone();
        relabelled["metadata"]["labels"] = json!({});
        let relabelled = admin.put(&format!("{FLOWERS}/{name}"), &relabelled).await.expect(200);
        let third = watch.event().await;
        assert_eq!(third["type"], "DELETED");
        assert_eq!(third["object"]["metadata"]["resourceVersion"], relabelled["metadata"]["resourceVersion"]);
        admin.delete(&format!("{FLOWERS}/{name}")).await.expect(200);
    }
    running.end().await;
}

#[tokio::test]
async fn a_watch_can_begin_with_the_state_and_say_where_it_ends() {
    let running = Running::new().await;
    let admin = running.admin(Protocol::Http2);
    admin.post(FLOWERS, &flower("rose", 1)).await.expect(201);
    let query =
        "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = admin.watch(&format!("{FLOWERS}?{query}")).await;
    assert_eq!(watch.event().await["type"], "ADDED");
    let end = watch.event().await;
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(end["object"]["kind"], "Flower");
    assert_eq!(end["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    running.end().await;
}

#[tokio::test]
async fn a_watch_has_its_time_and_its_shape() {
    let running = Running::new().await;
    let admin = running.admin(Protocol::Http1);
    admin.post(FLOWERS, &flower("rose", 1)).await.expect(201);
    let as_kind = |kind: &str| format!("application/json;as={kind};v=v1;g=meta.k8s.io");
    let path = format!("{FLOWERS}?watch=true&timeoutSeconds=1");

    let mut watch =
        admin.call("GET", &path).header("accept", &as_kind("PartialObjectMetadata")).stream().await;
    let event = watch.event().await;
    assert_eq!(
        (&event["object"]["kind"], &event["object"]["spec"]),
        (&json!("PartialObjectMetadata"), &json!(null))
    );
    watch.end().await;

    let mut watch = admin.call("GET", &path).header("accept", &as_kind("Table")).stream().await;
    let event = watch.event().await;
    assert_eq!(event["object"]["kind"], "Table");
    assert_eq!(event["object"]["rows"][0]["cells"][1], 1);
    watch.end().await;

    let old_form = "/apis/example.com/v1/watch/namespaces/default/flowers/rose?timeoutSeconds=1";
    let mut watch = admin.watch(old_form).await;
    assert_eq!(watch.event().await["object"]["metadata"]["name"], "rose");
    watch.end().await;

    let refused = admin.call("GET", &path).header("accept", "application/yaml").send().await;
    assert_eq!(refused.status, 406);
    running.end().await;
}
