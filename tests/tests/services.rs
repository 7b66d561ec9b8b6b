//! Addresses and node ports of services: each is allocated once, and released when it is not needed.

use std::collections::BTreeSet;

use keelson_stdx::task;
use keelson_testkit::{Client, Options, RunningServer};
use serde_json::{Value, json};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";
const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";

async fn server(arguments: &[&str]) -> RunningServer {
    let options = arguments.iter().fold(Options::default(), |options, it| options.argument(*it));
    RunningServer::start(options).await
}

fn service(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec.get("ports").is_none() {
        spec["ports"] = json!([{"port": 80}]);
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

async fn made(client: &Client, name: &str, spec: Value) -> Value {
    client.post(SERVICES, &service(name, spec)).await.expect(201)
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn address(service: &Value) -> String {
    text(service, "/spec/clusterIP").to_owned()
}

fn node_port(service: &Value) -> i64 {
    service["spec"]["ports"][0]["nodePort"].as_i64().unwrap_or_default()
}

/// The allocated addresses, except for that of the service `kubernetes`.
async fn taken(client: &Client) -> BTreeSet<String> {
    let list = client.get(ADDRESSES).await.expect(200);
    let items = list["items"].as_array().expect("a list");
    let others = items.iter().filter(|it| text(it, "/spec/parentRef/name") != "kubernetes");
    others.map(|it| text(it, "/metadata/name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_at_once_get_sixty_four_addresses_and_ports() {
    let server = server(&[]).await;
    let makers: Vec<_> = (0..64)
        .map(|number| {
            let client = server.client();
            task::spawn("maker", async move {
                made(&client, &format!("s{number}"), json!({"type": "NodePort"})).await
            })
        })
        .collect();
    let (mut addresses, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for maker in makers {
        let service = maker.await.expect("a service");
        addresses.insert(address(&service));
        ports.insert(node_port(&service));
    }
    assert_eq!((addresses.len(), ports.len()), (64, 64));
    assert!(ports.iter().all(|port| (30086..=32767).contains(port)), "{ports:?}");
    assert_eq!(taken(&server.client()).await, addresses);
}

#[tokio::test]
async fn a_server_that_starts_again_knows_what_is_taken() {
    let mut server = server(&["--service-node-port-range=30000-30003"]).await;
    let first = made(&server.client(), "a", json!({"type": "NodePort"})).await;
    server.restart().await;
    let client = server.client();
    assert_eq!(client.get(&format!("{SERVICES}/a")).await.expect(200)["spec"], first["spec"]);
    let same = json!({"clusterIP": address(&first)});
    let refused = client.post(SERVICES, &service("b", same)).await.refused(422, "Invalid");
    assert!(text(&refused, "/message").ends_with("provided IP is already allocated"), "{refused}");
    let mut ports = BTreeSet::from([node_port(&first)]);
    for name in ["c", "d", "e"] {
        ports.insert(node_port(&made(&client, name, json!({"type": "NodePort"})).await));
    }
    assert_eq!(ports, (30000..=30003).collect());
    let full = client.post(SERVICES, &service("f", json!({"type": "NodePort"}))).await;
    let full = full.refused(500, "InternalError");
    assert_eq!(full["message"], "Internal error occurred: failed to allocate a nodePort: range is full");
    client.delete(&format!("{SERVICES}/c")).await.expect(200);
    made(&client, "f", json!({"type": "NodePort"})).await;
}

#[tokio::test]
async fn what_is_not_made_takes_nothing() {
    let server = server(&[]).await;
    let client = server.client();
    let asked =
        json!({"type": "NodePort", "clusterIP": "10.0.0.77", "ports": [{"port": 80, "nodePort": 31777}]});
    let dry = client.post(&format!("{SERVICES}?dryRun=All"), &service("a", asked.clone())).await.expect(201);
    assert_eq!((address(&dry).as_str(), node_port(&dry)), ("10.0.0.77", 31777));
    let any = json!({"type": "NodePort"});
    let dry = client.post(&format!("{SERVICES}?dryRun=All"), &service("a", any)).await.expect(201);
    assert_eq!(node_port(&dry), 32769);
    assert!(taken(&client).await.is_empty());

    // Rejected by a rule that is checked after the allocation.
    let mut wrong = asked.clone();
    wrong["sessionAffinity"] = json!("Nope");
    client.post(SERVICES, &service("a", wrong)).await.refused(422, "Invalid");
    // Rejected because of a port after the address was allocated.
    let mut outside = asked.clone();
    outside["ports"][0]["nodePort"] = json!(80);
    let refused = client.post(SERVICES, &service("a", outside)).await.refused(422, "Invalid");
    let words = "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. \
                 The range of valid ports is 30000-32767";
    assert!(text(&refused, "/message").ends_with(words), "{refused}");
    assert!(taken(&client).await.is_empty());

    made(&client, "a", asked.clone()).await;
    // Rejected because the name exists.
    client.post(SERVICES, &service("a", json!({"type": "NodePort"}))).await.refused(409, "AlreadyExists");
    assert_eq!(taken(&client).await, BTreeSet::from(["10.0.0.77".to_owned()]));
    client.delete(&format!("{SERVICES}/a?dryRun=All")).await.expect(200);
    assert_eq!(taken(&client).await.len(), 1);
    client.delete(&format!("{SERVICES}/a")).await.expect(200);
    assert!(taken(&client).await.is_empty());
    made(&client, "b", asked).await;
}

#[tokio::test]
async fn a_type_decides_what_a_service_has() {
    let server = server(&[]).await;
    let client = server.client();
    let path = format!("{SERVICES}/a");
    let patch = |spec: Value| {
        let (client, path) = (&client, &path);
        async move {
            let body = json!({"spec": spec});
            client.patch(path, "application/merge-patch+json", &body).await.expect(200)
        }
    };
    let first = made(&client, "a", json!({})).await;
    let balanced = patch(json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"})).await;
    assert_eq!(address(&balanced), address(&first));
    let (port, health) = (node_port(&balanced), balanced["spec"]["healthCheckNodePort"].as_i64());
    assert!(port >= 30000 && health.is_some_and(|it| it >= 30000 && it != port), "{balanced}");
    let wanted = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    client.post(SERVICES, &service("b", wanted.clone())).await.refused(422, "Invalid");

    let back = patch(json!({"type": "ClusterIP"})).await;
    assert_eq!((address(&back), node_port(&back)), (address(&first), 0));
    assert_eq!(back["spec"].get("healthCheckNodePort"), None);
    made(&client, "b", wanted).await;

    let outside = patch(json!({"type": "ExternalName", "externalName": "a.example"})).await;
    assert_eq!((address(&outside).as_str(), outside["spec"].get("ipFamilies")), ("", None));
    assert!(!taken(&client).await.contains(&address(&first)));
    made(&client, "c", json!({"clusterIP": address(&first)})).await;
    let inside = patch(json!({"type": "ClusterIP", "externalName": null})).await;
    assert!(taken(&client).await.contains(&address(&inside)), "{inside}");
}

#[tokio::test]
async fn a_finalizer_holds_what_a_service_has() {
    let server = server(&[]).await;
    let client = server.client();
    let path = format!("{SERVICES}/a");
    let mut object = service("a", json!({"type": "NodePort"}));
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let service = client.post(SERVICES, &object).await.expect(201);
    client.delete(&path).await.expect(200);
    assert!(taken(&client).await.contains(&address(&service)));
    let free = json!({"metadata": {"finalizers": null}});
    client.patch(&format!("{path}/status"), "application/merge-patch+json", &free).await.expect(200);
    client.get(&path).await.refused(404, "NotFound");
    assert!(taken(&client).await.is_empty());
}

#[tokio::test]
async fn two_families_where_there_are_two() {
    let server = server(&["--service-cluster-ip-range=10.9.0.0/24,fd00:9::/112"]).await;
    let client = server.client();
    let default = client.get(&format!("{SERVICES}/kubernetes")).await.expect(200);
    assert_eq!(default["spec"]["clusterIPs"], json!(["10.9.0.1"]));
    let range = client.get(&format!("{RANGES}/kubernetes")).await.expect(200);
    assert_eq!(range["spec"]["cidrs"], json!(["10.9.0.0/24", "fd00:9::/112"]));

    let one = made(&client, "one", json!({})).await;
    assert_eq!(one["spec"]["ipFamilies"], json!(["IPv4"]));
    let both = made(&client, "both", json!({"ipFamilyPolicy": "RequireDualStack"})).await;
    assert_eq!(both["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    let second = text(&both, "/spec/clusterIPs/1");
    assert!(second.starts_with("fd00:9::"), "{second}");
    assert_eq!(taken(&client).await.len(), 3);
    let six = made(&client, "six", json!({"ipFamilies": ["IPv6"]})).await;
    assert!(address(&six).starts_with("fd00:9::"));

    let change = |policy: &str| json!({"spec": {"ipFamilyPolicy": policy}});
    let path = format!("{SERVICES}/both");
    let single =
        client.patch(&path, "application/merge-patch+json", &change("SingleStack")).await.expect(200);
    assert_eq!(single["spec"]["clusterIPs"], json!([address(&both)]));
    assert!(!taken(&client).await.contains(second));
    let path = format!("{SERVICES}/one");
    let grown =
        client.patch(&path, "application/merge-patch+json", &change("PreferDualStack")).await.expect(200);
    assert_eq!(grown["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert!(taken(&client).await.contains(text(&grown, "/spec/clusterIPs/1")));
}

#[tokio::test]
async fn a_range_may_be_added_when_there_is_no_address_left() {
    let server = server(&["--service-cluster-ip-range=10.9.0.0/29"]).await;
    let client = server.client();
    for number in 0..5 {
        made(&client, &format!("s{number}"), json!({})).await;
    }
    let full = client.post(SERVICES, &service("more", json!({}))).await.refused(500, "InternalError");
    let words = "Internal error occurred: failed to allocate a serviceIP for Service \"more\": range is full";
    assert_eq!(full["message"], words);
    let range = json!({"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": "more"}, "spec": {"cidrs": ["10.8.0.0/24"]}});
    client.post(RANGES, &range).await.expect(201);
    let more = made(&client, "more", json!({})).await;
    assert!(address(&more).starts_with("10.8.0."), "{more}");
    client.delete(&format!("{RANGES}/more")).await.expect(200);
    let refused = client.post(SERVICES, &service("other", json!({"clusterIP": "10.8.0.9"}))).await;
    let refused = refused.refused(422, "Invalid");
    let words = "failed to allocate IP 10.8.0.9: the provided network does not match the current range";
    assert!(text(&refused, "/message").ends_with(words), "{refused}");
    client.delete(&format!("{SERVICES}/more")).await.expect(200);
    assert!(!taken(&client).await.contains(&address(&more)));
}

#[tokio::test]
async fn an_address_that_somebody_deletes_is_taken_again() {
    let server = server(&[]).await;
    let client = server.client();
    let service = made(&client, "a", json!({})).await;
    let mut changes = client
        .watch(&format!("{ADDRESSES}?watch=true&fieldSelector=metadata.name={}", address(&service)))
        .await;
    assert_eq!(changes.change().await["type"], "ADDED");
    client.delete(&format!("{ADDRESSES}/{}", address(&service))).await.expect(200);
    assert_eq!(changes.change().await["type"], "DELETED");
    let again = changes.change().await;
    assert_eq!(again["type"], "ADDED");
    assert_eq!(again["object"]["spec"]["parentRef"]["name"], "a");
}

#[tokio::test]
async fn endpoints_go_with_their_service() {
    let server = server(&[]).await;
    let client = server.client();
    made(&client, "a", json!({})).await;
    let path = "/api/v1/namespaces/default/endpoints";
    let object = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"},
        "subsets": [{"addresses": [{"ip": "192.0.2.1"}]}]});
    client.post(path, &object).await.expect(201);
    client.delete(&format!("{SERVICES}/a")).await.expect(200);
    client.get(&format!("{path}/a")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn pods_find_the_server_under_a_service() {
    let arguments = ["--advertise-address=198.51.100.7", "--kubernetes-service-node-port=30443"];
    let server = server(&arguments).await;
    let (client, port) = (server.client(), server.port());
    let service = client.get(&format!("{SERVICES}/kubernetes")).await.expect(200);
    assert_eq!((address(&service).as_str(), node_port(&service)), ("10.0.0.1", 30443));
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port);
    let endpoints = client.get("/api/v1/namespaces/default/endpoints/kubernetes").await.expect(200);
    let expected = json!([{"addresses": [{"ip": "198.51.100.7"}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}]);
    assert_eq!(endpoints["subsets"], expected);
    let slice = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let slice = client.get(slice).await.expect(200);
    assert_eq!(slice["endpoints"], json!([{"addresses": ["198.51.100.7"], "conditions": {"ready": true}}]));
}

#[tokio::test]
async fn nobody_keeps_endpoints_that_nobody_wants() {
    let server = server(&["--endpoint-reconciler-type=none"]).await;
    let client = server.client();
    client.get(&format!("{SERVICES}/kubernetes")).await.expect(200);
    client.get("/api/v1/namespaces/default/endpoints/kubernetes").await.refused(404, "NotFound");
}
