//! A server on kine behind a unix socket, as k3s runs one.

use keelson_testkit::{Kine, Options, RunningServer, fixture};
use keelson_tests::place::{name, names};
use serde_json::json;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn keelson_on(kine: &Kine) -> RunningServer {
    RunningServer::start(Options::default().argument(format!("--etcd-servers={}", kine.endpoint()))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_live_in_kine() {
    let Some(kine) = Kine::for_test("objects_live_in_kine").await else { return };
    let mut first = keelson_on(&kine).await;
    let client = first.client();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    for name in ["a", "b", "c"] {
        client.post(CONFIG_MAPS, &fixture::config_map(name)).await.expect(201);
    }
    assert_eq!(name(&watch.change().await["object"]), "a");
    let page = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
    assert_eq!(names(&page), ["a", "b"]);
    let token = page["metadata"]["continue"].as_str().expect("there is more");
    let rest = client.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.expect(200);
    assert_eq!(names(&rest), ["c"]);

    let patch = json!({"data": {"k": "changed"}});
    let place = format!("{CONFIG_MAPS}/a");
    client.patch(&place, "application/merge-patch+json", &patch).await.expect(200);
    let mut old = fixture::config_map("a");
    old["metadata"]["resourceVersion"] = page["items"][0]["metadata"]["resourceVersion"].clone();
    client.put(&place, &old).await.refused(409, "Conflict");
    client.delete(&format!("{CONFIG_MAPS}/b")).await.expect(200);
    assert_eq!(client.get("/readyz").await.text(), "ok");
    assert!(first.terminate().await.success());

    let second = keelson_on(&kine).await;
    let list = second.client().get(CONFIG_MAPS).await.expect(200);
    assert_eq!(names(&list), ["a", "c"]);
    assert_eq!(list["items"][0]["data"]["k"], "changed");
}
