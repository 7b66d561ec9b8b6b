//! Quotas hold under concurrent requests, and deletions give back what was used.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_testkit::{Client, Etcd, Options, RunningServer, fixture};
use keelson_tests::controllers::Cluster;
use serde_json::{Value, json};

/// Longer than counting takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn quota(name: &str, hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}})
}

/// Repeats the request until the response is as wanted.
async fn until(client: &Client, what: &str, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let clock = Clock::real();
    let deadline = clock.monotonic() + PATIENCE;
    loop {
        let seen = client.get(path).await.json();
        if is_so(&seen) {
            return seen;
        }
        assert!(clock.monotonic() < deadline, "not so in time: {what}\n{seen:#}");
        clock.sleep(Duration::from_millis(20)).await;
    }
}

/// A server with a namespace and a quota that has been counted.
async fn server(namespace: &str, hard: &Value) -> (RunningServer, String) {
    let server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.post("/api/v1/namespaces", &fixture::namespace(namespace)).await.expect(201);
    let root = format!("/api/v1/namespaces/{namespace}");
    client.post(&format!("{root}/resourcequotas"), &quota("q", hard)).await.expect(201);
    let at = format!("{root}/resourcequotas/q");
    until(&client, "the quota is counted", &at, |it| it["status"]["hard"] == *hard).await;
    (server, root)
}

/// The responses to many clients that create config maps at once, each one after the other.
async fn storm(
    server: &RunningServer,
    root: &str,
    (clients, each): (usize, usize),
    prefix: &'static str,
) -> Vec<(String, u16)> {
    let makers: Vec<_> = (0..clients)
        .map(|number| {
            let (client, at) = (server.client(), format!("{root}/configmaps"));
            task::spawn("maker", async move {
                let mut seen = Vec::new();
                for round in 0..each {
                    let name = format!("{prefix}-{number}-{round}");
                    let answer = client.post(&at, &fixture::config_map(&name)).await;
                    seen.push((name, answer.status.as_u16()));
                }
                seen
            })
        })
        .collect();
    let mut seen = Vec::new();
    for maker in makers {
        seen.extend(maker.await.expect("it does not panic"));
    }
    seen
}

