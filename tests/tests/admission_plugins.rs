//! Admission plugins: upstream's list and defaults, and the same dialogue with us and with upstream while
//! every plugin is enabled that is off by default.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use keelson_kube_admission::{Selection, names};
use keelson_stdx::clock::Clock;
use keelson_testkit::tool::Tool;
use keelson_testkit::{Answer, Asked, Callee, Client, Etcd, Options, RunningServer};
use keelson_tests::upstream::{EVERYTHING, Upstream};
use serde_json::{Value, json};

/// The time limit for a server to see a role, a node or a PodGroup on a busy machine.
const LEARNS_WITHIN: Duration = Duration::from_secs(30);

/// Policies wait for the language in which they are written.
const NOT_EVALUATED: [&str; 2] = ["MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"];

fn help(program: &Path) -> String {
    let output = Command::new(program).arg("--help").output().expect("it tells what it can do");
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names between two texts.
fn listed(text: &str, (before, after): (&str, &str)) -> Vec<String> {
    let list = text.split(before).nth(1).and_then(|it| it.split(after).next()).unwrap_or_default();
    list.split(", ").map(str::to_owned).collect()
}

/// Needs upstream's server, but only for its help text.
#[test]
fn our_plugins_are_upstreams() {
    let Some(upstream) = Tool::KubeApiserver.path_for("our_plugins_are_upstreams") else { return };
    let theirs = help(&upstream);
    let all = listed(&theirs, ("Comma-delimited list of admission plugins: ", ". The order"));
    let defaults = listed(&theirs, ("in addition to default enabled ones (", ")"));
    assert!(all.len() > 40 && defaults.len() > 20, "upstream's help is read: {all:?} {defaults:?}");
    let mut ours: Vec<&str> = names().collect();
    let on: Vec<&str> = Selection::default().names().collect();
    // Default plugins are listed in the order in which they run.
    assert_eq!(on, defaults);
    ours.sort_unstable();
    assert_eq!(ours, all);
    let all = Selection { only: Some(all), ..Selection::default() };
    assert_eq!(all.missing().collect::<Vec<_>>(), NOT_EVALUATED);
}

/// Decides about images by their names.
fn images(asked: &Asked) -> (u16, String) {
    let review: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let image = review["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
    let answer = |status: Value| {
        let review =
            json!({"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": status});
        (200, review.to_string())
    };
    match image {
        "bad" => answer(json!({"allowed": false, "reason": "it is bad"})),
        "silent" => answer(json!({"allowed": false})),
        "error" => (500, "out of order".to_owned()),
        "gone" => (404, String::new()),
        "garbage" => (200, "{".to_owned()),
        "other" => (200, json!({"apiVersion": "v1", "kind": "Nothing"}).to_string()),
        "status" => {
            let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no", "code": 403});
            (403, status.to_string())
        }
        _ => answer(json!({"allowed": true, "auditAnnotations": {"seen": image}})),
    }
}

const PLUGINS: &str = "AlwaysAdmit,AlwaysPullImages,DenyServiceExternalIPs,EventRateLimit,\
    ExtendedResourceToleration,ImagePolicyWebhook,LimitPodHardAntiAffinityTopology,NamespaceAutoProvision,\
    NamespaceExists,OwnerReferencesPermissionEnforcement,PodNodeSelector,PodTolerationRestriction,NodeRestriction";

/// One of the two servers, and its image policy webhook.
struct Side {
    client: Client,
    callee: Callee,
}

impl Side {
    async fn callee() -> Callee {
        Callee::open(images).await.expect("somebody to ask")
    }

    /// The flags that enable and configure the plugins.
    fn flags(callee: &Callee, folder: &Path) -> Vec<String> {
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        let authority = file("ca.crt", callee.ca());
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": callee.url("/images"), "certificate-authority": authority}}],
            "users": [{"name": "x", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        });
        let kubeconfig = file("kubeconfig", &kubeconfig.to_string());
        file(
            "limits.yaml",
            "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits:\n\
             - {type: Namespace, qps: 1, burst: 3, cacheSize: 50}\n- {type: SourceAndObject, qps: 1, burst: 2}\n",
        );
        let selectors = json!({"clusterDefaultNodeSelector": "kind=any", "listed": "kind=any,zone=a"});
        let tolerations = json!({
            "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration",
            "default": [{"key": "default", "operator": "Exists"}],
            "whitelist": [
                {"key": "default", "operator": "Exists"}, {"operator": "Exists", "effect": "NoSchedule"},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        });
        let policy = json!({"kubeConfigFile": kubeconfig, "retryBackoff": 1, "allowTTL": 50, "denyTTL": 50});
        let all = json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
                {"name": "EventRateLimit", "path": "limits.yaml"},
                {"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": selectors}},
                {"name": "PodTolerationRestriction", "configuration": tolerations},
                {"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": policy}},
            ],
        });
        let all = file("admission.json", &all.to_string());
        vec![
            format!("--enable-admission-plugins={PLUGINS}"),
            format!("--admission-control-config-file={all}"),
        ]
    }

    /// Leaves out the parts that differ from server to server.
    fn shown(&self, step: &Step, answer: &Answer) -> String {
        let body = normalized(answer.json());
        let text = format!(
            "{} {} {}: {} {:?} {body}",
            step.user,
            step.method,
            step.path,
            answer.status,
            answer.header("retry-after")
        );
        text.replace(self.callee.url("").trim_start_matches("https://"), "POLICY")
    }

    async fn ask(&self, step: &Step) -> Answer {
        let (method, media_type) = match step.method {
            "PATCH" => ("PATCH", "application/merge-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            other => (other, "application/json"),
        };
        let mut call = self.client.call(method, &step.path);
        if !step.user.is_empty() {
            call = call.header("impersonate-user", step.user);
            let group = if step.user.starts_with("system:node:") { "system:nodes" } else { "people" };
            call = call.header("impersonate-group", group);
        }
        if !step.body.is_null() {
            call = call.body(step.body.to_string()).header("content-type", media_type);
        }
        call.send().await
    }

    /// Repeats the request until the response has this status.
    async fn wait(&self, step: &Step, status: u16) {
        let clock = Clock::real();
        let deadline = clock.monotonic() + LEARNS_WITHIN;
        loop {
            let answer = self.ask(step).await;
            if answer.status == status {
                return;
            }
            assert!(clock.monotonic() < deadline, "{} is never {status}: {}", step.path, answer.text());
            clock.sleep(Duration::from_millis(10)).await;
        }
    }

    async fn dialogue(&self, steps: &[Step]) -> Vec<String> {
        let mut answers = Vec::new();
        for step in steps {
            match step.until {
                Some(status) => self.wait(step, status).await,
                None => answers.push(self.shown(step, &self.ask(step).await)),
            }
        }
        answers
    }

    fn questions(&self) -> Vec<String> {
        let asked = self.callee.asked().into_iter();
        asked.map(|it| format!("{} {} {} {}", it.method, it.path, it.authorization, it.body.trim())).collect()
    }
}

