//! Deprecated features and versions: our messages and upstream's.

use std::collections::BTreeSet;

use keelson_testkit::{Client, Options, RunningServer};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use serde_json::Value;

/// A server that serves every version of every kind.
async fn everything() -> RunningServer {
    RunningServer::start(EVERYTHING.into_iter().fold(Options::default(), Options::argument)).await
}

/// The samples of a metric, the labels of each in order.
async fn samples(client: &Client, name: &str) -> BTreeSet<String> {
    let text = client.get("/metrics").await.text();
    let ours = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{')?.split_once('}'));
    let ordered = ours.map(|(labels, value)| {
        let mut labels: Vec<&str> = labels.split(',').collect();
        labels.sort_unstable();
        format!("{}{value}", labels.join(","))
    });
    ordered.collect()
}

/// Lists the objects of every resource, and returns the warnings.
async fn ask_for_everything(client: &Client) -> BTreeSet<String> {
    let groups = client.get("/apis").await.expect(200);
    let versions = items(&groups["groups"]).iter().flat_map(|it| items(&it["versions"]));
    let mut roots = vec![String::from("/api/v1")];
    roots.extend(versions.map(|it| format!("/apis/{}", it["groupVersion"].as_str().unwrap_or_default())));
    let mut warned = BTreeSet::new();
    for root in roots {
        let list = client.get(&root).await.expect(200);
        for resource in items(&list["resources"]) {
            if items(&resource["verbs"]).iter().any(|it| it == "list") {
                let path = format!("{root}/{}", resource["name"].as_str().unwrap_or_default());
                let warning = client.get(&format!("{path}?limit=1")).await.header("warning").to_owned();
                warned.insert(format!("{path}: {warning}"));
            }
        }
    }
    warned
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[tokio::test]
async fn the_metrics_tell_which_features_are_on() {
    let server = RunningServer::start(
        Options::default().argument("--feature-gates=WatchListClient=false,CBORServingAndStorage=true"),
    )
    .await;
    let features = samples(&server.client(), "kubernetes_feature_enabled").await;
    for line in [
        "name=\"WatchListClient\",stage=\"BETA\" 0",
        "name=\"CBORServingAndStorage\",stage=\"ALPHA\" 1",
        "name=\"SidecarContainers\",stage=\"\" 1",
        "name=\"KMSv1\",stage=\"DEPRECATED\" 0",
    ] {
        assert!(features.contains(line), "{line} in {features:?}");
    }
}

#[tokio::test]
async fn requests_for_old_versions_are_warned_and_counted() {
    let server = everything().await;
    let client = server.client();
    let deprecated = "apiserver_requested_deprecated_apis";
    client.get("/apis/storage.k8s.io/v1/volumeattributesclasses").await.expect(200);
    assert!(samples(&client, deprecated).await.is_empty());
    let answer = client.get("/apis/storage.k8s.io/v1beta1/volumeattributesclasses").await;
    let expected = "299 - \"storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in \
                    v1.37+; use storage.k8s.io/v1 VolumeAttributesClass\"";
    assert_eq!(answer.header("warning"), expected);
    let counted = samples(&client, deprecated).await;
    let line = "group=\"storage.k8s.io\",removed_release=\"1.37\",resource=\"volumeattributesclasses\",\
                subresource=\"\",version=\"v1beta1\" 1";
    assert_eq!(counted, [String::from(line)].into());
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn features_and_old_versions_are_upstreams() {
    let Some(upstream) = Upstream::for_test("features_and_old_versions_are_upstreams").await else { return };
    let server = everything().await;
    let (theirs, ours) = (upstream.client(), server.client());
    let features = samples(theirs, "kubernetes_feature_enabled").await;
    assert!(features.len() > 200, "only {} features", features.len());
    assert_eq!(samples(&ours, "kubernetes_feature_enabled").await, features);
    let warned = ask_for_everything(theirs).await;
    assert!(warned.len() > 80, "only {} resources", warned.len());
    assert_eq!(ask_for_everything(&ours).await, warned);
    let counted = samples(theirs, "apiserver_requested_deprecated_apis").await;
    assert!(counted.len() > 10, "{counted:?}");
    assert_eq!(samples(&ours, "apiserver_requested_deprecated_apis").await, counted);
}
