//! The output of the real kubectl.

use keelson_tests::kubectl::{Kubectl, rows};
use serde_json::Value;

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
";

#[tokio::test]
async fn config_maps_are_created_read_and_deleted() {
    let Some(kubectl) = Kubectl::for_test("config_maps_are_created_read_and_deleted").await else { return };
    assert_eq!(kubectl.ok("create configmap a --from-literal=key=value").await, "configmap/a created\n");
    let table = kubectl.ok("get configmap a").await;
    assert!(table.starts_with("NAME   DATA   AGE\n"), "{table}");
    assert_eq!(rows(&table)[0][..2], ["a", "1"]);
    assert_eq!(kubectl.ok("get configmap a -o name").await, "configmap/a\n");
    assert_eq!(kubectl.ok("get cm a -o jsonpath={.data.key}").await, "value");
    let json: Value = serde_json::from_str(&kubectl.ok("get cm a -o json").await).unwrap();
    assert_eq!((&json["kind"], &json["data"]["key"]), (&"ConfigMap".into(), &"value".into()));
    let yaml = kubectl.ok("get cm a -o yaml").await;
    assert!(yaml.starts_with("apiVersion: v1\ndata:\n  key: value\nkind: ConfigMap\n"), "{yaml}");
    let said = kubectl.ok("delete configmap a").await;
    assert!(said.starts_with("configmap \"a\" deleted"), "{said}");
    let said = kubectl.fails("get configmap a").await;
    assert_eq!(said, "Error from server (NotFound): configmaps \"a\" not found\n");
}

#[tokio::test]
async fn errors_are_those_that_users_know() {
    let Some(kubectl) = Kubectl::for_test("errors_are_those_that_users_know").await else { return };
    kubectl.ok("create configmap a").await;
    let said = kubectl.fails("create configmap a").await;
    assert_eq!(said, "error: failed to create configmap: configmaps \"a\" already exists\n");
    let said = kubectl.fails("create configmap A_B").await;
    assert!(said.contains("ConfigMap \"A_B\" is invalid: metadata.name: Invalid value: \"A_B\""), "{said}");
    let said = kubectl.fails("get nopes").await;
    assert_eq!(said, "error: the server doesn't have a resource type \"nopes\"\n");
    let said = kubectl.run("get secrets").await;
    assert!(said.stderr.starts_with("No resources found in "), "{said:?}");
}

#[tokio::test]
async fn describe_tells_about_objects() {
    let Some(kubectl) = Kubectl::for_test("describe_tells_about_objects").await else { return };
    kubectl.ok("create configmap a --from-literal=key=value").await;
    let text = kubectl.ok("describe configmap a").await;
    assert!(text.contains("Data\n====\nkey:\n----\nvalue\n"), "{text}");
    assert!(text.contains("Events:  <none>"), "{text}");
    kubectl.ok("create secret generic s --from-literal=password=1234567").await;
    let text = kubectl.ok("describe secret s").await;
    assert!(text.contains("Type:  Opaque\n\nData\n====\npassword:  7 bytes\n"), "{text}");
    kubectl.ok("create deployment web --image=registry.example/web:1 --replicas=2").await;
    let text = kubectl.ok("describe deployment web").await;
    assert!(text.contains("2 desired | 0 updated | 0 total | 0 available | 0 unavailable"), "{text}");
    assert!(text.contains("RollingUpdateStrategy:  25% max unavailable, 25% max surge"), "{text}");
    kubectl.ok("run p --image=registry.example/p:1").await;
    let text = kubectl.ok("describe pod p").await;
    assert!(text.contains("QoS Class:        BestEffort") || text.contains("QoS Class:   "), "{text}");
}

#[tokio::test]
async fn tables_have_the_columns_that_users_know() {
    let Some(kubectl) = Kubectl::for_test("tables_have_the_columns_that_users_know").await else { return };
    kubectl.ok("create deployment web --image=registry.example/web:1 --replicas=2").await;
    let table = kubectl.ok("get deployments").await;
    assert_eq!(rows(&format!("\n{table}"))[0], ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert_eq!(rows(&table)[0][..4], ["web", "0/2", "0", "0"]);
    let table = kubectl.ok("get deployments -o wide").await;
    assert_eq!(rows(&table)[0][5..], ["web", "registry.example/web:1", "app=web"]);

    kubectl.ok("run p --image=registry.example/p:1").await;
    let table = kubectl.ok("get pods").await;
    assert_eq!(rows(&format!("\n{table}"))[0], ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]);
    assert_eq!(rows(&table)[0][..4], ["p", "0/1", "Pending", "0"]);
    let table = kubectl.ok("get pods -o wide").await;
    assert_eq!(rows(&table)[0][5..], ["<none>", "<none>", "<none>", "<none>"]);

    kubectl.ok("create secret generic s --from-literal=a=b").await;
    assert_eq!(rows(&kubectl.ok("get secret s").await)[0][..3], ["s", "Opaque", "1"]);
    let table = kubectl.ok("get namespaces").await;
    let names: Vec<&str> = rows(&table).iter().map(|row| row[0]).collect();
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert!(names.contains(&name), "{table}");
    }
    assert!(rows(&table).iter().any(|row| row[..2] == ["default", "Active"]), "{table}");
}