fn normalized(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("managedFields");
            for (key, value) in map.iter_mut() {
                let own =
                    ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "clusterIP"];
                let is_own = own.contains(&key.as_str()) || key.ends_with("controller-uid");
                let is_own = is_own && value.is_string();
                let is_list = key == "clusterIPs";
                *value = if is_own || is_list { json!("*") } else { normalized(value.take()) };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| *it = normalized(it.take())),
        _ => (),
    }
    value
}

/// A request to both servers.
struct Step {
    /// Empty means the administrator.
    user: &'static str,
    method: &'static str,
    path: String,
    body: Value,
    /// The request is repeated until the response has this status, and no response is compared.
    until: Option<u16>,
}

fn step(method: &'static str, path: impl Into<String>, body: Value) -> Step {
    Step { user: "", method, path: path.into(), body, until: None }
}

fn post(path: impl Into<String>, body: Value) -> Step {
    step("POST", path, body)
}

fn patch(path: impl Into<String>, body: Value) -> Step {
    step("PATCH", path, body)
}

impl Step {
    fn by(self, user: &'static str) -> Step {
        Step { user, ..self }
    }

    /// Waits until the servers know of something that changes this response. The request must change nothing.
    fn until(self, status: u16) -> Step {
        Step { until: Some(status), ..self }
    }
}

fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// A pod of one container, with more in its spec.
fn pod(name: &str, more: &Value) -> Value {
    let mut spec =
        json!({"containers": [{"name": "c", "image": "good"}], "terminationGracePeriodSeconds": 0});
    for (key, value) in more.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

fn namespace(name: &str, annotations: &Value) -> Step {
    post("/api/v1/namespaces", json!({"metadata": {"name": name, "annotations": annotations}}))
}

/// The namespaces, and the other objects that must exist before.
fn ground() -> Vec<Step> {
    let selector = |text: &str| json!({"scheduler.alpha.kubernetes.io/node-selector": text});
    let tolerations = |default: &str, allowed: &str| {
        json!({
            "scheduler.alpha.kubernetes.io/defaultTolerations": default,
            "scheduler.alpha.kubernetes.io/tolerationsWhitelist": allowed,
        })
    };
    let one = r#"[{"key":"one","operator":"Exists","effect":"NoSchedule"}]"#;
    let role = json!({"metadata": {"name": "mapper"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "update", "patch", "get"]},
    ]});
    let binding = json!({
        "metadata": {"name": "mapper"}, "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mapper"},
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    vec![
        namespace("plain", &json!({})),
        namespace("listed", &json!({})),
        namespace("selected", &selector("zone=b")),
        namespace("unselected", &selector("")),
        namespace("odd-1", &selector("a b")),
        namespace("odd-2", &selector("a b=c")),
        namespace("odd-3", &selector("a=b c")),
        namespace("odd-4", &selector("a=b=c,d")),
        namespace("tolerant", &tolerations(one, "")),
        namespace("strict", &tolerations("", one)),
        namespace("odd-5", &tolerations("[", "")),
        namespace("odd-6", &tolerations("{}", "")),
        namespace("odd-7", &tolerations(r#"[{"key":3}]"#, "")),
        post(format!("{rbac}/clusterroles"), role),
        post(format!("{rbac}/clusterrolebindings"), binding),
        post("/api/v1/namespaces/plain/configmaps?dryRun=All", json!({"metadata": {"name": "dry"}}))
            .by("jane")
            .until(201),
    ]
}

fn selectors() -> Vec<Step> {
    let select = |name: &str, labels: Value| pod(name, &json!({"nodeSelector": labels}));
    let mut steps = vec![
        post(pods("plain"), pod("default", &json!({}))),
        post(pods("plain"), select("same", json!({"kind": "any", "more": "x"}))),
        post(pods("plain"), select("conflict", json!({"kind": "other"}))),
        post(pods("selected"), select("more", json!({"kind": "other"}))),
        post(pods("selected"), select("conflict", json!({"zone": "a"}))),
        post(pods("unselected"), pod("free", &json!({}))),
        post(pods("listed"), select("allowed", json!({"zone": "a"}))),
        post(pods("listed"), select("other-value", json!({"zone": "b"}))),
        post(pods("listed"), select("other-key", json!({"disk": "ssd"}))),
        post(pods("missing-by-itself"), pod("made", &json!({}))),
    ];
    let odd = ["odd-1", "odd-2", "odd-3", "odd-4"];
    steps.extend(odd.map(|it| post(pods(it), pod("odd", &json!({})))));
    steps.extend([
        post(format!("{}?dryRun=All", pods("plain")), select("conflict", json!({"kind": "other"}))),
        step("GET", "/api/v1/namespaces/missing-by-itself", Value::Null),
        patch(format!("{}/default", pods("plain")), json!({"metadata": {"labels": {"a": "b"}}})),
    ]);
    steps
}

fn tolerations() -> Vec<Step> {
    let tolerate = |name: &str, list: Value| pod(name, &json!({"tolerations": list}));
    let asking =
        json!({"containers": [{"name": "c", "image": "good", "resources": {"requests": {"cpu": "1"}}}]});
    let whole = json!({"resources": {"requests": {"memory": "1Mi"}}});
    vec![
        post(pods("plain"), pod("burstable", &asking)),
        post(pods("plain"), pod("whole", &whole)),
        post(pods("plain"), tolerate("beyond", json!([{"key": "x", "operator": "Exists"}]))),
        post(
            pods("plain"),
            tolerate("within", json!([{"key": "x", "operator": "Exists", "effect": "NoSchedule"}])),
        ),
        post(pods("plain"), tolerate("everything", json!([{"operator": "Exists"}]))),
        post(pods("tolerant"), pod("added", &json!({}))),
        post(
            pods("tolerant"),
            tolerate(
                "merged",
                json!([{"key": "one", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]),
            ),
        ),
        post(pods("tolerant"), tolerate("anything", json!([{"key": "x", "operator": "Exists"}]))),
        post(pods("strict"), pod("seconds", &json!({}))),
        post(
            pods("strict"),
            tolerate("one", json!([{"key": "one", "operator": "Exists", "effect": "NoSchedule"}])),
        ),
        post(pods("odd-5"), pod("odd", &json!({}))),
        post(pods("odd-6"), pod("odd", &json!({}))),
        post(pods("odd-7"), pod("odd", &json!({}))),
        step(
            "STRATEGIC",
            format!("{}/default", pods("plain")),
            json!({"spec": {"tolerations": [{"key": "late", "operator": "Exists"}]}}),
        ),
        step(
            "STRATEGIC",
            format!("{}/default", pods("plain")),
            json!({"spec": {"tolerations": [{"key": "late", "operator": "Exists", "effect": "NoSchedule"}]}}),
        ),
    ]
}

fn policies_of_images() -> Vec<Step> {
    let image = |name: &str, image: &str| {
        let mut pod = pod(name, &json!({"containers": [{"name": "c", "image": image}]}));
        pod["metadata"]["annotations"] = json!({"my.image-policy.k8s.io/ticket": "1", "other": "2"});
        pod
    };
    let two = json!({
        "initContainers": [{"name": "i", "image": "first", "imagePullPolicy": "Never"}],
        "volumes": [{"name": "v", "image": {"reference": "r", "pullPolicy": "IfNotPresent"}}],
    });
    let debug = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "bad"}]}});
    let well = json!({"spec": {"ephemeralContainers": [{"name": "e", "image": "debugger", "imagePullPolicy": "Never"}]}});
    let all = ["bad", "silent", "error", "gone", "garbage", "other", "status"];
    let mut steps: Vec<Step> = all.iter().map(|it| post(pods("plain"), image(it, it))).collect();
    steps.extend([
        post(pods("plain"), image("bad-again", "bad")),
        post(format!("{}?dryRun=All", pods("plain")), image("dry", "dry")),
        post(pods("plain"), pod("pulled", &two)),
        patch(format!("{}/pulled", pods("plain")), json!({"metadata": {"labels": {"a": "b"}}})),
        step(
            "STRATEGIC",
            format!("{}/pulled", pods("plain")),
            json!({"spec": {"containers": [{"name": "c", "image": "newer"}]}}),
        ),
        step(
            "STRATEGIC",
            format!("{}/pulled", pods("plain")),
            json!({"spec": {"containers": [{"name": "c", "image": "bad"}]}}),
        ),
        step("STRATEGIC", format!("{}/pulled/ephemeralcontainers", pods("plain")), debug),
        step("STRATEGIC", format!("{}/pulled/ephemeralcontainers", pods("plain")), well),
    ]);
    steps
}