fn with_status(seen: &[(String, u16)], status: u16) -> Vec<&str> {
    seen.iter().filter(|(_, it)| *it == status).map(|(name, _)| name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_at_once_never_exceed_a_quota() {
    let (server, root) = server("storm", &json!({"configmaps": "200"})).await;
    let client = server.client();
    let seen = storm(&server, &root, (64, 5), "first").await;
    let made = with_status(&seen, 201);
    assert_eq!((made.len(), with_status(&seen, 403).len()), (200, 120), "{seen:?}");
    let at = format!("{root}/resourcequotas/q");
    assert_eq!(client.get(&at).await.expect(200)["status"]["used"]["configmaps"], "200");

    // Deleting objects releases exactly what they used.
    for name in &made[..30] {
        client.delete(&format!("{root}/configmaps/{name}")).await.expect(200);
    }
    until(&client, "the room is given back", &at, |it| it["status"]["used"]["configmaps"] == "170").await;
    let again = storm(&server, &root, (64, 1), "again").await;
    assert_eq!(with_status(&again, 201).len(), 30);
    assert_eq!(client.get(&at).await.expect(200)["status"]["used"]["configmaps"], "200");
}

/// The same while other clients delete: the usage never exceeds the quota.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_deletes_meanwhile_gives_nothing_away() {
    const LIMIT: usize = 20;
    let (server, root) = server("churn", &json!({"configmaps": format!("{LIMIT}")})).await;
    let (client, at) = (server.client(), format!("{root}/configmaps"));
    for round in 0..4 {
        let makers: Vec<_> = (0..16)
            .map(|number| {
                let (client, at) = (server.client(), at.clone());
                task::spawn("churn", async move {
                    for turn in 0..6 {
                        let name = format!("c-{round}-{number}-{turn}");
                        let made = client.post(&at, &fixture::config_map(&name)).await;
                        if made.status.as_u16() == 201 && turn % 2 == 0 {
                            client.delete(&format!("{at}/{name}")).await.expect(200);
                        }
                    }
                })
            })
            .collect();
        for maker in makers {
            maker.await.expect("it does not panic");
        }
        let there = client.get(&at).await.expect(200)["items"].as_array().map_or(0, Vec::len);
        assert!(there <= LIMIT, "{there} are there in round {round}");
        let quota = format!("{root}/resourcequotas/q");
        let is_counted = |it: &Value| it["status"]["used"]["configmaps"] == format!("{there}");
        until(&client, "everything is counted", &quota, is_counted).await;
        client.delete(&at).await.expect(200);
        until(&client, "all room is given back", &quota, |it| it["status"]["used"]["configmaps"] == "0")
            .await;
    }
}

/// Two servers write the same quota: on a conflict the quota is read again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_a_quota() {
    let Some(etcd) = Etcd::for_test("two_servers_share_a_quota").await else { return };
    let start = || {
        let options = Options::default().argument(format!("--etcd-servers={}", etcd.endpoint()));
        RunningServer::start(options.argument("--count-quota-usage=false"))
    };
    let (one, other) = (start().await, start().await);
    let (client, root) = (one.client(), "/api/v1/namespaces/default");
    client.post(&format!("{root}/resourcequotas"), &quota("q", &json!({"secrets": "60"}))).await.expect(201);
    let at = format!("{root}/resourcequotas/q");
    let counted = json!({"status": {"hard": {"secrets": "60"}, "used": {"secrets": "0"}}});
    client.patch(&format!("{at}/status"), "application/merge-patch+json", &counted).await.expect(200);
    until(&other.client(), "the other knows", &at, |it| it["status"]["hard"]["secrets"] == "60").await;
    let makers: Vec<_> = (0..16)
        .map(|number| {
            let client = if number % 2 == 0 { one.client() } else { other.client() };
            let at = format!("{root}/secrets");
            task::spawn("maker", async move {
                let mut made = 0;
                for round in 0..8 {
                    let name = format!("s-{number}-{round}");
                    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
                    let answer = client.post(&at, &secret).await;
                    // After four conflicts the client gets a 409, as with upstream.
                    assert!([201, 403, 409].contains(&answer.status.as_u16()), "{}", answer.text());
                    made += u32::from(answer.status == 201);
                }
                made
            })
        })
        .collect();
    let mut made = 0;
    for maker in makers {
        made += maker.await.expect("it does not panic");
    }
    let used = client.get(&at).await.expect(200)["status"]["used"]["secrets"].clone();
    assert_eq!((made, used), (60, json!("60")));
}

#[tokio::test]
async fn what_is_there_before_a_quota_is_counted() {
    let server = RunningServer::start(Options::default()).await;
    let client = server.client();
    client.post("/api/v1/namespaces", &fixture::namespace("before")).await.expect(201);
    let root = "/api/v1/namespaces/before";
    for name in ["a", "b"] {
        client.post(&format!("{root}/pods"), &sized_pod(name, "250m")).await.expect(201);
    }
    let hard = json!({"pods": "3", "requests.cpu": "1", "count/configmaps": "5"});
    client.post(&format!("{root}/resourcequotas"), &quota("q", &hard)).await.expect(201);
    let at = format!("{root}/resourcequotas/q");
    let used = json!({"pods": "2", "requests.cpu": "500m", "count/configmaps": "0"});
    until(&client, "it is counted", &at, |it| it["status"] == json!({"hard": hard, "used": used})).await;

    let refused =
        client.post(&format!("{root}/pods"), &sized_pod("c", "600m")).await.refused(403, "Forbidden");
    let message = "pods \"c\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: \
                   requests.cpu=500m, limited: requests.cpu=1";
    assert_eq!(refused["message"], message);

    // A pod that has ended is no longer charged, and a new limit is counted again.
    let ended = json!({"status": {"phase": "Succeeded"}});
    client.patch(&format!("{root}/pods/a/status"), "application/merge-patch+json", &ended).await.expect(200);
    until(&client, "one has ended", &at, |it| it["status"]["used"]["requests.cpu"] == "250m").await;
    let more = json!({"spec": {"hard": {"requests.memory": "1Gi", "requests.cpu": "2"}}});
    client.patch(&at, "application/merge-patch+json", &more).await.expect(200);
    let is_counted = |it: &Value| it["status"]["used"]["requests.memory"] == "16Mi";
    until(&client, "the new limit is counted", &at, is_counted).await;
    client.delete(&format!("{root}/pods/b?gracePeriodSeconds=0")).await.expect(200);
    until(&client, "the other is gone", &at, |it| it["status"]["used"]["pods"] == "0").await;
}

