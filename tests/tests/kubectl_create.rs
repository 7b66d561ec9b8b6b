//! Every generator of `kubectl create`, and the output of `kubectl describe` for the results.

use keelson_tests::kubectl::{Kubectl, rows};

/// Creates an object, and checks the output. Cluster-wide names have the prefix of the test.
async fn check(kubectl: &Kubectl, arguments: &[&str], expected: &str) {
    let mut all = vec!["create"];
    all.extend(arguments);
    assert_eq!(kubectl.ok_args(&all).await, format!("{expected} created\n"), "{arguments:?}");
}

#[tokio::test]
async fn workloads_are_generated() {
    let Some(kubectl) = Kubectl::for_test("workloads_are_generated").await else { return };
    let image = "--image=registry.example/x";
    check(&kubectl, &["deployment", "d", image, "--port=80", "--replicas=2"], "deployment.apps/d").await;
    check(&kubectl, &["job", "j", image, "--", "date"], "job.batch/j").await;
    let schedule = "--schedule=*/1 * * * *";
    check(&kubectl, &["cronjob", "c", image, schedule, "--", "date"], "cronjob.batch/c").await;
    check(&kubectl, &["job", "from", "--from=cronjob/c"], "job.batch/from").await;
    check(
        &kubectl,
        &["pdb", "least", "--selector=a=b", "--min-available=1"],
        "poddisruptionbudget.policy/least",
    )
    .await;
    check(
        &kubectl,
        &["poddisruptionbudget", "most", "--selector=a=b", "--max-unavailable=50%"],
        "poddisruptionbudget.policy/most",
    )
    .await;
    let table = kubectl.ok("get pdb").await;
    let words: Vec<Vec<&str>> = rows(&table);
    assert_eq!(
        (&words[0][..4], &words[1][..4]),
        (&["least", "1", "N/A", "0"][..], &["most", "N/A", "50%", "0"][..])
    );
    let text = kubectl.ok("describe job j").await;
    assert!(text.contains("Pods Statuses:    0 Active / 0 Succeeded / 0 Failed"), "{text}");
    assert!(text.contains("batch.kubernetes.io/job-name=j"), "{text}");
    let text = kubectl.ok("describe cronjob c").await;
    assert!(text.contains("Schedule:                      */1 * * * *\n"), "{text}");
    assert!(text.contains("Successful Job History Limit:  3\n"), "{text}");
}

#[tokio::test]
async fn services_and_ingresses_are_generated() {
    let Some(kubectl) = Kubectl::for_test("services_and_ingresses_are_generated").await else { return };
    check(&kubectl, &["service", "clusterip", "ip", "--tcp=80:8080"], "service/ip").await;
    check(&kubectl, &["service", "clusterip", "headless", "--clusterip=None"], "service/headless").await;
    check(&kubectl, &["service", "nodeport", "port", "--tcp=80:8080", "--node-port=30480"], "service/port")
        .await;
    check(&kubectl, &["service", "loadbalancer", "lb", "--tcp=80:8080"], "service/lb").await;
    let name = "--external-name=example.com";
    check(&kubectl, &["service", "externalname", "name", name], "service/name").await;
    let types = kubectl.ok("get services -o jsonpath={.items[*].spec.type}").await;
    assert_eq!(types, "ClusterIP ClusterIP LoadBalancer ExternalName NodePort");
    let rule = "--rule=foo.example/bar*=svc:8080,tls=cert";
    check(&kubectl, &["ingress", "i", "--class=c", rule], "ingress.networking.k8s.io/i").await;
    let text = kubectl.ok("describe ingress i").await;
    assert!(text.contains("TLS:\n  cert terminates foo.example\n"), "{text}");
    assert!(text.contains("/bar   svc:8080 (<error: services \"svc\" not found>)"), "{text}");
    let table = kubectl.ok("get ingress").await;
    assert_eq!(rows(&table)[0][..5], ["i", "c", "foo.example", "80,", "443"]);
}