fn placement() -> Vec<Step> {
    let apart = |name: &str, keys: &[&str]| {
        let term = |key: &&str| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"a": "b"}}});
        let terms: Vec<Value> = keys.iter().map(term).collect();
        pod(
            name,
            &json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}),
        )
    };
    let devices = json!({"limits": {"example.com/gpu": "1", "example.com/fpga": "2", "cpu": "1"}});
    let containers = json!([{"name": "c", "image": "good", "resources": devices}]);
    let service = |name: &str, addresses: Value| json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "externalIPs": addresses}});
    let services = "/api/v1/namespaces/plain/services";
    vec![
        post(pods("plain"), apart("host", &["kubernetes.io/hostname"])),
        post(pods("plain"), apart("zone", &["topology.kubernetes.io/zone"])),
        post(pods("plain"), apart("both", &["kubernetes.io/hostname", "topology.kubernetes.io/zone"])),
        post(pods("plain"), pod("devices", &json!({"containers": containers}))),
        post(services, service("without", json!([]))),
        post(services, service("with", json!(["192.0.2.1"]))),
        patch(format!("{services}/without"), json!({"spec": {"externalIPs": ["192.0.2.1"]}})),
        patch(format!("{services}/without"), json!({"metadata": {"labels": {"a": "b"}}})),
    ]
}