fn sized_pod(name: &str, cpu: &str) -> Value {
    let mut pod = fixture::small_pod(name);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu, "memory": "16Mi"}});
    pod
}

/// Creates objects in a namespace for the comparison of two counts.
async fn furnish(client: &Client, root: &str) {
    let post =
        async |what: &str, body: &Value| drop(client.post(&format!("{root}/{what}"), body).await.expect(201));
    let mut best = fixture::small_pod("best");
    best["spec"]["activeDeadlineSeconds"] = 3600.into();
    for mut pod in [sized_pod("a", "100m"), sized_pod("b", "100m"), sized_pod("c", "100m"), best] {
        // The pod does not run, so its status does not change.
        pod["spec"]["schedulingGates"] = json!([{"name": "example.com/never"}]);
        post("pods", &pod).await;
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]},
    });
    post("services", &service).await;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"},
        "spec": {"storageClassName": "gold", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}},
    });
    post("persistentvolumeclaims", &claim).await;
    post("secrets", &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})).await;
    let ended = json!({"status": {"phase": "Failed"}});
    client.patch(&format!("{root}/pods/c/status"), "application/merge-patch+json", &ended).await.expect(200);
}

/// The quotas by which they are compared.
fn compared() -> [Value; 3] {
    let all = json!({
        "pods": "20", "count/pods": "20", "requests.cpu": "9", "memory": "9Gi", "limits.cpu": "9", "secrets": "9",
        "services": "9", "services.nodeports": "9", "services.loadbalancers": "9", "requests.storage": "1Ti",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "9", "count/deployments.apps": "9",
        "gold.storageclass.storage.k8s.io/requests.storage": "1Ti", "count/endpointslices.discovery.k8s.io": "99",
    });
    let mut ends = quota("ends", &json!({"pods": "9"}));
    ends["spec"]["scopes"] = json!(["Terminating", "BestEffort"]);
    let mut sized = quota("sized", &json!({"pods": "9", "requests.cpu": "9"}));
    sized["spec"]["scopes"] = json!(["NotBestEffort"]);
    [quota("all", &all), ends, sized]
}

/// The status of all quotas once they are counted.
async fn counted(client: &Client, root: &str) -> Vec<Value> {
    let mut counted = Vec::new();
    for quota in compared() {
        let name = quota["metadata"]["name"].as_str().unwrap_or_default();
        client.post(&format!("{root}/resourcequotas"), &quota).await.expect(201);
        let at = format!("{root}/resourcequotas/{name}");
        let limits = quota["spec"]["hard"].as_object().map_or(0, serde_json::Map::len);
        let is_counted = |it: &Value| it["status"]["used"].as_object().is_some_and(|it| it.len() == limits);
        counted.push(until(client, "it is counted", &at, is_counted).await["status"].take());
    }
    counted
}

#[tokio::test]
async fn the_real_controller_counts_as_we_do() {
    let Some(cluster) = Cluster::for_test("the_real_controller_counts_as_we_do").await else { return };
    let ours = RunningServer::start(Options::default()).await;
    let own = ours.client();
    let mut seen = Vec::new();
    for client in [&cluster.client, &own] {
        client.post("/api/v1/namespaces", &fixture::namespace("counted")).await.expect(201);
        let root = "/api/v1/namespaces/counted";
        // The account of the cluster's namespaces is made by the controller manager.
        if std::ptr::eq(client, &cluster.client) {
            let accounts = format!("{root}/serviceaccounts/default");
            until(client, "pods have an account", &accounts, |it| it["kind"] == "ServiceAccount").await;
        }
        furnish(client, root).await;
        seen.push(counted(client, root).await);
    }
    // Slices and volumes are the business of controllers that only one of them has.
    for status in seen.iter_mut().flatten() {
        for list in ["hard", "used"] {
            status[list].as_object_mut().map(|it| it.remove("count/endpointslices.discovery.k8s.io"));
        }
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0][0]["used"]["requests.cpu"], "200m", "{:#}", seen[0][0]);
    assert_eq!(seen[0][1]["used"]["pods"], "1");
}

