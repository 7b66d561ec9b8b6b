//! `kubectl apply`, `diff`, `edit`, `patch` and `replace`.

use keelson_tests::kubectl::Kubectl;

const PAIR: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {set: pair}}
data: {a: \"1\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, labels: {set: pair}}
data: {a: \"2\"}
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example/web:1}]}
";

#[tokio::test]
async fn apply_prunes_what_left_the_manifest() {
    let Some(kubectl) = Kubectl::for_test("apply_prunes_what_left_the_manifest").await else { return };
    let both = kubectl.manifest("both.yaml", PAIR);
    assert_eq!(
        kubectl.ok(&format!("apply -f {both}")).await,
        "configmap/one created\nconfigmap/two created\n"
    );
    let (first, _) = PAIR.split_once("---").expect("there are two");
    let one = kubectl.manifest("one.yaml", first);
    let prune = "--prune -l set=pair --prune-allowlist=core/v1/ConfigMap";
    assert_eq!(
        kubectl.ok(&format!("apply -f {one} {prune}")).await,
        "configmap/one unchanged\nconfigmap/two pruned\n"
    );
    assert_eq!(kubectl.ok("get configmaps -l set=pair -o name").await, "configmap/one\n");
}

#[tokio::test]
async fn diff_and_a_dry_run_show_the_change_and_do_nothing() {
    let Some(kubectl) = Kubectl::for_test("diff_and_a_dry_run_show_the_change_and_do_nothing").await else {
        return;
    };
    let file = kubectl.manifest("pair.yaml", PAIR);
    kubectl.ok(&format!("apply -f {file}")).await;
    assert_eq!(kubectl.ok(&format!("diff -f {file}")).await, "");
    let file = kubectl.manifest("pair.yaml", &PAIR.replace("\"1\"", "\"9\""));
    for server_side in ["", "--server-side --force-conflicts"] {
        let said = kubectl.run(&format!("diff {server_side} -f {file}")).await;
        assert!(!said.success, "a difference ends with 1: {said:?}");
        assert!(said.stdout.contains("-  a: \"1\"\n+  a: \"9\"\n"), "{said:?}");
    }
    assert_eq!(
        kubectl.ok(&format!("apply --dry-run=server -f {file}")).await,
        "configmap/one configured (server dry run)\nconfigmap/two unchanged (server dry run)\n"
    );
    assert_eq!(kubectl.ok("get configmap one -o jsonpath={.data.a}").await, "1");
}

#[tokio::test]
async fn server_side_apply_tells_of_conflicts_and_takes_over_when_forced() {
    let test = "server_side_apply_tells_of_conflicts_and_takes_over";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    let mine = kubectl.manifest("mine.yaml", PAIR);
    let theirs = kubectl.manifest("theirs.yaml", &PAIR.replace("\"1\"", "\"9\""));
    let applied = "configmap/one serverside-applied\nconfigmap/two serverside-applied\n";
    assert_eq!(kubectl.ok(&format!("apply --server-side -f {mine}")).await, applied);
    let other = format!("apply --server-side --field-manager=other -f {theirs}");
    let said = kubectl.fails(&other).await;
    let conflict = "error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.a\n";
    assert!(said.starts_with(conflict), "{said}");
    assert_eq!(kubectl.ok(&format!("{other} --force-conflicts")).await, applied);
    let managers = "get configmap one --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}";
    assert_eq!(kubectl.ok(managers).await, "kubectl other");
    let said = kubectl.fails(&format!("apply --server-side --dry-run=server -f {mine}")).await;
    assert!(said.contains("conflict with \"other\": .data.a"), "{said}");
    assert_eq!(kubectl.ok("get configmap one -o jsonpath={.data.a}").await, "9");
}

#[tokio::test]
async fn apply_moves_from_the_client_to_the_server() {
    let Some(kubectl) = Kubectl::for_test("apply_moves_from_the_client_to_the_server").await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    kubectl.ok(&format!("apply -f {file}")).await;
    let last = kubectl.ok("apply view-last-applied deployment web").await;
    assert!(last.contains("image: registry.example/web:1"), "{last}");
    let file = kubectl.manifest("web.yaml", &DEPLOYMENT.replace("web:1", "web:2"));
    assert_eq!(
        kubectl.ok(&format!("apply --server-side -f {file}")).await,
        "deployment.apps/web serverside-applied\n"
    );
    let image = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.ok(image).await, "registry.example/web:2");
}