#[tokio::test]
async fn several_kinds_are_shown_together() {
    let Some(kubectl) = Kubectl::for_test("several_kinds_are_shown_together").await else { return };
    kubectl.ok("create configmap a").await;
    kubectl.ok("create secret generic s").await;
    let text = kubectl.ok("get configmap,secret -o name").await;
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("kube-root-ca.crt")).collect();
    assert_eq!(lines, ["configmap/a", "secret/s"]);
    let table = kubectl.ok("get configmap --all-namespaces").await;
    assert!(table.starts_with("NAMESPACE "), "{table}");
}

#[tokio::test]
async fn chunks_sorting_and_selectors_work() {
    let Some(kubectl) = Kubectl::for_test("chunks_sorting_and_selectors_work").await else { return };
    for number in 0..7 {
        kubectl.ok(&format!("create secret generic s{number}")).await;
    }
    let text = kubectl.ok("get secrets --chunk-size=2 -o name").await;
    assert_eq!(text.lines().count(), 7, "{text}");
    let text = kubectl.ok("get secrets --sort-by=.metadata.name -o name").await;
    assert!(text.starts_with("secret/s0\nsecret/s1\n"), "{text}");
    let text = kubectl.ok("get secrets --field-selector=metadata.name=s3 -o name").await;
    assert_eq!(text, "secret/s3\n");
}

#[tokio::test]
async fn get_watch_prints_changes_as_they_come() {
    let Some(kubectl) = Kubectl::for_test("get_watch_prints_changes_as_they_come").await else { return };
    kubectl.ok("create configmap a").await;
    let mut watch = kubectl.start(
        "get configmaps --watch --output-watch-events --field-selector=metadata.name!=kube-root-ca.crt",
    );
    assert!(watch.line().await.starts_with("EVENT "));
    let event = watch.line().await;
    assert_eq!(event.split_whitespace().take(3).collect::<Vec<_>>(), ["ADDED", "a", "0"]);
    kubectl.ok("create configmap b --from-literal=x=y").await;
    let event = watch.line().await;
    assert_eq!(event.split_whitespace().take(3).collect::<Vec<_>>(), ["ADDED", "b", "1"]);
    kubectl.ok("delete configmap a").await;
    let event = watch.line().await;
    assert_eq!(event.split_whitespace().take(2).collect::<Vec<_>>(), ["DELETED", "a"]);
}

#[tokio::test]
async fn wait_waits() {
    let Some(kubectl) = Kubectl::for_test("wait_waits").await else { return };
    kubectl.ok("create configmap a --from-literal=key=value").await;
    let text = kubectl.ok("wait configmap/a --for=jsonpath={.data.key}=value --timeout=20s").await;
    assert_eq!(text, "configmap/a condition met\n");
    let waits = kubectl.ok("wait configmap/a --for=delete --timeout=20s");
    let (waited, deleted) = tokio::join!(waits, kubectl.ok("delete configmap a --wait=false"));
    // Silent if the deletion was quicker.
    assert!(["", "configmap/a condition met\n"].contains(&waited.as_str()), "{waited}");
    assert!(deleted.starts_with("configmap \"a\" deleted"), "{deleted}");
    let said = kubectl.fails("wait configmap/none --for=jsonpath={.data.key}=value --timeout=1s").await;
    assert!(said.contains("configmaps \"none\" not found"), "{said}");
}

#[tokio::test]
async fn discovery_and_version_are_shown() {
    let Some(kubectl) = Kubectl::for_test("discovery_and_version_are_shown").await else { return };
    let table = kubectl.ok("api-resources").await;
    let find = |name: &str| {
        let found = rows(&table).into_iter().find(|row| row[0] == name);
        found.unwrap_or_else(|| panic!("{name} is not in {table}")).join(" ")
    };
    assert_eq!(find("configmaps"), "configmaps cm v1 true ConfigMap");
    assert_eq!(find("namespaces"), "namespaces ns v1 false Namespace");
    assert_eq!(find("deployments"), "deployments deploy apps/v1 true Deployment");
    let text = kubectl.ok("api-versions").await;
    assert!(text.lines().any(|line| line == "v1") && text.lines().any(|line| line == "apps/v1"), "{text}");
    let text = kubectl.ok("version").await;
    assert!(text.contains("Server Version: v1.36.4"), "{text}");
    assert_eq!(kubectl.ok("get --raw /readyz").await, "ok");
}

