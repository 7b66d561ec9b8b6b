//! Stage: the files, the webhook and the objects that a server needs for a matrix.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use keelson_stdx::clock::Clock;
use keelson_testkit::{Callee, Client};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::question::ask;
use super::{Cell, Hook, Matrix, Request, Who};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The time limit for a server to see new objects.
const LEARNS_WITHIN: Duration = Duration::from_secs(20);

/// Files and a webhook; they go away when this is dropped.
pub struct Stage {
    folder: TempDir,
    callee: Callee,
    flags: Vec<String>,
}

impl Stage {
    /// The stage of a matrix.
    pub async fn new(matrix: &Matrix) -> Result<Stage> {
        let hook = Hook::new(matrix.webhook.clone());
        let callee = Callee::open(move |asked| hook.answer(&asked.body)).await?;
        let mut stage = Stage { folder: tempfile::tempdir()?, callee, flags: Vec::new() };
        let kubeconfig =
            stage.put("webhook.kubeconfig", &stage.callee.kubeconfig("/authorize", "our-own"))?;
        if let Some(on_failure) = &matrix.on_failure {
            let config = stage.put("authorization.json", &configuration(matrix, on_failure, &kubeconfig))?;
            stage.flags.push(format!("--authorization-config={}", config.display()));
            return Ok(stage);
        }
        stage.flags.push(format!("--authorization-mode={}", matrix.modes));
        if matrix.has("ABAC") {
            let policy = stage.put("policy.jsonl", &matrix.policy_file())?;
            stage.flags.push(format!("--authorization-policy-file={}", policy.display()));
        }
        if matrix.has("Webhook") {
            stage.flags.push(format!("--authorization-webhook-config-file={}", kubeconfig.display()));
        }
        if let Some(version) = &matrix.review {
            stage.flags.push(format!("--authorization-webhook-version={version}"));
        }
        Ok(stage)
    }

    /// The flags of the server.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }

    /// The URL of the webhook, and its CA.
    pub(super) fn webhook(&self) -> (String, &str) {
        (self.callee.url("/authorize"), self.callee.ca())
    }

    /// The same answer without the parts that differ from run to run.
    pub(super) fn plain(&self, cell: Cell) -> Cell {
        cell.replaced(&self.callee.url(""), "https://webhook")
    }

    fn put(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Matrix {
    pub(super) fn has(&self, mode: &str) -> bool {
        self.modes.split(',').any(|it| it == mode)
    }

    /// One policy per line; a value that is not an object becomes a comment.
    pub(super) fn policy_file(&self) -> String {
        let lines = self.policies.iter().map(|it| match it {
            Value::String(comment) => format!("# {comment}\n"),
            policy => format!("{policy}\n"),
        });
        lines.collect()
    }
}

fn configuration(matrix: &Matrix, on_failure: &str, kubeconfig: &std::path::Path) -> String {
    let authorizers: Vec<Value> = matrix
        .modes
        .split(',')
        .map(|mode| match mode {
            "Webhook" => json!({"type": mode, "name": "hook", "webhook": {
                "timeout": "3s", "subjectAccessReviewVersion": matrix.review.as_deref().unwrap_or("v1"),
                "matchConditionSubjectAccessReviewVersion": "v1", "failurePolicy": on_failure,
                "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": kubeconfig},
            }}),
            mode => json!({"type": mode, "name": mode.to_lowercase()}),
        })
        .collect();
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration", "authorizers": authorizers,
    })
    .to_string()
}

/// Makes the objects of a matrix, and waits until the server decides by them.
pub(super) async fn prepare(matrix: &Matrix, client: &Client) -> Result<()> {
    for namespace in ["web", "other"] {
        let body = json!({"metadata": {"name": namespace}});
        client.post("/api/v1/namespaces", &body).await;
    }
    let (mut sentinels, mut questions) = (Vec::new(), Vec::new());
    if matrix.has("RBAC") {
        sentinels.extend(role_sentinels());
        questions.extend(["sentinel pods", "sentinel services in:web"].map(|it| ("sentinel", it)));
    }
    if matrix.has("Node") {
        sentinels.extend(node_sentinels());
        let own = [
            "get pods in:web name:sentinel",
            "get persistentvolumes name:sentinel",
            "get volumeattachments.storage.k8s.io name:sentinel",
            "get resourceslices.resource.k8s.io name:sentinel",
        ];
        questions.extend(own.map(|it| ("system:node:sentinel", it)));
    }
    for object in matrix.objects.iter().chain(&sentinels) {
        make(client, object).await?;
    }
    let clock = Clock::real();
    let deadline = clock.monotonic() + LEARNS_WITHIN;
    for (user, request) in questions {
        let who = Who::read(&json!({"user": user, "groups": ["system:nodes"]}));
        let body = Request::parse(request)?.review(&who);
        while !ask(client, &body).await?.is_yes() {
            ensure!(clock.monotonic() < deadline, "the server does not learn of {request}");
            clock.sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

async fn make(client: &Client, object: &Value) -> Result<()> {
    let (kind, meta) = (object["kind"].as_str().unwrap_or_default(), &object["metadata"]);
    let base = match object["apiVersion"].as_str().unwrap_or(RBAC) {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    let namespace = meta["namespace"].as_str().map(|it| format!("/namespaces/{it}")).unwrap_or_default();
    let path = format!("{base}{namespace}/{}s", kind.to_lowercase());
    let answer = client.post(&path, object).await;
    ensure!(matches!(answer.status.as_u16(), 201 | 409), "{path}: {}", answer.text());
    if !object["status"].is_null() {
        let path = format!("{path}/{}/status", meta["name"].as_str().unwrap_or_default());
        let body = json!({"status": object["status"]});
        let answer = client.patch(&path, "application/merge-patch+json", &body).await;
        ensure!(answer.status == 200, "{path}: {}", answer.text());
    }
    Ok(())
}

/// Created last: a server that knows them knows all earlier objects.
fn role_sentinels() -> [Value; 4] {
    let rule = |resource: &str| json!([{"verbs": ["sentinel"], "apiGroups": [""], "resources": [resource]}]);
    let subjects = json!([{"kind": "User", "name": "sentinel"}]);
    let reference = |kind: &str| json!({"kind": kind, "name": "sentinel"});
    let (there, everywhere) = (json!({"name": "sentinel", "namespace": "web"}), json!({"name": "sentinel"}));
    [
        json!({"kind": "ClusterRole", "metadata": everywhere, "rules": rule("pods")}),
        json!({"kind": "Role", "metadata": there, "rules": rule("services")}),
        json!({"kind": "ClusterRoleBinding", "metadata": everywhere, "roleRef": reference("ClusterRole"), "subjects": subjects}),
        json!({"kind": "RoleBinding", "metadata": there, "roleRef": reference("Role"), "subjects": subjects}),
    ]
}

/// The same for the resources that the node authorizer watches.
fn node_sentinels() -> [Value; 4] {
    let meta = json!({"name": "sentinel"});
    [
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta, "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/s"},
            "claimRef": {"namespace": "web", "name": "sentinel"},
        }}),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": meta, "spec": {
            "attacher": "a.example", "nodeName": "sentinel", "source": {"persistentVolumeName": "sentinel"},
        }}),
        json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": {
            "driver": "d.example", "nodeName": "sentinel",
            "pool": {"name": "sentinel", "generation": 1, "resourceSliceCount": 1},
        }}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sentinel", "namespace": "web"}, "spec": {
            "nodeName": "sentinel", "containers": [{"name": "c", "image": "registry.example/c:1"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "sentinel"}}],
        }}),
    ]
}