fn provision() -> Vec<Step> {
    let map = |name: &str| json!({"metadata": {"name": name}});
    let maps = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
    vec![
        post(maps("fresh"), map("a")),
        step("GET", "/api/v1/namespaces/fresh", Value::Null),
        post(format!("{}?dryRun=All", maps("dry")), map("a")),
        step("GET", "/api/v1/namespaces/dry", Value::Null),
        post(maps("Not_A_Name"), map("a")),
        step("PUT", format!("{}/a", maps("nowhere")), map("a")),
        patch(format!("{}/a", maps("nowhere")), map("a")),
        step("DELETE", format!("{}/a", maps("nowhere")), Value::Null),
        post(
            "/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews",
            json!({
                "metadata": {"namespace": "nowhere"},
                "spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "nowhere"}},
            }),
        ),
        step("DELETE", "/api/v1/namespaces/default", Value::Null),
    ]
}

fn owners() -> Vec<Step> {
    let owned = |name: &str, kind: &str, blocks: Value| {
        let owner =
            json!({"apiVersion": "v1", "kind": kind, "name": "o", "uid": "u", "blockOwnerDeletion": blocks});
        json!({"metadata": {"name": name, "ownerReferences": [owner]}})
    };
    let maps = "/api/v1/namespaces/plain/configmaps";
    vec![
        post(maps, owned("plain", "Pod", json!(false))).by("jane"),
        post(maps, owned("unset", "Pod", Value::Null)).by("jane"),
        post(maps, owned("blocking", "Pod", json!(true))).by("jane"),
        post(maps, owned("unknown", "Nothing", json!(true))).by("jane"),
        post(maps, owned("blocking", "Node", json!(true))),
        patch(format!("{maps}/blocking"), json!({"data": {"a": "b"}})).by("jane"),
        patch(format!("{maps}/blocking"), json!({"metadata": {"ownerReferences": null}})).by("jane"),
        patch(format!("{maps}/plain"), owned("plain", "Pod", json!(true))).by("jane"),
    ]
}