#[tokio::test]
async fn bad_manifests_are_refused_with_the_field() {
    let Some(kubectl) = Kubectl::for_test("bad_manifests_are_refused_with_the_field").await else { return };
    let check = async |change: (&str, &str), expected: &str| {
        let file = kubectl.manifest("bad.yaml", &DEPLOYMENT.replace(change.0, change.1));
        let said = kubectl.fails(&format!("apply -f {file}")).await;
        assert!(said.contains(expected), "{said}");
    };
    check(("replicas: 3", "replica: 3"), "strict decoding error: unknown field \"spec.replica\"").await;
    check(
        ("replicas: 3", "replicas: -3"),
        "spec.replicas: Invalid value: -3: must be greater than or equal to 0",
    )
    .await;
    check(
        ("matchLabels: {app: web}", "matchLabels: {app: x}"),
        "`selector` does not match template `labels`",
    )
    .await;
    check(("apps/v1", "apps/v9"), "no matches for kind \"Deployment\" in version \"apps/v9\"").await;
    let file = kubectl.manifest("bad.yaml", &DEPLOYMENT.replace("replicas: 3", "replica: 3"));
    let said = kubectl.run(&format!("apply --validate=warn -f {file}")).await;
    assert!(said.success && said.stderr.contains("Warning: unknown field \"spec.replica\""), "{said:?}");
}

#[tokio::test]
async fn edit_writes_what_the_editor_left() {
    let Some(kubectl) = Kubectl::for_test("edit_writes_what_the_editor_left").await else { return };
    kubectl.ok("create configmap a --from-literal=key=before").await;
    let said = kubectl.edits("edit configmap a", "sed -i s/before/after/ $1").await;
    assert_eq!((said.success, said.stdout.as_str()), (true, "configmap/a edited\n"), "{said:?}");
    assert_eq!(kubectl.ok("get configmap a -o jsonpath={.data.key}").await, "after");
    let said = kubectl.edits("edit configmap a", "true").await;
    assert!(
        said.stderr.contains("Edit cancelled, no changes made.") || said.stdout.contains("Edit cancelled")
    );
}

#[tokio::test]
async fn every_type_of_patch_is_taken() {
    let Some(kubectl) = Kubectl::for_test("every_type_of_patch_is_taken").await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    kubectl.ok(&format!("create -f {file}")).await;
    let check = async |patch: &str, read: &str, expected: &str| {
        let said = kubectl.ok(&format!("patch deployment web {patch}")).await;
        assert!(said.ends_with("/web patched\n"), "{said}");
        assert_eq!(kubectl.ok(&format!("get deployment web -o jsonpath={read}")).await, expected, "{patch}");
    };
    let container = r#"{"name":"web","env":[{"name":"A","value":"b"}]}"#;
    let strategic = format!(r#"-p {{"spec":{{"template":{{"spec":{{"containers":[{container}]}}}}}}}}"#);
    let read = "{..containers[0].image}={..env[0].value}";
    check(&strategic, read, "registry.example/web:1=b").await;
    check(r#"--type=merge -p {"spec":{"replicas":4}}"#, "{.spec.replicas}", "4").await;
    let json = r#"[{"op":"test","path":"/spec/replicas","value":4},{"op":"replace","path":"/spec/replicas","value":5}]"#;
    check(&format!("--type=json -p {json}"), "{.spec.replicas}", "5").await;
    check(r#"--subresource=scale --type=merge -p {"spec":{"replicas":6}}"#, "{.spec.replicas}", "6").await;
    check(
        r#"--subresource=status --type=merge -p {"status":{"replicas":2}}"#,
        "{.status.replicas}/{.spec.replicas}",
        "2/6",
    )
    .await;
    assert_eq!(
        kubectl.ok(r#"patch deployment web --type=merge -p {"spec":{"replicas":6}}"#).await,
        "deployment.apps/web patched (no change)\n"
    );
    kubectl.fails(&format!("patch deployment web --type=json -p {json}")).await;
}

#[tokio::test]
async fn replace_with_force_makes_a_new_object() {
    let Some(kubectl) = Kubectl::for_test("replace_with_force_makes_a_new_object").await else { return };
    let file = kubectl.manifest("web.yaml", DEPLOYMENT);
    kubectl.ok(&format!("create -f {file}")).await;
    let read = "get deployment web -o jsonpath={.metadata.uid}";
    let first = kubectl.ok(read).await;
    kubectl.ok(&format!("replace -f {file}")).await;
    assert_eq!(kubectl.ok(read).await, first);
    let said = kubectl.ok(&format!("replace --force -f {file}")).await;
    assert!(said.ends_with("deployment.apps/web replaced\n"), "{said}");
    assert_ne!(kubectl.ok(read).await, first);
}
