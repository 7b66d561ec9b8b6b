//! `kubectl scale`, `set`, `rollout`, `wait`, `autoscale`, `expose` and `delete`.

use keelson_tests::kubectl::{Kubectl, rows};

const IMAGE: &str = "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}";

async fn with_deployment(test: &str) -> Option<Kubectl> {
    let kubectl = Kubectl::for_test(test).await?;
    kubectl.ok("create deployment web --image=registry.example/web:1 --replicas=3").await;
    Some(kubectl)
}

/// Writes the status that a controller would report.
async fn rolled_out(kubectl: &Kubectl) {
    let generation = kubectl.ok("get deployment web -o jsonpath={.metadata.generation}").await;
    let condition = r#"{"type":"Available","status":"True"}"#;
    let counts = r#""replicas":3,"updatedReplicas":3,"availableReplicas":3,"readyReplicas":3"#;
    let status =
        format!(r#"{{"status":{{"observedGeneration":{generation},{counts},"conditions":[{condition}]}}}}"#);
    kubectl.ok(&format!("patch deployment web --subresource=status --type=merge -p {status}")).await;
}

/// A replica set such as the deployment's controller makes.
async fn revision(kubectl: &Kubectl, uid: &str, number: u32) {
    let text = format!(
        "apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-{number}
  labels: {{app: web, pod-template-hash: h{number}}}
  annotations: {{deployment.kubernetes.io/revision: '{number}', kubernetes.io/change-cause: cause {number}}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {uid}, controller: true}}]
spec:
  replicas: 0
  selector: {{matchLabels: {{app: web, pod-template-hash: h{number}}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: h{number}}}}}
    spec: {{containers: [{{name: web, image: 'registry.example/web:r{number}'}}]}}
"
    );
    let file = kubectl.manifest("revision.yaml", &text);
    kubectl.ok(&format!("create -f {file}")).await;
}

#[tokio::test]
async fn scale_changes_the_replicas() {
    let Some(kubectl) = with_deployment("scale_changes_the_replicas").await else { return };
    assert_eq!(kubectl.ok("scale deployment web --replicas=2").await, "deployment.apps/web scaled\n");
    let said = kubectl.fails("scale deployment web --replicas=4 --current-replicas=9").await;
    assert_eq!(said, "error: Expected replicas to be 9, was 2\n");
    assert_eq!(kubectl.ok("get deployment web --subresource=scale -o jsonpath={.spec.replicas}").await, "2");
}

#[tokio::test]
async fn set_changes_images_environments_and_resources() {
    let Some(kubectl) = with_deployment("set_changes_images_environments_and_resources").await else {
        return;
    };
    let said = kubectl.ok("set image deployment/web web=registry.example/web:2").await;
    assert_eq!(said, "deployment.apps/web image updated\n");
    assert_eq!(kubectl.ok(IMAGE).await, "registry.example/web:2");
    assert_eq!(kubectl.ok("set env deployment/web X=Y").await, "deployment.apps/web env updated\n");
    let said = kubectl.ok("set env deployment/web --list").await;
    assert_eq!(said, "# Deployment web, container web\nX=Y\n");
    let said = kubectl.ok("set resources deployment web --limits=cpu=200m,memory=512Mi").await;
    assert_eq!(said, "deployment.apps/web resource requirements updated\n");
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={..limits.cpu}").await, "200m");
    kubectl.ok("set serviceaccount deployment web robot").await;
    assert_eq!(kubectl.ok("get deployment web -o jsonpath={..serviceAccountName}").await, "robot");
}

#[tokio::test]
async fn rollout_status_follows_the_status() {
    let Some(kubectl) = with_deployment("rollout_status_follows_the_status").await else { return };
    let said = kubectl.ok("rollout status deployment/web --watch=false").await;
    assert_eq!(said, "Waiting for deployment spec update to be observed...\n");
    let mut status = kubectl.start("rollout status deployment/web");
    assert_eq!(status.line().await, "Waiting for deployment spec update to be observed...");
    rolled_out(&kubectl).await;
    assert_eq!(status.line().await, "deployment \"web\" successfully rolled out");
    assert_eq!(rows(&kubectl.ok("get deployment web").await)[0][..4], ["web", "3/3", "3", "3"]);
}

#[tokio::test]
async fn rollouts_have_a_history_that_can_be_undone() {
    let Some(kubectl) = with_deployment("rollouts_have_a_history_that_can_be_undone").await else { return };
    let uid = kubectl.ok("get deployment web -o jsonpath={.metadata.uid}").await;
    for number in 1..=2 {
        revision(&kubectl, &uid, number).await;
    }
    let said = kubectl.ok("rollout history deployment/web").await;
    assert_eq!(rows(&said)[1..3], [["1", "cause", "1"], ["2", "cause", "2"]]);
    let said = kubectl.ok("rollout history deployment/web --revision=1").await;
    assert!(said.contains("registry.example/web:r1"), "{said}");
    let said = kubectl.ok("rollout undo deployment/web --to-revision=1").await;
    assert_eq!(said, "deployment.apps/web rolled back\n");
    assert_eq!(kubectl.ok(IMAGE).await, "registry.example/web:r1");
    let said = kubectl.fails("rollout undo deployment/web --to-revision=9").await;
    assert_eq!(said, "error: unable to find specified revision 9 in history\n");
}