#[tokio::test]
async fn manifests_are_created_replaced_and_deleted() {
    let Some(kubectl) = Kubectl::for_test("manifests_are_created_replaced_and_deleted").await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    assert_eq!(kubectl.ok(&format!("create -f {file}")).await, "deployment.apps/web created\n");
    let file = kubectl.manifest("web.yaml", &DEPLOYMENT.replace("replicas: 3", "replicas: 4"));
    assert_eq!(kubectl.ok(&format!("replace -f {file}")).await, "deployment.apps/web replaced\n");
    assert_eq!(
        kubectl.ok("get deployment web -o jsonpath={.spec.replicas}/{.metadata.generation}").await,
        "4/2"
    );
    let said = kubectl.ok(&format!("delete -f {file}")).await;
    assert!(said.starts_with("deployment.apps \"web\" deleted"), "{said}");
}

#[tokio::test]
async fn apply_creates_what_is_not_there() {
    let test = "apply_creates_what_is_not_there";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    assert_eq!(kubectl.ok(&format!("apply -f {file}")).await, "deployment.apps/web created\n");
    assert_eq!(kubectl.ok(&format!("apply -f {file}")).await, "deployment.apps/web unchanged\n");
}

#[tokio::test]
async fn apply_changes_what_is_there() {
    let test = "apply_changes_what_is_there";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    kubectl.ok(&format!("apply -f {file}")).await;
    let changed = DEPLOYMENT.replace("replicas: 3", "replicas: 4").replace("web:1", "web:2");
    let file = kubectl.manifest("web.yaml", &changed);
    assert_eq!(kubectl.ok(&format!("apply -f {file}")).await, "deployment.apps/web configured\n");
    let path = "jsonpath={.spec.replicas}/{.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.ok(&format!("get deployment web -o {path}")).await, "4/registry.example/web:2");
}

#[tokio::test]
async fn labels_and_annotations_are_changed() {
    let test = "labels_and_annotations_are_changed";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    kubectl.ok("create configmap a").await;
    assert_eq!(kubectl.ok("label configmap a team=blue").await, "configmap/a labeled\n");
    assert_eq!(kubectl.ok("get configmaps -l team=blue -o name").await, "configmap/a\n");
    assert_eq!(kubectl.ok("annotate configmap a example.com/x=y").await, "configmap/a annotated\n");
    assert_eq!(kubectl.ok("label configmap a team-").await, "configmap/a unlabeled\n");
    assert_eq!(kubectl.ok("get configmaps -l team -o name").await, "");
    let patch = r#"{"data":{"k":"v"}}"#;
    assert_eq!(
        kubectl.ok(&format!("patch configmap a --type=merge -p {patch}")).await,
        "configmap/a patched\n"
    );
    assert_eq!(kubectl.ok("get configmap a -o jsonpath={.data.k}").await, "v");
}

#[tokio::test]
async fn a_manifest_with_unknown_fields_is_refused() {
    let test = "a_manifest_with_unknown_fields_is_refused";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let file = kubectl.manifest("bad.yaml", &DEPLOYMENT.replace("replicas: 3", "replica: 3"));
    let said = kubectl.fails(&format!("create -f {file}")).await;
    assert!(said.contains("strict decoding error: unknown field \"spec.replica\""), "{said}");
}

#[tokio::test]
async fn explain_explains() {
    let test = "explain_explains";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let text = kubectl.ok("explain deployment.spec.replicas").await;
    assert!(text.contains("FIELD: replicas <integer>"), "{text}");
}

#[tokio::test]
async fn dry_runs_show_and_do_nothing() {
    let Some(kubectl) = Kubectl::for_test("dry_runs_show_and_do_nothing").await else { return };
    let said = kubectl.ok("create configmap a --dry-run=server").await;
    assert_eq!(said, "configmap/a created (server dry run)\n");
    kubectl.fails("get configmap a").await;
    kubectl.ok("create configmap a").await;
    let said = kubectl.ok("delete configmap a --dry-run=server").await;
    assert!(said.contains("(server dry run)"), "{said}");
    kubectl.ok("get configmap a").await;
}
