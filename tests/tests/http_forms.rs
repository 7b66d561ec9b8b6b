//! Forms of an answer: tables, metadata only, YAML, compact or indented, compressed; and discovery.

use std::io::Read;

use keelson_testkit::{Answer, RunningServer, fixture};
use keelson_tests::Place;
use serde_json::{Value, json};

#[tokio::test]
async fn a_table_is_what_kubectl_prints() {
    let place = Place::new("tables").await;
    place.config_map("a", "1").await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = async |path: &str| {
        let call = place.client.call("GET", &place.path(path)).header("accept", accept);
        call.send().await.expect(200)
    };
    for path in ["configmaps", "configmaps/a"] {
        let found = table(path).await;
        assert_eq!((&found["kind"], &found["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
        let columns: Vec<&Value> = found["columnDefinitions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|column| &column["name"])
            .collect();
        assert_eq!(columns, ["Name", "Data", "Age"]);
        let row = &found["rows"][0];
        assert_eq!((&row["cells"][0], &row["cells"][1]), (&json!("a"), &json!(1)), "{path}");
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(row["object"]["metadata"]["name"], "a");
    }
    let whole = table("configmaps?includeObject=Object").await;
    assert_eq!(whole["rows"][0]["object"]["data"]["key"], "1");
    let none = table("configmaps?includeObject=None").await;
    assert!(none["rows"][0]["object"].is_null(), "{none}");
}

#[tokio::test]
async fn metadata_can_be_had_alone() {
    let place = Place::new("metadata").await;
    let created = place.config_map("a", "1").await;
    let get = async |path: &str, kind: &str| {
        let accept = format!("application/json;as={kind};g=meta.k8s.io;v=v1");
        let call = place.client.call("GET", &place.path(path)).header("accept", &accept);
        call.send().await.expect(200)
    };
    let one = get("configmaps/a", "PartialObjectMetadata").await;
    let expected = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"],
    });
    assert_eq!(one, expected);
    let all = get("configmaps", "PartialObjectMetadataList").await;
    assert_eq!(all["kind"], "PartialObjectMetadataList");
    assert_eq!(all["items"], json!([expected]));
}

#[tokio::test]
async fn yaml_goes_in_and_out() {
    let place = Place::new("yaml").await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  on: 'off'\n  b: |\n    two\n    lines\n";
    let call =
        place.client.call("POST", &place.path("configmaps")).header("content-type", "application/yaml");
    let created = call.body(text).send().await.expect(201);
    // As everywhere in Kubernetes, `on` is true in YAML, also as a key.
    assert_eq!(created["data"], json!({"true": "off", "b": "two\nlines\n"}));
    let call = place.client.call("GET", &place.path("configmaps/a")).header("accept", "application/yaml");
    let answer = call.send().await;
    assert_eq!(answer.header("content-type"), "application/yaml");
    let text = answer.text();
    assert!(text.starts_with("apiVersion: v1\ndata:\n"), "{text}");
    assert!(text.contains("  b: |\n    two\n    lines\n"), "{text}");
    assert!(text.contains("\nkind: ConfigMap\n"), "{text}");
}

#[tokio::test]
async fn json_is_compact_unless_asked() {
    let place = Place::new("pretty").await;
    place.config_map("a", "1").await;
    let compact = place.client.get(&place.path("configmaps/a")).await;
    let pretty = place.client.get(&place.path("configmaps/a?pretty=true")).await;
    assert!(
        compact
            .text()
            .starts_with("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"")
    );
    assert!(
        pretty
            .text()
            .starts_with("{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n")
    );
    assert_eq!(compact.json(), pretty.json());
    let call = place.client.call("GET", &place.path("configmaps/a")).header("user-agent", "curl/8.5.0");
    assert!(call.send().await.text().starts_with("{\n  \"kind\""), "people use curl");
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_can() {
    let place = Place::new("gzip").await;
    let big = fixture::config_map_of("big", 300_000);
    place.client.post(&place.path("configmaps"), &big).await.expect(201);
    place.config_map("small", "1").await;
    let get = async |path: &str, encoding: &str| {
        let call = place.client.call("GET", &place.path(path)).header("accept-encoding", encoding);
        call.send().await
    };
    let plain = place.client.get(&place.path("configmaps/big")).await;
    assert_eq!(plain.header("content-encoding"), "");
    for path in ["configmaps/big", "configmaps"] {
        let squeezed = get(path, "gzip").await;
        assert_eq!(squeezed.header("content-encoding"), "gzip", "{path}");
        assert!(squeezed.body.len() < 100_000, "{}", squeezed.body.len());
        let mut text = String::new();
        flate2::read::GzDecoder::new(&squeezed.body[..]).read_to_string(&mut text).unwrap();
        if path.ends_with("big") {
            assert_eq!(text, plain.text());
        }
    }
    assert_eq!(get("configmaps/small", "gzip").await.header("content-encoding"), "");
    assert_eq!(get("configmaps/big", "br").await.header("content-encoding"), "");
}

#[tokio::test]
async fn both_protocols_give_the_same() {
    let place = Place::new("protocols").await;
    place.config_map("a", "1").await;
    let (one, two) = (place.client.clone(), place.server.client2());
    for path in ["configmaps/a", "configmaps", "configmaps/none"] {
        let (first, second) = (one.get(&place.path(path)).await, two.get(&place.path(path)).await);
        assert_eq!(first.status, second.status, "{path}");
        let items = |answer: &Answer| answer.json().get("items").cloned().unwrap_or(answer.json());
        assert_eq!(items(&first), items(&second), "{path}");
    }
    let created = two.post(&place.path("configmaps"), &fixture::config_map("b")).await.expect(201);
    assert_eq!(one.get(&place.path("configmaps/b")).await.expect(200), created);
}

#[tokio::test]
async fn discovery_lists_groups_and_resources() {
    let server = RunningServer::shared().await;
    let client = server.client();
    let api = client.get("/api").await.expect(200);
    assert_eq!((&api["kind"], &api["versions"]), (&json!("APIVersions"), &json!(["v1"])));
    assert_eq!(api["serverAddressByClientCIDRs"][0]["clientCIDR"], "0.0.0.0/0");
    let groups = client.get("/apis").await.expect(200);
    assert_eq!(groups["kind"], "APIGroupList");
    let apps = groups["groups"].as_array().into_iter().flatten().find(|group| group["name"] == "apps");
    let expected = json!({"groupVersion": "apps/v1", "version": "v1"});
    assert_eq!(apps.map(|group| &group["preferredVersion"]), Some(&expected));
    assert_eq!(client.get("/apis/apps").await.expect(200)["kind"], "APIGroup");

    let core = client.get("/api/v1").await.expect(200);
    assert_eq!((&core["kind"], &core["groupVersion"]), (&json!("APIResourceList"), &json!("v1")));
    let find = |name: &str| {
        let found =
            core["resources"].as_array().into_iter().flatten().find(|resource| resource["name"] == name);
        found.cloned().unwrap_or_else(|| panic!("{name} is not in {core}"))
    };
    let pods = find("pods");
    assert_eq!(
        (&pods["kind"], &pods["namespaced"], &pods["singularName"]),
        (&json!("Pod"), &json!(true), &json!("pod"))
    );
    assert_eq!((&pods["shortNames"], &pods["categories"]), (&json!(["po"]), &json!(["all"])));
    let verbs: Vec<&str> = pods["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for verb in ["create", "delete", "deletecollection", "get", "list", "update", "watch"] {
        assert!(verbs.contains(&verb), "{verbs:?}");
    }
    assert_eq!(find("namespaces")["namespaced"], false);
    assert_eq!(find("pods/status")["kind"], "Pod");
}

#[tokio::test]
async fn discovery_can_be_had_in_one_document() {
    let server = RunningServer::shared().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    for (path, group, resource, kind) in
        [("/api", "", "configmaps", "ConfigMap"), ("/apis", "apps", "deployments", "Deployment")]
    {
        let call = server.client().call("GET", path).header("accept", accept);
        let answer = call.send().await;
        let found = answer.expect(200);
        assert_eq!(
            answer.header("content-type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
        assert_eq!(
            (&found["kind"], &found["apiVersion"]),
            (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2"))
        );
        let items = found["items"].as_array().into_iter().flatten();
        let group = items.clone().find(|item| item["metadata"]["name"].as_str().unwrap_or("") == group);
        let version = &group.unwrap_or_else(|| panic!("no group in {found}"))["versions"][0];
        assert_eq!((&version["version"], &version["freshness"]), (&json!("v1"), &json!("Current")));
        let resources = version["resources"].as_array().into_iter().flatten();
        let resource = resources.clone().find(|it| it["resource"] == resource).expect("it is served");
        assert_eq!(resource["responseKind"]["kind"], kind);
        assert_eq!(resource["scope"], "Namespaced");
        let etag = answer.header("etag").to_owned();
        assert!(!etag.is_empty(), "a document that is asked often has an etag");
        let call = server.client().call("GET", path).header("accept", accept).header("if-none-match", &etag);
        assert_eq!(call.send().await.status, 304);
    }
}
