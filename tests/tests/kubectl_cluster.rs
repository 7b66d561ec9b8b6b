//! Nodes, certificates, events, access and discovery, as kubectl shows them.

use keelson_tests::kubectl::{Kubectl, rows};

/// A request for `CN=u, O=g`.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIUk1Ib0NBUUF3R0RFS01BZ0dBMVVFQ2d3Qlp6\
    RUtNQWdHQTFVRUF3d0JkVEJaTUJNR0J5cUdTTTQ5QWdFRwpDQ3FHU000OUF3RUhBMElBQkJsY3p3ZUYyc2E0bHFs\
    c1p6SHdEWHZ6aTBJNlFxcGs0NWRSbjdId1JYRWtyV0lFCjRRTm9wTmpjRzF5YkY0bXh0YWh4OVFQM2F3bUw2Q3dw\
    Nm9idThET2dBREFLQmdncWhrak9QUVFEQWdOSEFEQkUKQWlBV0dxdGZaNDNCcUF0RG9kcXNYdVRCdW5NVG5mQ3B6\
    Zm5UaS9xZVp6RlR6d0lnRVJIY0pnRVVJWndvMlpxRApTSXdRYzdkRHNtRHliUlloaTBLSUx5UG15eVk9Ci0tLS0t\
    RU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

#[tokio::test]
async fn nodes_are_tainted_cordoned_and_drained() {
    let Some(kubectl) = Kubectl::for_test("nodes_are_tainted_cordoned_and_drained").await else { return };
    let node = kubectl.manifest("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: drained}\n");
    kubectl.ok(&format!("create -f {node}")).await;
    assert_eq!(kubectl.ok("taint node drained k=v:NoSchedule").await, "node/drained tainted\n");
    let said = kubectl.fails("taint node drained k=w:NoSchedule").await;
    assert!(said.contains("already has k taint(s) with same effect(s) and --overwrite is false"), "{said}");
    assert!(kubectl.ok("describe node drained").await.contains("k=v:NoSchedule"));
    assert_eq!(kubectl.ok("taint node drained k-").await, "node/drained untainted\n");
    assert_eq!(kubectl.ok("cordon drained").await, "node/drained cordoned\n");
    assert_eq!(kubectl.ok("cordon drained").await, "node/drained already cordoned\n");
    let table = kubectl.ok("get node drained").await;
    assert_eq!(rows(&table)[0][..2], ["drained", "Unknown,SchedulingDisabled"], "{table}");
    assert_eq!(kubectl.ok("uncordon drained").await, "node/drained uncordoned\n");
    assert_eq!(kubectl.ok("drain drained").await, "node/drained cordoned\nnode/drained drained\n");
}

#[tokio::test]
async fn certificates_are_approved_and_denied() {
    let Some(kubectl) = Kubectl::for_test("certificates_are_approved_and_denied").await else { return };
    for name in ["good", "bad"] {
        let text = format!(
            "apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: {name}}}
spec: {{request: {REQUEST}, signerName: example.com/nobody, usages: [client auth]}}
"
        );
        let file = kubectl.manifest("request.yaml", &text);
        kubectl.ok(&format!("create -f {file}")).await;
        assert_eq!(rows(&kubectl.ok(&format!("get csr {name}")).await)[0].last(), Some(&"Pending"));
    }
    let kind = "certificatesigningrequest.certificates.k8s.io";
    assert_eq!(kubectl.ok("certificate approve good").await, format!("{kind}/good approved\n"));
    assert_eq!(kubectl.ok("certificate deny bad").await, format!("{kind}/bad denied\n"));
    assert_eq!(rows(&kubectl.ok("get csr good").await)[0].last(), Some(&"Approved"));
    assert_eq!(rows(&kubectl.ok("get csr bad").await)[0].last(), Some(&"Denied"));
    let said = kubectl.fails("certificate deny good").await;
    assert_eq!(said, "error: certificate signing request \"good\" is already Approved\n");
    let text = kubectl.ok("describe csr good").await;
    assert!(text.contains("Common Name:    u") && text.contains("Organization:   g"), "{text}");
}

#[tokio::test]
async fn events_are_shown_beside_their_objects() {
    let Some(kubectl) = Kubectl::for_test("events_are_shown_beside_their_objects").await else { return };
    kubectl.ok("run p --image=registry.example/p:1").await;
    let namespace = &kubectl.place().namespace;
    // `describe` asks for the events of this very pod.
    let uid = kubectl.ok("get pod p -o jsonpath={.metadata.uid}").await;
    let event = format!(
        "apiVersion: v1
kind: Event
metadata: {{name: e}}
involvedObject: {{kind: Pod, name: p, namespace: {namespace}, uid: {uid}, apiVersion: v1}}
reason: Pulled
message: image pulled
type: Normal
count: 3
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
source: {{component: kubelet, host: node}}
"
    );
    let file = kubectl.manifest("event.yaml", &event);
    kubectl.ok(&format!("create -f {file}")).await;
    for command in ["events", "events --for pod/p", "get events", "get events -o wide", "describe pod p"] {
        let text = kubectl.ok(command).await;
        assert!(text.contains("Pulled") && text.contains("image pulled"), "{command}: {text}");
    }
    let of = "get events -o name --field-selector=involvedObject.name=";
    assert_eq!(kubectl.ok(&format!("{of}p")).await, "event/e\n");
    assert_eq!(kubectl.ok(&format!("{of}q")).await, "");
    let said = kubectl.run("events --types=Warning").await;
    assert!(format!("{}{}", said.stdout, said.stderr).contains("No events found in"), "{said:?}");
}