fn events() -> Vec<Step> {
    let event = |name: &str, about: &str| {
        json!({
            "metadata": {"name": name, "namespace": "listed"}, "source": {"component": "c", "host": "h"}, "type": "Normal",
            "involvedObject": {"kind": "Pod", "namespace": "listed", "name": about, "uid": "1", "apiVersion": "v1"},
        })
    };
    let newer = |name: &str| {
        json!({
            "metadata": {"name": name, "namespace": "listed"}, "eventTime": "2024-01-01T00:00:00.000000Z", "type": "Normal",
            "reportingController": "example.com/c", "reportingInstance": "i", "action": "a", "reason": "r",
            "regarding": {"kind": "Pod", "namespace": "listed", "name": "x"},
        })
    };
    let old = "/api/v1/namespaces/listed/events";
    let new = "/apis/events.k8s.io/v1/namespaces/listed/events";
    vec![
        post(format!("{old}?dryRun=All"), event("dry", "a")),
        post(old, event("one", "a")),
        post(old, event("two", "a")),
        post(old, event("three", "a")),
        post(old, event("four", "a")),
        post(new, newer("five")),
        post(new, newer("six")),
    ]
}

fn nodes() -> Vec<Step> {
    let node = |name: &str, labels: Value| json!({"metadata": {"name": name, "labels": labels}});
    let mut mirror = pod("mirror-n1", &json!({"nodeName": "n1"}));
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let mut elsewhere = mirror.clone();
    elsewhere["metadata"]["name"] = json!("mirror-n2");
    elsewhere["spec"]["nodeName"] = json!("n2");
    let by = "system:node:n1";
    vec![
        post("/api/v1/nodes", node("n2", json!({}))).by(by),
        post("/api/v1/nodes", node("n1", json!({"node-restriction.kubernetes.io/x": "y"}))).by(by),
        post("/api/v1/nodes", node("n1", json!({"kubernetes.io/os": "linux"}))).by(by),
        post("/api/v1/nodes", node("n2", json!({"kubernetes.io/os": "windows"}))),
        patch("/api/v1/nodes/n1", json!({"metadata": {"labels": {"foo.kubernetes.io/bar": "x"}}})).by(by),
        patch("/api/v1/nodes/n1", json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})).by(by),
        patch("/api/v1/nodes/n2", json!({"metadata": {"labels": {"a": "b"}}})).by(by),
        post(pods("plain"), pod("normal", &json!({"nodeName": "n1"}))).by(by),
        post(pods("plain"), mirror).by(by),
        post(pods("plain"), elsewhere).by(by),
        patch(
            "/api/v1/nodes/n1/status",
            json!({"status": {"allocatable": {"cpu": "2", "memory": "1Gi"}, "capacity": {"cpu": "2", "memory": "1Gi"}}}),
        ),
    ]
}

fn resizes() -> Vec<Step> {
    let on = |name: &str, node: &str| {
        let resources = json!({"requests": {"cpu": "1", "memory": "1Mi"}});
        let one = json!({"name": "c", "image": "good", "resources": resources});
        let init = json!({"name": "i", "image": "good", "resources": resources});
        pod(name, &json!({"nodeName": node, "containers": [one], "initContainers": [init]}))
    };
    let whole = json!({"nodeName": "n1", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}});
    let resize_at = |query: &str, name: &str, list: &str, container: &str, amounts: Value| {
        let body = json!({"spec": {list: [{"name": container, "resources": {"requests": amounts}}]}});
        step("STRATEGIC", format!("{}/{name}/resize{query}", pods("plain")), body)
    };
    let resize = |name: &str, list: &str, container: &str, amounts: Value| {
        resize_at("", name, list, container, amounts)
    };
    vec![
        post(pods("plain"), on("fits", "n1")),
        post(pods("plain"), on("windows", "n2")),
        post(pods("plain"), on("lost", "n3")),
        post(pods("plain"), pod("whole-on-node", &whole)),
        // Waits until the capacity of the node is known.
        resize_at("?dryRun=All", "fits", "containers", "c", json!({"cpu": "1500m"})).until(200),
        resize("fits", "containers", "c", json!({"cpu": "1500m"})),
        resize("fits", "containers", "c", json!({"cpu": "3", "memory": "2Gi"})),
        resize("fits", "containers", "c", json!({"memory": "2Gi"})),
        resize("fits", "initContainers", "i", json!({"cpu": "1500m"})),
        resize("windows", "containers", "c", json!({"cpu": "1500m"})),
        resize("lost", "containers", "c", json!({"cpu": "1500m"})),
        step(
            "STRATEGIC",
            format!("{}/whole-on-node/resize", pods("plain")),
            json!({"spec": {"resources": {"requests": {"cpu": "1500m"}}}}),
        ),
    ]
}