#[tokio::test]
async fn rollouts_are_restarted_paused_and_resumed() {
    let Some(kubectl) = with_deployment("rollouts_are_restarted_paused_and_resumed").await else { return };
    for (command, said) in [("restart", "restarted"), ("pause", "paused"), ("resume", "resumed")] {
        let expected = format!("deployment.apps/web {said}\n");
        assert_eq!(kubectl.ok(&format!("rollout {command} deployment/web")).await, expected);
    }
    let annotations =
        kubectl.ok("get deployment web -o jsonpath={.spec.template.metadata.annotations}").await;
    assert!(annotations.contains("kubectl.kubernetes.io/restartedAt"), "{annotations}");
}

#[tokio::test]
async fn wait_sees_conditions_values_and_deletions() {
    let Some(kubectl) = with_deployment("wait_sees_conditions_values_and_deletions").await else { return };
    let met = "deployment.apps/web condition met";
    let mut waits = kubectl.start("wait deployment/web --for=condition=Available --timeout=30s");
    rolled_out(&kubectl).await;
    assert_eq!(waits.line().await, met);
    let said = kubectl.ok("wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=9s").await;
    assert_eq!(said.trim_end(), met);
    assert_eq!(kubectl.ok("wait deployment/web --for=create --timeout=9s").await.trim_end(), met);
    let said = kubectl.fails("wait deployment/web --for=condition=Nope --timeout=1s").await;
    assert_eq!(said, "error: timed out waiting for the condition on deployments/web\n");
    let said = kubectl.fails("wait deployment/web --for=delete --timeout=1s").await;
    assert_eq!(said, "error: timed out waiting for the condition on deployments/web\n");
    assert_eq!(kubectl.ok("wait deployment/none --for=delete --timeout=9s").await, "");
}

#[tokio::test]
async fn autoscale_and_expose_make_their_objects() {
    let Some(kubectl) = with_deployment("autoscale_and_expose_make_their_objects").await else { return };
    let said = kubectl.ok("autoscale deployment web --min=1 --max=5 --cpu=80%").await;
    assert_eq!(said, "horizontalpodautoscaler.autoscaling/web autoscaled\n");
    let table = kubectl.ok("get hpa").await;
    assert_eq!(rows(&table)[0][..4], ["web", "Deployment/web", "cpu:", "<unknown>/80%"], "{table}");
    let said = kubectl.ok("expose deployment web --port=80 --target-port=8080").await;
    assert_eq!(said, "service/web exposed\n");
    let read = "get service web -o jsonpath={.spec.selector.app}:{.spec.ports[0].targetPort}";
    assert_eq!(kubectl.ok(read).await, "web:8080");
    assert!(kubectl.ok("describe service web").await.contains("TargetPort:               8080/TCP"));
    assert!(kubectl.ok("describe hpa web").await.contains("Deployment/web"));
}

#[tokio::test]
async fn deletions_leave_a_finalizer_for_their_cascade() {
    let Some(kubectl) = Kubectl::for_test("deletions_leave_a_finalizer_for_their_cascade").await else {
        return;
    };
    let check = async |cascade: &str, expected: &str| {
        kubectl.ok(&format!("create configmap {cascade}")).await;
        // A finalizer of ours keeps the object to be looked at.
        let keep = r#"{"metadata":{"finalizers":["example.com/keep"]}}"#;
        kubectl.ok(&format!("patch configmap {cascade} --type=merge -p {keep}")).await;
        let said = kubectl.ok(&format!("delete configmap {cascade} --cascade={cascade} --wait=false")).await;
        assert!(said.starts_with(&format!("configmap \"{cascade}\" deleted")), "{said}");
        let read = format!("get configmap {cascade} -o jsonpath={{.metadata.finalizers}}");
        assert_eq!(kubectl.ok(&read).await, expected, "{cascade}");
        let done = r#"{"metadata":{"finalizers":null}}"#;
        kubectl.ok(&format!("patch configmap {cascade} --type=merge -p {done}")).await;
        kubectl.ok(&format!("wait configmap/{cascade} --for=delete --timeout=9s")).await;
    };
    check("background", r#"["example.com/keep"]"#).await;
    check("foreground", r#"["example.com/keep","foregroundDeletion"]"#).await;
    check("orphan", r#"["example.com/keep","orphan"]"#).await;
}

#[tokio::test]
async fn delete_takes_selectors_and_missing_objects() {
    let Some(kubectl) = Kubectl::for_test("delete_takes_selectors_and_missing_objects").await else { return };
    for name in ["a", "b", "c"] {
        kubectl.ok(&format!("create secret generic {name}")).await;
    }
    kubectl.ok("label secret a b team=blue").await;
    let said = kubectl.ok("delete secrets -l team=blue").await;
    assert_eq!(said.lines().count(), 2, "{said}");
    assert_eq!(kubectl.ok("get secrets -o name").await, "secret/c\n");
    kubectl.ok("delete secrets --all").await;
    assert_eq!(kubectl.ok("get secrets -o name").await, "");
    let said = kubectl.fails("delete secret a").await;
    assert_eq!(said, "Error from server (NotFound): secrets \"a\" not found\n");
    assert_eq!(kubectl.ok("delete secret a --ignore-not-found").await, "");
}
