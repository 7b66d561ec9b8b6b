//! The real kube-controller-manager and kube-scheduler do their work on our server.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::signing_request;
use keelson_testkit::{Client, Options, RunningServer};
use keelson_tests::controllers::Cluster;
use keelson_tests::place::names;
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, Pem, X509Certificate};

fn template(labels: &Value) -> Value {
    json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    })
}

fn deployment(name: &str, replicas: u32) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template(&labels)},
    })
}

fn count(list: &Value) -> usize {
    names(list).len()
}

#[tokio::test]
async fn a_deployment_becomes_pods_on_nodes() {
    let Some(cluster) = Cluster::for_test("a_deployment_becomes_pods_on_nodes").await else { return };
    cluster.namespace("rollout").await;
    let (apps, pods) = ("/apis/apps/v1/namespaces/rollout", "/api/v1/namespaces/rollout/pods");
    let client = &cluster.client;
    client.post(&format!("{apps}/deployments"), &deployment("web", 3)).await.expect(201);
    let at = format!("{apps}/deployments/web");
    cluster.until("three pods are available", &at, |it| it["status"]["availableReplicas"] == 3).await;
    let list = client.get(pods).await.expect(200);
    for pod in list["items"].as_array().expect("a list") {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        assert!(node.starts_with("node-"), "{pod:#}");
        assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "ReplicaSet");
    }

    // A new template is rolled out, and the old replica set stays for a way back.
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "registry.example/web:2"}]}}}});
    client.patch(&at, "application/strategic-merge-patch+json", &image).await.expect(200);
    let is_done = |it: &Value| {
        let status = &it["status"];
        status["observedGeneration"] == it["metadata"]["generation"]
            && status["updatedReplicas"] == 3
            && status["replicas"] == 3
            && status["availableReplicas"] == 3
    };
    cluster.until("the new template is everywhere", &at, is_done).await;
    assert_eq!(count(&client.get(&format!("{apps}/replicasets")).await.expect(200)), 2);

    // Scaling down removes pods, and the objects of a deployment are deleted with it.
    let fewer = json!({"spec": {"replicas": 1}});
    client.patch(&format!("{at}/scale"), "application/merge-patch+json", &fewer).await.expect(200);
    cluster.until("one pod is left", pods, |it| count(it) == 1).await;
    client.delete(&at).await.expect(200);
    cluster.until("no pod is left", pods, |it| count(it) == 0).await;
    cluster.until("no replica set is left", &format!("{apps}/replicasets"), |it| count(it) == 0).await;
}

#[tokio::test]
async fn a_job_completes_when_its_pods_are_done() {
    let Some(cluster) = Cluster::for_test("a_job_completes_when_its_pods_are_done").await else { return };
    cluster.namespace("jobs").await;
    let mut template = template(&json!({"ends": "yes"}));
    template["spec"]["restartPolicy"] = "Never".into();
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"},
        "spec": {"completions": 3, "parallelism": 2, "completionMode": "Indexed", "template": template},
    });
    let jobs = "/apis/batch/v1/namespaces/jobs/jobs";
    cluster.client.post(jobs, &job).await.expect(201);
    let is_complete = |it: &Value| {
        let conditions = it["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|it| it["type"] == "Complete" && it["status"] == "True")
    };
    let done = cluster.until("the job is complete", &format!("{jobs}/sum"), is_complete).await;
    assert_eq!(done["status"]["succeeded"], 3);
    assert_eq!(done["status"]["completedIndexes"], "0-2");
}

#[tokio::test]
async fn a_namespace_goes_when_it_is_empty() {
    let Some(cluster) = Cluster::for_test("a_namespace_goes_when_it_is_empty").await else { return };
    cluster.namespace("passing").await;
    let root = "/api/v1/namespaces/passing";
    cluster
        .until("it has an account", &format!("{root}/serviceaccounts"), |it| names(it) == ["default"])
        .await;
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    cluster.client.post(&format!("{root}/configmaps"), &config).await.expect(201);
    let deployments = "/apis/apps/v1/namespaces/passing/deployments";
    cluster.client.post(deployments, &deployment("web", 2)).await.expect(201);
    cluster.until("pods run", &format!("{deployments}/web"), |it| it["status"]["readyReplicas"] == 2).await;
    cluster.client.delete(root).await.expect(200);
    cluster.until("it is gone", root, |it| it["code"] == 404).await;
}

#[tokio::test]
async fn what_has_lost_its_owner_is_collected() {
    let Some(cluster) = Cluster::for_test("what_has_lost_its_owner_is_collected").await else { return };
    cluster.namespace("family").await;
    let (client, maps) = (&cluster.client, "/api/v1/namespaces/family/configmaps");
    let config = |name: &str, owner: Option<&Value>| {
        let owners: Vec<Value> = owner
            .map(|it| {
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "name": it["metadata"]["name"],
                    "uid": it["metadata"]["uid"], "blockOwnerDeletion": true,
                })
            })
            .into_iter()
            .collect();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
    };
    let delete = async |name: &str, policy: &str| {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        client.delete_with(&format!("{maps}/{name}"), &options).await.expect(200);
    };
    for policy in ["Background", "Foreground", "Orphan"] {
        let (parent, child) =
            (format!("p-{}", policy.to_lowercase()), format!("c-{}", policy.to_lowercase()));
        let owner = client.post(maps, &config(&parent, None)).await.expect(201);
        client.post(maps, &config(&child, Some(&owner))).await.expect(201);
        delete(&parent, policy).await;
        cluster.until("the parent is gone", &format!("{maps}/{parent}"), |it| it["code"] == 404).await;
        let child = format!("{maps}/{child}");
        if policy == "Orphan" {
            let left = client.get(&child).await.expect(200);
            assert_eq!(left["metadata"]["ownerReferences"], Value::Null);
        } else {
            cluster.until("the child is gone", &child, |it| it["code"] == 404).await;
        }
    }
}