#[tokio::test]
async fn config_maps_and_secrets_are_generated() {
    let Some(kubectl) = Kubectl::for_test("config_maps_and_secrets_are_generated").await else { return };
    let file = kubectl.manifest("file.txt", "text");
    let from = format!("--from-file=file={file}");
    check(&kubectl, &["configmap", "c", "--from-literal=a=b c", &from], "configmap/c").await;
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.a}/{.data.file}").await, "b c/text");
    check(&kubectl, &["secret", "generic", "g", "--from-literal=a=b"], "secret/g").await;
    assert_eq!(kubectl.ok("get secret g -o jsonpath={.data.a}").await, "Yg==");
    let user = ["--docker-username=u", "--docker-password=p"];
    check(&kubectl, &["secret", "docker-registry", "d", user[0], user[1]], "secret/d").await;
    let identity = kubectl.place().server.issue("somebody", &[]);
    let certificate = format!("--cert={}", kubectl.manifest("tls.crt", &identity.certificate));
    let key = format!("--key={}", kubectl.manifest("tls.key", &identity.key));
    check(&kubectl, &["secret", "tls", "t", &certificate, &key], "secret/t").await;
    let types = kubectl.ok("get secrets -o jsonpath={.items[*].type}").await;
    assert_eq!(types, "kubernetes.io/dockerconfigjson Opaque kubernetes.io/tls");
}

#[tokio::test]
async fn roles_and_bindings_are_generated() {
    let Some(kubectl) = Kubectl::for_test("roles_and_bindings_are_generated").await else { return };
    let rbac = |kind: &str, name: &str| format!("{kind}.rbac.authorization.k8s.io/{name}");
    let resources = "--resource=pods,deployments.apps";
    check(&kubectl, &["role", "r", "--verb=get,list", resources], &rbac("role", "r")).await;
    let subjects = ["--user=u", "--group=g", "--serviceaccount=ns:robot"];
    check(
        &kubectl,
        &["rolebinding", "b", "--role=r", subjects[0], subjects[1], subjects[2]],
        &rbac("rolebinding", "b"),
    )
    .await;
    let nodes = ["--verb=get", "--resource=nodes"];
    check(&kubectl, &["clusterrole", "gen-r", nodes[0], nodes[1]], &rbac("clusterrole", "gen-r")).await;
    let url = "--non-resource-url=/logs";
    check(&kubectl, &["clusterrole", "gen-u", nodes[0], url], &rbac("clusterrole", "gen-u")).await;
    check(
        &kubectl,
        &["clusterrolebinding", "gen-b", "--clusterrole=gen-r", subjects[0]],
        &rbac("clusterrolebinding", "gen-b"),
    )
    .await;
    let text = kubectl.ok("describe role r").await;
    assert!(text.contains("  deployments.apps  []                 []              [get list]\n"), "{text}");
    let text = kubectl.ok("describe rolebinding b").await;
    assert!(text.contains("  ServiceAccount  robot  ns\n"), "{text}");
    let text = kubectl.ok("describe clusterrole gen-u").await;
    assert!(text.contains("[/logs]            []              [get]\n"), "{text}");
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: again, namespace: {}}}
rules: [{{apiGroups: [''], resources: [pods], verbs: [get]}}]
",
        kubectl.place().namespace
    );
    let file = kubectl.manifest("role.yaml", &role);
    let reconcile = format!("auth reconcile -f {file}");
    let said = kubectl.run(&reconcile).await;
    assert!(said.success && said.stderr.contains("reconciliation required create"), "{said:?}");
    let said = kubectl.run(&reconcile).await;
    assert!(said.success && !said.stderr.contains("required"), "{said:?}");
}

#[tokio::test]
async fn namespaces_accounts_quotas_and_priorities_are_generated() {
    let test = "namespaces_accounts_quotas_and_priorities_are_generated";
    let Some(kubectl) = Kubectl::for_test(test).await else { return };
    check(&kubectl, &["namespace", "generated"], "namespace/generated").await;
    check(&kubectl, &["serviceaccount", "robot"], "serviceaccount/robot").await;
    check(&kubectl, &["quota", "q", "--hard=cpu=1,pods=2"], "resourcequota/q").await;
    assert_eq!(kubectl.ok("get quota q -o jsonpath={.spec.hard.cpu}/{.spec.hard.pods}").await, "1/2");
    let priority = ["--value=1000", "--description=some text"];
    check(
        &kubectl,
        &["priorityclass", "generated", priority[0], priority[1]],
        "priorityclass.scheduling.k8s.io/generated",
    )
    .await;
    let table = kubectl.ok("get priorityclass generated").await;
    assert_eq!(rows(&table)[0][..3], ["generated", "1000", "false"]);
    let said = kubectl.fails("create token robot --duration=30s").await;
    assert!(said.starts_with("error: failed to create token: "), "{said}");
}
