//! `--runtime-config` and `--feature-gates`.

use keelson_testkit::{Client, Options, RunningServer};
use serde_json::{Value, json};

/// `group/version` of everything that is served, and the resources of one version.
async fn served(client: &Client) -> Vec<String> {
    let groups = client.get("/apis").await.expect(200);
    let versions = groups["groups"].as_array().into_iter().flatten().flat_map(|group| {
        group["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|it| it["groupVersion"].as_str().unwrap_or_default())
    });
    versions.map(str::to_owned).collect()
}

async fn with(flags: &[&str]) -> RunningServer {
    RunningServer::start(flags.iter().fold(Options::default(), |options, flag| options.argument(*flag))).await
}

#[tokio::test]
async fn alpha_and_beta_are_off_until_somebody_wants_them() {
    let server = with(&[]).await;
    let versions = served(&server.client()).await;
    assert!(versions.iter().all(|it| !it.contains("alpha") && !it.contains("beta")), "{versions:?}");
    assert!(versions.contains(&"resource.k8s.io/v1".to_owned()), "{versions:?}");

    let server = with(&["--runtime-config=api/beta=true,batch/v1=false,apps/v1/daemonsets=false"]).await;
    let client = server.client();
    let versions = served(&client).await;
    assert!(versions.contains(&"resource.k8s.io/v1beta1".to_owned()), "{versions:?}");
    assert!(!versions.iter().any(|it| it.starts_with("batch/")), "{versions:?}");
    assert_eq!(client.get("/apis/batch/v1/jobs").await.status, 404);
    assert_eq!(client.get("/apis/apps/v1/daemonsets").await.status, 404);
    assert_eq!(client.get("/apis/apps/v1/deployments").await.status, 200);
    // A version that was not served is another face of the same objects.
    let class = json!({"metadata": {"name": "x"}, "spec": {"selectors": []}});
    client.post("/apis/resource.k8s.io/v1/deviceclasses", &class).await.expect(201);
    let seen: Value = client.get("/apis/resource.k8s.io/v1beta1/deviceclasses/x").await.expect(200);
    assert_eq!(seen["apiVersion"], "resource.k8s.io/v1beta1");
}

#[tokio::test]
async fn what_belongs_to_a_feature_needs_it() {
    let all = "--runtime-config=api/all=true";
    let path = "/apis/scheduling.k8s.io/v1alpha2/podgroups";
    assert_eq!(with(&[all]).await.client().get(path).await.status, 404);
    let on = with(&[all, "--feature-gates=GenericWorkload=true"]).await;
    assert_eq!(on.client().get(path).await.status, 200);
}

#[tokio::test]
async fn an_emulated_version_serves_what_it_had() {
    let server = with(&["--emulated-version=1.33", "--runtime-config=api/beta=true"]).await;
    let client = server.client();
    let versions = served(&client).await;
    let has = |version: &str| versions.iter().any(|it| it == version);
    assert!(!has("resource.k8s.io/v1") && has("resource.k8s.io/v1beta1"), "{versions:?}");
    assert_eq!(client.get("/apis/storage.k8s.io/v1/volumeattributesclasses").await.status, 404);
    let version = client.get("/version").await.expect(200);
    assert_eq!((&version["emulationMinor"], &version["minor"]), (&json!("33"), &json!("36")));

    let server = with(&[
        "--emulated-version=1.33",
        "--emulation-forward-compatible",
        "--runtime-config=api/beta=true",
        "--feature-gates=DynamicResourceAllocation=true",
    ])
    .await;
    let versions = served(&server.client()).await;
    assert!(versions.iter().any(|it| it == "resource.k8s.io/v1"), "{versions:?}");
}

#[tokio::test]
async fn what_nobody_knows_keeps_the_server_from_starting() {
    for (flag, expected) in [
        ("--runtime-config=apps/v7=true", "group version apps/v7 that has not been registered"),
        ("--runtime-config=api/all=maybe", "invalid value api/all=maybe"),
    ] {
        let refused = RunningServer::try_start(Options::default().argument(flag)).await;
        let error = format!("{:#}", refused.err().expect("a refusal"));
        assert!(error.contains(expected), "{error}");
    }
}
