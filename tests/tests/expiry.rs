//! Expired resource versions: what clients get after compaction.

use std::time::Duration;

use keelson_testkit::{Client, Options, RunningServer, fixture};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn write(client: &Client, name: &str) -> String {
    let created = client.post(MAPS, &fixture::config_map(name)).await.expect(201);
    created["metadata"]["resourceVersion"].as_str().expect("a revision").to_owned()
}

/// Writes until the store has compacted `revision`; bounded.
async fn until_forgotten(client: &Client, revision: &str) -> Value {
    let path = format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
    for round in 0..150 {
        let answer = client.get(&path).await;
        if answer.status == 410 {
            return answer.json();
        }
        write(client, &format!("later-{round}")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the history is not compacted");
}

#[tokio::test]
async fn an_old_revision_is_gone_and_a_list_can_go_on() {
    let options = Options::default().argument("--etcd-compaction-interval=1s");
    let mut server = RunningServer::start(options).await;
    let client = server.client();
    let revision = write(&client, "a").await;
    write(&client, "b").await;
    let page = client.get(&format!("{MAPS}?limit=1")).await.expect(200);
    let token = page["metadata"]["continue"].as_str().expect("more").to_owned();

    let gone = until_forgotten(&client, &revision).await;
    assert_eq!((&gone["reason"], &gone["code"]), (&json!("Expired"), &json!(410)));

    // A token of a compacted revision has expired, also while the process still has that list in memory.
    client.get(&format!("{MAPS}?limit=1&continue={token}")).await.refused(410, "Expired");
    server.restart().await;
    let client = server.client();
    let expired = client.get(&format!("{MAPS}?limit=1&continue={token}")).await.refused(410, "Expired");
    let message = expired["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("The provided continue parameter is too old"), "{message}");
    let rest = expired["metadata"]["continue"].as_str().expect("a token that goes on");
    let page = client.get(&format!("{MAPS}?limit=1&continue={rest}")).await.expect(200);
    assert_eq!(page["items"][0]["metadata"]["name"], "b");

    let mut watch = client.watch(&format!("{MAPS}?watch=1&resourceVersion={revision}")).await;
    let event = watch.event().await;
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    watch.end().await;
}
