//! Cluster: upstream's controller manager and scheduler on our server, with nodes that exist only as objects.
//!
//! No containers run here. `keep_house` writes what a kubelet would report: pods that were assigned to a node
//! start (or end at once, if their label `ends` says so), and terminating pods are removed.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::Result;
use keelson_stdx::clock::Clock;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Client, Options, RunningServer, fixture, free_port};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::process::Processes;

/// Longer than any controller takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A control plane that is ours but for its controllers.
pub struct Cluster {
    /// The administrator. Not shared: connections end with the runtime of the test that made them.
    pub client: Client,
    plane: Arc<Plane>,
}

struct Plane {
    server: RunningServer,
    _processes: Processes,
}

impl Cluster {
    /// The one that all tests of this process share, or a note that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Cluster> {
        static SHARED: Mutex<Weak<Plane>> = Mutex::const_new(Weak::new());
        let controllers = Tool::KubeControllerManager.path_for(test)?;
        let scheduler = Tool::KubeScheduler.path_for(test)?;
        let mut shared = SHARED.lock().await;
        if let Some(plane) = shared.upgrade() {
            return Some(Cluster { client: plane.server.client(), plane });
        }
        let plane = Plane::start(&controllers, &scheduler).await.expect("the control plane starts");
        let plane = Arc::new(plane);
        *shared = Arc::downgrade(&plane);
        let weak = Arc::downgrade(&plane);
        // Not a task: the runtime of a test ends with the test, and the others go on.
        std::thread::Builder::new().name("kubelets".into()).spawn(move || run(weak)).expect("a thread");
        Some(Cluster { client: plane.server.client(), plane })
    }

    /// Makes a namespace.
    pub async fn namespace(&self, name: &str) {
        self.client.post("/api/v1/namespaces", &fixture::namespace(name)).await.expect(201);
    }

    /// Requests `path` until `is_so` accepts the response; `what` describes that.
    pub async fn until(&self, what: &str, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let clock = Clock::real();
        let deadline = clock.monotonic() + PATIENCE;
        loop {
            let seen = self.client.get(path).await.json();
            if is_so(&seen) {
                return seen;
            }
            assert!(clock.monotonic() < deadline, "not so in time: {what}\n{seen:#}\n{}", self.said());
            clock.sleep(Duration::from_millis(100)).await;
        }
    }

    /// The errors that the controllers log.
    fn said(&self) -> String {
        let log = |name: &str| {
            let text = std::fs::read_to_string(self.plane.server.scratch().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|it| it.starts_with(['E', 'F'])).collect();
            lines[lines.len().saturating_sub(20)..].join("\n")
        };
        format!("{}\n{}", log("kube-controller-manager.log"), log("kube-scheduler.log"))
    }
}

impl Plane {
    async fn start(controllers: &Path, scheduler: &Path) -> Result<Plane> {
        let server = RunningServer::start(options()).await;
        let mut processes = Processes::default();
        // Nodes send no heartbeats.
        let patient = String::from("--node-monitor-grace-period=30m");
        let signs = |flag: &str, file: &str| format!("--{flag}={}", server.data_dir().join(file).display());
        let own = vec![
            patient,
            signs("cluster-signing-cert-file", "ca.crt"),
            signs("cluster-signing-key-file", "ca.key"),
        ];
        for (program, own) in [(controllers, own), (scheduler, Vec::new())] {
            let log = program.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".log";
            let arguments = [arguments(&server)?, own].concat();
            processes.spawn(program, &arguments, &server.scratch().join(log))?;
        }
        let client = server.client();
        for name in ["node-1", "node-2"] {
            client.post("/api/v1/nodes", &node(name)).await.expect(201);
        }
        Ok(Plane { server, _processes: processes })
    }
}

/// Options that leave to the controllers what the server otherwise does itself; every pod has a service
/// account.
fn options() -> Options {
    let options = Options::default().with_service_accounts();
    options
        .argument("--empty-namespaces=false")
        .argument("--count-quota-usage=false")
        .argument("--default-service-accounts=false")
        .argument("--sign-certificates=false")
}

fn arguments(server: &RunningServer) -> Result<Vec<String>> {
    let kubeconfig = server.kubeconfig().display().to_string();
    Ok(vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        String::from("--authentication-skip-lookup"),
        String::from("--bind-address=127.0.0.1"),
        format!("--secure-port={}", free_port()?),
        String::from("--leader-elect=true"),
    ])
}

fn node(name: &str) -> Value {
    let room = json!({"cpu": "8", "memory": "16Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": room, "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    })
}

fn run(plane: Weak<Plane>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(keep_house(plane));
}

/// Does the work of kubelets until the cluster is dropped.
async fn keep_house(plane: Weak<Plane>) {
    let Some(client) = plane.upgrade().map(|it| it.server.client()) else { return };
    let clock = Clock::real();
    let mut addresses = 0_u32;
    loop {
        if plane.strong_count() == 0 {
            return;
        }
        let asked = client.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName!=").try_send().await;
        let Ok(answer) = asked else { return };
        for pod in answer.json()["items"].as_array().into_iter().flatten() {
            addresses += 1;
            let address = format!("10.244.{}.{}", addresses / 250 % 250, addresses % 250 + 1);
            // A pod that changes meanwhile is handled in the next round.
            let _ = attend(&client, pod, &address).await;
        }
        clock.sleep(Duration::from_millis(100)).await;
    }
}

async fn attend(client: &Client, pod: &Value, address: &str) -> Result<()> {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let at = format!("/api/v1/namespaces/{}/pods/{}", text("/metadata/namespace"), text("/metadata/name"));
    if !text("/metadata/deletionTimestamp").is_empty() {
        client.call("DELETE", &format!("{at}?gracePeriodSeconds=0")).try_send().await?;
        return Ok(());
    }
    if text("/status/phase") != "Pending" {
        return Ok(());
    }
    let (phase, ready) =
        if text("/metadata/labels/ends").is_empty() { ("Running", "True") } else { ("Succeeded", "False") };
    let status = json!({"status": {
        "phase": phase, "podIP": address, "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }});
    let patch = client.call("PATCH", &format!("{at}/status")).json(&status);
    patch.header("content-type", "application/strategic-merge-patch+json").try_send().await?;
    Ok(())
}