#[tokio::test]
async fn other_controllers_report_what_they_see() {
    let Some(cluster) = Cluster::for_test("other_controllers_report_what_they_see").await else { return };
    cluster.namespace("watched").await;
    let (client, core) = (&cluster.client, "/api/v1/namespaces/watched");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"}, "spec": {"hard": {"pods": "10"}},
    });
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    let budgets = "/apis/policy/v1/namespaces/watched/poddisruptionbudgets";
    client.post(budgets, &budget).await.expect(201);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    });
    client.post(&format!("{core}/services"), &service).await.expect(201);
    let deployments = "/apis/apps/v1/namespaces/watched/deployments";
    client.post(deployments, &deployment("web", 2)).await.expect(201);

    let is_counted =
        |it: &Value| it["status"]["expectedPods"] == 2 && it["status"]["disruptionsAllowed"] == 1;
    cluster.until("the budget counts", &format!("{budgets}/web"), is_counted).await;
    let slices = "/apis/discovery.k8s.io/v1/namespaces/watched/endpointslices";
    let has_two = |it: &Value| it["items"][0]["endpoints"].as_array().is_some_and(|it| it.len() == 2);
    cluster.until("the service has two ends", slices, has_two).await;
    // Counts existing objects; later ones are counted by admission.
    client.post(&format!("{core}/resourcequotas"), &quota).await.expect(201);
    let quota = format!("{core}/resourcequotas/pods");
    cluster.until("the quota counts", &quota, |it| it["status"]["used"]["pods"] == "2").await;
}

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// Asks for a certificate, has it approved, and waits for it.
async fn certificate(client: &Client, name: &str, signer: &str, pem: &str) -> Vec<u8> {
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": ["client auth", "digital signature"]},
    });
    let mut request = client.post(REQUESTS, &request).await.expect(201);
    if signer == "kubernetes.io/kube-apiserver-client" {
        request["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Test"}]);
        client.put(&format!("{REQUESTS}/{name}/approval"), &request).await.expect(200);
    }
    let clock = Clock::real();
    let deadline = clock.monotonic() + Duration::from_secs(60);
    loop {
        let found = client.get(&format!("{REQUESTS}/{name}")).await.expect(200);
        if let Some(field) = found["status"]["certificate"].as_str() {
            let text = STANDARD.decode(field).expect("base64");
            return Pem::read(std::io::Cursor::new(text)).expect("PEM").0.contents;
        }
        assert!(clock.monotonic() < deadline, "nobody signs: {found:#}");
        clock.sleep(Duration::from_millis(50)).await;
    }
}

/// The parts on which two signers should agree: all but the CA, the time and the serial number.
fn shape(der: &[u8]) -> Vec<String> {
    let (_, parsed) = X509Certificate::from_der(der).expect("a certificate");
    let validity = parsed.validity();
    let life = validity.not_after.timestamp() - validity.not_before.timestamp();
    let mut shape = vec![
        format!("version {:?}", parsed.version()),
        format!("algorithm {:?}", parsed.signature_algorithm),
        format!("subject {:02x?}", parsed.subject().as_raw()),
        format!("key {:02x?}", parsed.public_key().raw),
        format!("life {life}"),
    ];
    let extensions = parsed.extensions().iter();
    shape.extend(extensions.map(|it| {
        let is_key_id = it.oid.to_id_string() == "2.5.29.35";
        let value = if is_key_id { it.value.len().to_string() } else { format!("{:02x?}", it.value) };
        format!("{} {} {value}", it.oid, it.critical)
    }));
    shape
}

#[tokio::test]
async fn upstream_signs_as_we_do() {
    let Some(cluster) = Cluster::for_test("upstream_signs_as_we_do").await else { return };
    let ours = RunningServer::start(Options::default()).await;
    let kubelet = signing_request("system:node:signed", "system:nodes", &[]).expect("a request").0;
    let names = ["a.example.com", "10.1.2.3", "fd00::1"];
    let jane = signing_request("jane@example.com", "d\u{e9}v's", &names).expect("a request").0;
    for (name, signer, pem) in [
        ("kubelet", "kubernetes.io/kube-apiserver-client-kubelet", &kubelet),
        ("client", "kubernetes.io/kube-apiserver-client", &jane),
    ] {
        let theirs = certificate(&cluster.client, name, signer, pem).await;
        let own = certificate(&ours.client(), name, signer, pem).await;
        assert_eq!(shape(&own), shape(&theirs), "{name}");
    }
}
