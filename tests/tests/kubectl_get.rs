//! The many ways to `kubectl get`.

use keelson_tests::kubectl::{Kubectl, rows};
use serde_json::Value;

/// A pod and three deployments.
async fn furnished(test: &str) -> Option<Kubectl> {
    let kubectl = Kubectl::for_test(test).await?;
    kubectl.ok("run p --image=registry.example/p:1 --labels=app=p,tier=one").await;
    for (name, replicas) in [("b", 1), ("c", 3), ("a", 2)] {
        let image = "--image=registry.example/web:1";
        kubectl.ok(&format!("create deployment {name} {image} --replicas={replicas}")).await;
    }
    Some(kubectl)
}

#[tokio::test]
async fn lists_are_sorted_chunked_and_selected() {
    let Some(kubectl) = furnished("lists_are_sorted_chunked_and_selected").await else { return };
    let check = async |arguments: &str, expected: &[&str]| {
        let text = kubectl.ok(&format!("get {arguments} -o name")).await;
        let names: Vec<&str> = text.lines().filter_map(|line| line.split('/').next_back()).collect();
        assert_eq!(names, expected, "{arguments}");
    };
    check("deployments", &["a", "b", "c"]).await;
    check("deployments --sort-by=.spec.replicas", &["b", "a", "c"]).await;
    check("deployments --chunk-size=1", &["a", "b", "c"]).await;
    check("deployments -l app!=b", &["a", "c"]).await;
    check("deployments --selector=app=b", &["b"]).await;
    check("deployments --field-selector=metadata.name!=b", &["a", "c"]).await;
    check("pods --field-selector=status.phase=Pending,spec.nodeName=", &["p"]).await;
    check("pods --field-selector=status.phase!=Pending", &[]).await;
    check("pods -l tier,!zone", &["p"]).await;
    check("pods -l app=q", &[]).await;
    let text = kubectl.ok_args(&["get", "pods", "-l", "app in (p, q),tier notin (two)", "-o", "name"]).await;
    assert_eq!(text, "pod/p\n");
    let said = kubectl.fails("get pods --field-selector=nope=1").await;
    assert!(said.contains("field label not supported: nope"), "{said}");
}

#[tokio::test]
async fn tables_take_columns_and_labels() {
    let Some(kubectl) = furnished("tables_take_columns_and_labels").await else { return };
    let columns = "NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.nope";
    let table = kubectl.ok(&format!("get pods -o custom-columns={columns}")).await;
    assert_eq!(rows(&table), [["p", "registry.example/p:1", "<none>"]]);
    let table = kubectl.ok("get pods --show-labels").await;
    assert_eq!(rows(&table)[0].last(), Some(&"app=p,tier=one"));
    assert_eq!(rows(&kubectl.ok("get pods -L tier").await)[0].last(), Some(&"one"));
    let table = kubectl.ok("get deployments -A").await;
    let namespace = kubectl.place().namespace.as_str();
    let mine = rows(&table).into_iter().filter(|row| row[0] == namespace);
    assert_eq!(mine.map(|row| row[1].to_owned()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(rows(&kubectl.ok("get deployments --no-headers").await).len(), 2, "no line is a header");
    let text = kubectl.ok("get all -o name").await;
    assert_eq!(text, "pod/p\ndeployment.apps/a\ndeployment.apps/b\ndeployment.apps/c\n");
}

#[tokio::test]
async fn templates_pick_what_one_wants() {
    let Some(kubectl) = furnished("templates_pick_what_one_wants").await else { return };
    let check = async |output: &str, expected: &str| {
        assert_eq!(kubectl.ok_args(&["get", "pod", "p", "-o", output]).await, expected);
    };
    check("go-template={{.metadata.name}} {{.status.phase}}", "p Pending").await;
    check("jsonpath={range .spec.containers[*]}{.name}={.image};{end}", "p=registry.example/p:1;").await;
    check("jsonpath={.metadata.labels['app']}", "p").await;
    let names = r#"jsonpath={.items[?(@.spec.replicas>1)].metadata.name}"#;
    assert_eq!(kubectl.ok_args(&["get", "deployments", "-o", names]).await, "a c");
    let text = kubectl.ok("get pod p -o kyaml").await;
    assert!(text.contains("  kind: \"Pod\",\n"), "{text}");
}

#[tokio::test]
async fn every_kind_is_shown_in_every_form() {
    let Some(kubectl) = furnished("every_kind_is_shown_in_every_form").await else { return };
    let kinds = kubectl.ok("api-resources --verbs=list -o name").await;
    assert!(kinds.lines().count() > 50, "{kinds}");
    let all = kinds.lines().collect::<Vec<_>>().join(",");
    for form in ["wide", "yaml", "name"] {
        let said = kubectl.run(&format!("get {all} -o {form}")).await;
        assert!(
            said.success && said.stdout.contains("deployment.apps") | said.stdout.contains("Deployment"),
            "{form}"
        );
        assert!(!said.stderr.contains("rror"), "{form}: {}", said.stderr);
    }
    let list: Value = serde_json::from_str(&kubectl.ok(&format!("get {all} -o json")).await).unwrap();
    let items = list["items"].as_array().expect("a list");
    for kind in ["Pod", "Deployment", "Namespace"] {
        assert!(items.iter().any(|item| item["kind"] == kind), "{kind}");
    }
    assert!(items.iter().all(|item| item["apiVersion"].is_string() && item["metadata"].is_object()));
}

#[tokio::test]
async fn watches_of_tables_and_objects_follow_one_object() {
    let Some(kubectl) = furnished("watches_of_tables_and_objects_follow_one_object").await else { return };
    let mut table = kubectl.start("get deployment a --watch");
    assert!(table.line().await.starts_with("NAME "));
    assert!(table.line().await.starts_with("a      0/2 "));
    let mut names =
        kubectl.start("get deployments --watch-only -l app=a -o jsonpath={.spec.replicas}{\"\\n\"}");
    kubectl.ok("scale deployment b --replicas=7").await;
    // The second watch says nothing before its first event, so it may have begun after one change.
    kubectl.ok("scale deployment a --replicas=5").await;
    assert!(table.line().await.starts_with("a      0/5 "));
    let seen = async {
        let mut number = 5;
        loop {
            number += 1;
            kubectl.ok(&format!("scale deployment a --replicas={number}")).await;
        }
    };
    tokio::select! {
        () = seen => unreachable!("it goes on"),
        line = names.line() => assert!(line.parse::<u32>().is_ok_and(|count| count >= 5), "{line}"),
    }
}

#[tokio::test]
async fn some_of_several_names_may_be_missing() {
    let Some(kubectl) = furnished("some_of_several_names_may_be_missing").await else { return };
    let said = kubectl.run("get deployments a none -o name").await;
    assert_eq!((said.success, said.stdout.as_str()), (false, "deployment.apps/a\n"));
    assert_eq!(said.stderr, "Error from server (NotFound): deployments.apps \"none\" not found\n");
    assert_eq!(kubectl.ok("get deployment none --ignore-not-found").await, "");
    assert_eq!(kubectl.ok("get deployment/a pod/p -o name").await, "deployment.apps/a\npod/p\n");
}