#[tokio::test]
async fn auth_tells_who_one_is_and_what_one_may() {
    let Some(kubectl) = Kubectl::for_test("auth_tells_who_one_is_and_what_one_may").await else { return };
    for question in
        ["get pods", "delete nodes -A", "get /metrics", "list deployments.apps --subresource=scale"]
    {
        assert_eq!(kubectl.ok(&format!("auth can-i {question}")).await, "yes\n", "{question}");
    }
    let table = kubectl.ok("auth whoami").await;
    let words = rows(&table);
    assert_eq!(words[0], ["Username", "kubernetes-admin"]);
    assert_eq!(words[1], ["Groups", "[system:masters", "system:authenticated]"]);
    let table = kubectl.ok("auth can-i --list").await;
    assert!(rows(&table).iter().any(|row| row[..] == ["*.*", "[]", "[]", "[*]"]), "{table}");
}

#[tokio::test]
async fn what_needs_a_node_fails_clearly() {
    let Some(kubectl) = Kubectl::for_test("what_needs_a_node_fails_clearly").await else { return };
    kubectl.ok("run p --image=registry.example/p:1").await;
    let file = kubectl.manifest("copied", "text");
    let copy = format!("cp {file} p:/tmp/copied");
    for command in ["exec p -- date", "attach p", copy.as_str()] {
        let said = kubectl.fails(command).await;
        assert!(said.contains("error: unable to upgrade connection: "), "{command}: {said}");
    }
    let said = kubectl.fails("exec none -- date").await;
    assert_eq!(said, "Error from server (NotFound): pods \"none\" not found\n");
    let said = kubectl.fails("logs none").await;
    assert!(said.contains("pods \"none\" not found"), "{said}");
    let said = kubectl.fails("top node").await;
    assert_eq!(said, "error: Metrics API not available\n");
}

#[tokio::test]
async fn explain_has_the_descriptions() {
    let Some(kubectl) = Kubectl::for_test("explain_has_the_descriptions").await else { return };
    let check = async |what: &str, expected: &[&str]| {
        let text = kubectl.ok(&format!("explain {what}")).await;
        for part in expected {
            assert!(text.contains(part), "explain {what} lacks {part}: {text}");
        }
    };
    check(
        "pods",
        &["KIND:       Pod\nVERSION:    v1\n", "Pod is a collection of containers that can run on a host."],
    )
    .await;
    check(
        "deployment.spec.strategy",
        &["GROUP:      apps", "FIELD: strategy <DeploymentStrategy>", "\"RollingUpdate\""],
    )
    .await;
    check(
        "pod.spec.containers.resources",
        &["FIELD: resources <ResourceRequirements>", "limits\t<map[string]Quantity>"],
    )
    .await;
    check("hpa --api-version=autoscaling/v2", &["VERSION:    v2", "HorizontalPodAutoscalerSpec"]).await;
    check(
        "cronjob.spec --recursive",
        &["jobTemplate\t<JobTemplateSpec> -required-", "backoffLimit\t<integer>"],
    )
    .await;
    check("crd.spec.names", &["FIELD: names <CustomResourceDefinitionNames>"]).await;
    let said = kubectl.fails("explain pod.nope").await;
    assert_eq!(said, "error: field \"nope\" does not exist\n");
    let said = kubectl.fails("explain nopes").await;
    assert!(said.contains("the server doesn't have a resource type \"nopes\""), "{said}");
}

#[tokio::test]
async fn api_resources_are_filtered_and_widened() {
    let Some(kubectl) = Kubectl::for_test("api_resources_are_filtered_and_widened").await else { return };
    let text = kubectl.ok("api-resources --api-group=apps -o name").await;
    let expected = ["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected.map(|name| format!("{name}.apps")));
    let table = kubectl.ok("api-resources --api-group=apps -o wide").await;
    let verbs = "create,delete,deletecollection,get,list,patch,update,watch";
    assert_eq!(rows(&table)[2], ["deployments", "deploy", "apps/v1", "true", "Deployment", verbs, "all"]);
    let text = kubectl.ok("api-resources --namespaced=false -o name").await;
    assert!(text.lines().any(|line| line == "nodes") && !text.lines().any(|line| line == "pods"), "{text}");
}

#[tokio::test]
async fn users_of_deprecated_kinds_are_warned() {
    let Some(kubectl) = Kubectl::for_test("users_of_deprecated_kinds_are_warned").await else { return };
    let check = async |kind: &str, expected: &str| {
        let said = kubectl.run(&format!("get {kind}")).await;
        assert_eq!(
            said.stderr.lines().find(|line| line.starts_with("Warning")).unwrap_or_default(),
            expected
        );
    };
    let endpoints = "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    check("endpoints", endpoints).await;
    check("componentstatuses", "Warning: v1 ComponentStatus is deprecated in v1.19+").await;
    check("endpointslices", "").await;
}