/// The controller and admission do not interfere: every create and delete is counted once.
#[tokio::test]
async fn admission_and_the_real_controller_agree() {
    let Some(cluster) = Cluster::for_test("admission_and_the_real_controller_agree").await else { return };
    cluster.namespace("agreed").await;
    let (client, root) = (&cluster.client, "/api/v1/namespaces/agreed");
    until(client, "the namespace is furnished", &format!("{root}/configmaps/kube-root-ca.crt"), |it| {
        it["kind"] == "ConfigMap"
    })
    .await;
    let at = format!("{root}/resourcequotas/q");
    client
        .post(&format!("{root}/resourcequotas"), &quota("q", &json!({"configmaps": "3"})))
        .await
        .expect(201);
    until(client, "it is counted", &at, |it| it["status"]["used"]["configmaps"] == "1").await;
    for name in ["a", "b"] {
        client.post(&format!("{root}/configmaps"), &fixture::config_map(name)).await.expect(201);
    }
    assert_eq!(client.get(&at).await.expect(200)["status"]["used"]["configmaps"], "3");
    client.post(&format!("{root}/configmaps"), &fixture::config_map("c")).await.refused(403, "Forbidden");
    client.delete(&format!("{root}/configmaps/a")).await.expect(200);
    until(client, "room is given back", &at, |it| it["status"]["used"]["configmaps"] == "2").await;
    client.post(&format!("{root}/configmaps"), &fixture::config_map("c")).await.expect(201);
}

/// The words are those of kube-apiserver v1.36.4 with the same file.
#[tokio::test]
async fn what_is_limited_needs_a_quota_that_covers_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("admission.yaml");
    let limited = json!([
        {"resource": "pods", "matchScopes": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high", "higher"]}]},
        {"resource": "persistentvolumeclaims", "matchContains": [".storageclass.storage.k8s.io/requests.storage"]},
        {"apiGroup": "apps", "resource": "deployments", "matchContains": ["deployments"]},
    ]);
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ResourceQuota", "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": limited,
        }}],
    });
    std::fs::write(&file, configuration.to_string()).expect("a file");
    let flag = format!("--admission-control-config-file={}", file.display());
    let server = RunningServer::start(Options::default().argument(flag)).await;
    let (client, root) = (server.client(), "/api/v1/namespaces/default");
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000});
    client.post("/apis/scheduling.k8s.io/v1/priorityclasses", &class).await.expect(201);
    let mut high = fixture::small_pod("high");
    high["spec"]["priorityClassName"] = "high".into();
    let said = async |path: &str, body: &Value| client.post(path, body).await.json()["message"].take();
    let pods = format!("{root}/pods");
    assert_eq!(
        said(&pods, &high).await,
        "insufficient quota to match these scopes: [{PriorityClass In [high higher]}]"
    );
    client.post(&pods, &fixture::small_pod("low")).await.expect(201);
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "gold"},
        "spec": {"storageClassName": "gold", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    assert_eq!(
        said(&format!("{root}/persistentvolumeclaims"), &claim).await,
        "persistentvolumeclaims \"gold\" is forbidden: insufficient quota to consume: gold.storageclass.storage.k8s.io/requests.storage"
    );
    let labels = json!({"a": "b"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": fixture::small_pod("a")["spec"],
        }},
    });
    assert_eq!(
        said("/apis/apps/v1/namespaces/default/deployments", &deployment).await,
        "deployments.apps \"a\" is forbidden: insufficient quota to consume: count/deployments.apps"
    );

    let mut covers = quota("high", &json!({"pods": "1"}));
    covers["spec"]["scopeSelector"] =
        json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]});
    client.post(&format!("{root}/resourcequotas"), &covers).await.expect(201);
    let at = format!("{root}/resourcequotas/high");
    until(&client, "it is counted", &at, |it| it["status"]["used"]["pods"] == "0").await;
    client.post(&pods, &high).await.expect(201);
    let mut odd = quota("odd", &json!({"pods": "1"}));
    odd["spec"]["scopeSelector"] = json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["not a label!"]}]});
    client.post(&format!("{root}/resourcequotas"), &odd).await.expect(201);
    assert_eq!(
        said(&pods, &fixture::small_pod("odd")).await,
        "error matching scopes of quota odd, err: error on matching scope {PriorityClass In [not a label!]}: failed to parse \
         and convert selector: values[0][PriorityClass]: Invalid value: \"not a label!\": a valid label must be an empty \
         string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    );
}