fn gangs() -> Vec<Step> {
    let root = "/apis/scheduling.k8s.io/v1alpha2/namespaces/plain";
    let policy = json!({"gang": {"minCount": 2}});
    let workload = json!({
        "metadata": {"name": "w"}, "spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": policy}]},
    });
    let group = |name: &str, template: Value| json!({"metadata": {"name": name}, "spec": {"podGroupTemplateRef": template, "schedulingPolicy": policy}});
    let reference = |workload: &str, template: &str| json!({"workload": {"workloadName": workload, "podGroupTemplateName": template}});
    let job = |name: &str, group: Value| {
        let spec = json!({
            "containers": [{"name": "c", "image": "good"}], "restartPolicy": "Never", "schedulingGroup": group,
        });
        json!({"metadata": {"name": name}, "spec": {"parallelism": 2, "completions": 4, "template": {"spec": spec}}})
    };
    let jobs = "/apis/batch/v1/namespaces/plain/jobs";
    vec![
        post(format!("{root}/workloads"), workload),
        post(format!("{root}/podgroups"), group("g", reference("w", "t"))),
        post(format!("{root}/podgroups"), group("h", reference("w", "other"))),
        post(format!("{root}/podgroups"), group("h", reference("other", "t"))),
        post(format!("{root}/podgroups"), group("free", Value::Null)),
        post(jobs, job("together", json!({"podGroupName": "g"}))),
        post(jobs, job("alone", Value::Null)),
        patch(format!("{jobs}/together?dryRun=All"), json!({"spec": {"parallelism": 3}})).until(403),
        patch(format!("{jobs}/together"), json!({"spec": {"parallelism": 3}})),
        patch(format!("{jobs}/together"), json!({"metadata": {"labels": {"a": "b"}}})),
        patch(format!("{jobs}/alone"), json!({"spec": {"parallelism": 3}})),
    ]
}

fn steps() -> Vec<Step> {
    let parts = [
        ground(),
        selectors(),
        tolerations(),
        policies_of_images(),
        placement(),
        provision(),
        owners(),
        events(),
        nodes(),
        resizes(),
        gangs(),
    ];
    parts.into_iter().flatten().collect()
}

/// Requests while no other plugin checks namespaces, and the image policy webhook does not answer.
fn lonely() -> Vec<Step> {
    let map = json!({"metadata": {"name": "a"}});
    let maps = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
    vec![
        post(maps("absent"), map.clone()),
        post(maps("default"), map.clone()),
        step("PUT", format!("{}/a", maps("absent")), map.clone()),
        step("DELETE", format!("{}/a", maps("absent")), Value::Null),
        step("DELETE", maps("absent"), Value::Null),
        post("/api/v1/namespaces", json!({"metadata": {"name": "leaving", "finalizers": ["a.b/c"]}})),
        step("DELETE", "/api/v1/namespaces/leaving", Value::Null),
        post(maps("leaving"), map),
        post(pods("default"), pod("unasked", &json!({}))),
    ]
}

