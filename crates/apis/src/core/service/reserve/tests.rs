//! Several servers on one store.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::try_join_all;
use keelson_authn::User;
use keelson_object::{Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::options::DeleteOptions;
use keelson_registry::{Catalog, Context, Error, Place, Result, catalog, operation};

use super::port_numbers;
use crate::catalog::{ServiceRanges, Settings, groups};
use crate::core::service::{Asked, NodePorts, Outcomes, PortRange, PortSet, ServiceCounts, range_use};
use crate::shared::testing::{ground, tree};

const PORTS: PortRange = PortRange { first: 30000, last: 30063 };

/// The parts of a server that the registry needs.
struct Server {
    catalog: Arc<Catalog>,
    ground: Ground,
    counts: Arc<ServiceCounts>,
}

impl Server {
    async fn start(ground: &Ground) -> Server {
        let services = ServiceRanges { node_ports: PORTS, ..ServiceRanges::default() };
        let settings = Settings { ground: Some(ground.clone()), services, ..Settings::default() };
        let catalog = catalog::load(groups(&settings), ground).await.expect("a catalog");
        Server { catalog: Arc::new(catalog), ground: ground.clone(), counts: settings.service_counts }
    }

    fn context(&self) -> Context {
        let mut context = Context::new(User::new("tester", &[]), self.ground.clock.clone());
        context.catalog = Some(self.catalog.clone());
        context
    }

    async fn make(&self, group: &str, plural: &str, text: &str) -> Result<Object> {
        let live = self.catalog.live(group, plural).expect("a resource");
        let mut object = Object::from_value(tree(text)).expect("an object");
        live.resource.strategy.default(&mut object);
        let namespace = if plural == "services" { "default" } else { "" };
        let made = operation::create(live, &self.context(), namespace, object).await?;
        live.thaw(&made)
    }

    async fn service(&self, name: &str) -> Result<Object> {
        let text = format!(
            r#"{{"kind": "Service", "apiVersion": "v1", "metadata": {{"name": "{name}"}},
                "spec": {{"type": "NodePort", "ports": [{{"port": 80}}]}}}}"#
        );
        self.make("", "services", &text).await
    }
}

async fn two_servers() -> [Server; 2] {
    let ground = ground();
    let servers = [Server::start(&ground).await, Server::start(&ground).await];
    let range = r#"{"kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1",
        "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.0.0.0/25"]}}"#;
    servers[0].make("networking.k8s.io", "servicecidrs", range).await.expect("a range");
    NodePorts::new(&ground, PORTS).rebuild(|_| PortSet::new(PORTS)).await.expect("no ports taken");
    servers
}

fn numbers(service: &Object) -> (String, Vec<i64>) {
    let spec = service.fields.map("spec").expect("a spec");
    (spec.str("clusterIP").map(String::from).expect("an address"), port_numbers(spec))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_share_a_store_give_every_number_once() {
    let servers = two_servers().await;
    let names: Vec<String> = (0..64).map(|it| format!("s{it}")).collect();
    let makers = names.iter().enumerate().map(|(i, name)| servers[i % 2].service(name));
    let made = try_join_all(makers).await.expect("services");
    let addresses: BTreeSet<String> = made.iter().map(|it| numbers(it).0).collect();
    let ports: BTreeSet<i64> = made.iter().flat_map(|it| numbers(it).1).collect();
    assert_eq!((addresses.len(), ports.len()), (64, 64));
    let full = servers[1].service("more").await;
    assert!(matches!(full, Err(Error::Rejected(_))), "there are no ports left");
}

#[tokio::test]
async fn what_one_server_gives_back_another_can_take() {
    let [one, two] = two_servers().await;
    let first = one.service("a").await.expect("a service");
    let services = two.catalog.live("", "services").expect("services");
    let place = Place::new("default", "a");
    operation::delete(services, &two.context(), &place, &DeleteOptions::default()).await.expect("deleted");
    let (address, ports) = numbers(&first);
    let text = format!(
        r#"{{"kind": "Service", "apiVersion": "v1", "metadata": {{"name": "b"}}, "spec": {{"type": "NodePort",
            "clusterIP": "{address}", "ports": [{{"port": 80, "nodePort": {}}}]}}}}"#,
        ports[0]
    );
    let again = one.make("", "services", &text).await.expect("a service");
    assert_eq!(numbers(&again), (address, ports));
    let families = again.fields.map("spec").map(|it| it.list("ipFamilies").to_vec());
    assert_eq!(families, Some(vec![Value::from("IPv4")]));
}

#[tokio::test]
async fn what_services_take_is_counted() {
    let [one, _] = two_servers().await;
    one.service("a").await.expect("a service");
    one.service("b").await.expect("a service");
    let by_number = |name: &str| {
        format!(
            r#"{{"kind": "Service", "apiVersion": "v1", "metadata": {{"name": "{name}"}}, "spec": {{"type": "NodePort",
                "clusterIP": "10.0.0.9", "ports": [{{"port": 80, "nodePort": 30001}}]}}}}"#
        )
    };
    one.make("", "services", &by_number("c")).await.expect("a service");
    one.make("", "services", &by_number("d")).await.expect_err("the address is taken");
    let outcomes = |taken, refused| Outcomes { taken, refused };
    let ranges = one.counts.ranges();
    let range = &ranges[&"10.0.0.0/25".parse().expect("a range")];
    assert_eq!(range.tally[&Asked::Dynamic], outcomes(2, 0));
    assert_eq!(range.tally[&Asked::Static], outcomes(1, 1));
    assert_eq!(range.durations.count(), 3);
    let ports = one.counts.ports();
    assert_eq!((ports.tally[&Asked::Dynamic], ports.tally[&Asked::Static]), (outcomes(2, 0), outcomes(1, 0)));
    assert_eq!((ports.used, ports.free), (3, 61));
    for plural in ["servicecidrs", "ipaddresses"] {
        let live = one.catalog.live("networking.k8s.io", plural).expect("a resource");
        live.cache().expect("a cache").fresh().await.expect("what was written");
    }
    let ranges = range_use(&one.catalog).expect("the use of the range");
    assert_eq!((ranges.len(), ranges[0].used, ranges[0].size), (1, 3, 126.0));
}