/// Requests to a server that denies everything.
fn denied() -> Vec<Step> {
    let map = json!({"metadata": {"name": "d"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    let review = json!({"spec": {"resourceAttributes": {"verb": "get"}}});
    vec![
        post(maps, map.clone()),
        post(maps, json!({"metadata": {"generateName": "d-"}})),
        post("/api/v1/namespaces/absent/configmaps", map.clone()),
        post("/api/v1/namespaces", map.clone()),
        post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review),
        step("PUT", format!("{maps}/absent"), json!({"metadata": {"name": "absent"}})),
        patch("/api/v1/namespaces/default", json!({"metadata": {"labels": {"a": "b"}}})),
        patch("/api/v1/namespaces/default/status", json!({"status": {"phase": "Active"}})),
        step("DELETE", "/api/v1/namespaces/kube-public", Value::Null),
        step("DELETE", format!("{maps}/absent"), Value::Null),
        step("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses", Value::Null),
        step("GET", "/api/v1/namespaces/default", Value::Null),
    ]
}

/// Starts both servers with the same flags and sends the same requests; responses and webhook calls must be
/// the same.
async fn compare(
    etcd: &Etcd,
    test: &str,
    flags: impl Fn(&Callee, &Path) -> Vec<String>,
    steps: &[Step],
) -> Vec<String> {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (theirs, ours) = (Side::callee().await, Side::callee().await);
    let arguments = flags(&theirs, folders[0].path());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(upstream) = Upstream::on(etcd, &arguments, test).await else { return Vec::new() };
    let options = EVERYTHING.into_iter().fold(Options::default(), Options::argument);
    let arguments = flags(&ours, folders[1].path());
    let server = RunningServer::start(arguments.into_iter().fold(options, Options::argument)).await;
    let theirs = Side { client: upstream.client().clone(), callee: theirs };
    let ours = Side { client: server.client(), callee: ours };
    let (expected, found) = tokio::join!(Box::pin(theirs.dialogue(steps)), Box::pin(ours.dialogue(steps)));
    let (asked, ours) = (theirs.questions(), ours.questions());
    let both = expected.iter().zip(&found).chain(asked.iter().zip(&ours));
    let differing = both.filter(|(expected, found)| expected != found);
    let differences: Vec<String> =
        differing.map(|(theirs, ours)| format!("upstream {theirs}\nours     {ours}")).collect();
    println!("{} answers and {} questions compared, {} differ", found.len(), ours.len(), differences.len());
    assert_eq!((found.len(), ours.len()), (expected.len(), asked.len()), "{}", differences.join("\n"));
    differences
}

/// Needs upstream's server; runs in the long tier.
#[tokio::test]
async fn plugins_that_are_off_by_themselves_answer_as_upstreams_do() {
    let test = "plugins_that_are_off_by_themselves_answer_as_upstreams_do";
    let Some(etcd) = Etcd::for_test(test).await else { return };
    let mut differences = Box::pin(compare(&etcd, test, Side::flags, &steps())).await;
    let lone = |_: &Callee, folder: &Path| {
        let kubeconfig = folder.join("kubeconfig");
        let nowhere = "clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1/x'}}]\ncurrent-context: x\n\
                       contexts: [{name: x, context: {cluster: x}}]\n";
        fs::write(&kubeconfig, nowhere).expect("a file");
        let file = folder.join("old.yaml");
        let kubeconfig = kubeconfig.display();
        fs::write(&file, format!("imagePolicy: {{kubeConfigFile: {kubeconfig}, defaultAllow: false}}"))
            .expect("a file");
        vec![
            String::from("--enable-admission-plugins=NamespaceExists,ImagePolicyWebhook"),
            String::from("--disable-admission-plugins=NamespaceLifecycle"),
            format!("--admission-control-config-file={}", file.display()),
        ]
    };
    differences.extend(Box::pin(compare(&etcd, test, lone, &lonely())).await);
    let deny = |_: &Callee, _: &Path| vec![String::from("--enable-admission-plugins=AlwaysDeny")];
    differences.extend(Box::pin(compare(&etcd, test, deny, &denied())).await);
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
