//! Tests of the objects that services need: they are created, and repaired when damaged.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keelson_apis::services::{ClusterAddresses, NodePorts, Owner, PortRange, PortSet};
use keelson_apis::{Settings, groups};
use keelson_authn::User;
use keelson_housekeeping::kubernetes_service::{KubernetesService, Presence, Reconciler};
use keelson_housekeeping::repair_node_ports::NodePortRepair;
use keelson_housekeeping::{default_service_cidr, repair_addresses};
use keelson_object::Object;
use keelson_registry::live::Ground;
use keelson_registry::options::DeleteOptions;
use keelson_registry::{CatalogHandle, Context, Place, catalog, operation};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Layout, MemoryStore};

const RANGE: PortRange = PortRange { first: 30000, last: 30099 };
const ADDRESSES: (&str, &str) = ("networking.k8s.io", "ipaddresses");
const KUBERNETES: &str = "10.0.0.1";

struct Cluster {
    catalog: CatalogHandle,
    ground: Ground,
    clock: Clock,
    hand: ManualClock,
}

impl Cluster {
    /// One with ranges, ports and the service `kubernetes`, which has the node port 30050.
    async fn start() -> Cluster {
        let (clock, hand) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ground = Ground::new(store, Layout::default(), clock.clone());
        let services = keelson_apis::ServiceRanges { node_ports: RANGE, ..Default::default() };
        let settings = Settings { ground: Some(ground.clone()), services, ..Settings::default() };
        let catalog = catalog::load(groups(&settings), &ground).await.expect("a catalog");
        let cluster = Cluster { catalog: CatalogHandle::new(catalog), ground, clock, hand };
        cluster.ensure_range(&["10.0.0.0/24"]).await;
        let mut ports = NodePortRepair::new(cluster.ports());
        ports.repair(&cluster.catalog).await.expect("ports");
        cluster.kubernetes("192.0.2.1").ensure(&cluster.catalog, &cluster.clock).await.expect("a service");
        cluster
    }

    async fn ensure_range(&self, cidrs: &[&str]) {
        let cidrs: Vec<String> = cidrs.iter().map(|it| (*it).to_owned()).collect();
        default_service_cidr::ensure(&self.catalog, &self.clock, &cidrs).await.expect("a range");
    }

    fn ports(&self) -> NodePorts {
        NodePorts::new(&self.ground, RANGE)
    }

    fn kubernetes(&self, advertised: &str) -> KubernetesService {
        KubernetesService {
            address: KUBERNETES.parse().expect("an address"),
            node_port: Some(30050),
            advertised: advertised.parse().expect("an address"),
            port: 6443,
            reconciler: Reconciler::Lease,
            ground: self.ground.clone(),
            presence: Presence::default(),
        }
    }

    fn context(&self) -> Context {
        let mut context = Context::new(User::new("tester", &[]), self.clock.clone());
        context.catalog = Some(self.catalog.load());
        context
    }

    async fn find(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> Option<Object> {
        let catalog = self.catalog.load();
        let live = catalog.live(group, plural).expect("a resource");
        let snapshot = live.cache().expect("objects").fresh().await.expect("a snapshot");
        snapshot.get(namespace, name).map(|it| live.thaw(it).expect("an object"))
    }

    async fn delete_address(&self, name: &str) {
        let catalog = self.catalog.load();
        let live = catalog.live(ADDRESSES.0, ADDRESSES.1).expect("addresses");
        let place = Place::new("", name);
        operation::delete(live, &self.context(), &place, &DeleteOptions::default()).await.expect("deleted");
    }

    async fn repair_addresses(&self) {
        repair_addresses::repair(&self.catalog, &self.clock).await.expect("repaired");
    }

    /// The endpoints of the service `kubernetes`, after this server has added itself.
    async fn behind(&self, advertised: &str) -> Vec<String> {
        self.kubernetes(advertised).ensure(&self.catalog, &self.clock).await.expect("endpoints");
        self.addresses().await
    }

    /// The addresses behind the service `kubernetes`.
    async fn addresses(&self) -> Vec<String> {
        let endpoints = self.find(("", "endpoints"), "default", "kubernetes").await.expect("endpoints");
        let slice = self.find(("discovery.k8s.io", "endpointslices"), "default", "kubernetes").await;
        let addresses = endpoints.fields.maps("subsets").flat_map(|it| it.maps("addresses"));
        let found: Vec<String> = addresses.filter_map(|it| it.str("ip")).map(String::from).collect();
        let slice = slice.expect("a slice").fields;
        assert_eq!(slice.list("endpoints").len(), found.len());
        assert_eq!(slice.list("ports").is_empty(), found.is_empty());
        found
    }
}

#[tokio::test]
async fn a_port_without_an_owner_goes_back_after_some_looks() {
    let cluster = Cluster::start().await;
    let ports = cluster.ports();
    let lose = |stored: Option<keelson_apis::services::Stored>| {
        let mut ports = stored.expect("ports").ports;
        ports.take(30077).expect("a free port");
        ports
    };
    ports.rebuild(lose).await.expect("a port that nobody has");
    let mut repair = NodePortRepair::new(cluster.ports());
    let mut seen = Vec::new();
    for _ in 0..5 {
        repair.repair(&cluster.catalog).await.expect("repaired");
        seen.push(ports.look().await.expect("ports").has(30077));
    }
    assert_eq!(seen, [true, true, true, false, false]);
    assert!(ports.look().await.expect("ports").has(30050), "that of a service stays");
}

#[tokio::test]
async fn a_port_that_a_service_has_is_taken() {
    let cluster = Cluster::start().await;
    let ports = cluster.ports();
    ports.rebuild(|_| PortSet::new(RANGE)).await.expect("nothing taken");
    NodePortRepair::new(cluster.ports()).repair(&cluster.catalog).await.expect("repaired");
    assert_eq!(ports.look().await.expect("ports").iter().collect::<Vec<_>>(), [30050]);
}

#[tokio::test]
async fn another_range_of_ports_begins_with_what_services_have() {
    let cluster = Cluster::start().await;
    let range = PortRange { first: 30050, last: 30060 };
    let ports = || NodePorts::new(&cluster.ground, range);
    assert!(ports().look().await.is_err(), "the stored range is another");
    NodePortRepair::new(ports()).repair(&cluster.catalog).await.expect("repaired");
    assert_eq!(ports().look().await.expect("ports").iter().collect::<Vec<_>>(), [30050]);
}

#[tokio::test]
async fn an_address_that_a_service_has_is_taken() {
    let cluster = Cluster::start().await;
    cluster.delete_address(KUBERNETES).await;
    cluster.repair_addresses().await;
    let address = cluster.find(ADDRESSES, "", KUBERNETES).await.expect("an address");
    assert_eq!(address.text_at("spec.parentRef.name"), Some("kubernetes"));
}

#[tokio::test]
async fn an_address_of_somebody_who_is_gone_is_its_services() {
    let cluster = Cluster::start().await;
    cluster.delete_address(KUBERNETES).await;
    let address: IpAddr = KUBERNETES.parse().expect("an address");
    let owner = Owner { namespace: "default", name: "gone" };
    ClusterAddresses::new(&cluster.context()).record(address, owner).await.expect("recorded");
    cluster.repair_addresses().await;
    let address = cluster.find(ADDRESSES, "", KUBERNETES).await.expect("an address");
    assert_eq!(address.text_at("spec.parentRef.name"), Some("kubernetes"));
}

#[tokio::test]
async fn an_address_of_no_service_goes_back_after_a_minute() {
    let cluster = Cluster::start().await;
    let name = "10.0.0.77";
    let address: IpAddr = name.parse().expect("an address");
    let owner = Owner { namespace: "default", name: "on-its-way" };
    ClusterAddresses::new(&cluster.context()).record(address, owner).await.expect("recorded");
    cluster.repair_addresses().await;
    assert!(cluster.find(ADDRESSES, "", name).await.is_some(), "its service may be on its way");
    cluster.hand.advance(Duration::from_secs(61));
    cluster.repair_addresses().await;
    assert!(cluster.find(ADDRESSES, "", name).await.is_none());
    assert!(cluster.find(ADDRESSES, "", KUBERNETES).await.is_some());
}

#[tokio::test]
async fn a_second_family_is_added_to_the_range() {
    let cluster = Cluster::start().await;
    let range = || cluster.find(("networking.k8s.io", "servicecidrs"), "", default_service_cidr::NAME);
    let cidrs = |it: &Object| it.fields.map("spec").map(|it| it.list("cidrs").len());
    let first = range().await.expect("a range");
    assert_eq!(cidrs(&first), Some(1));
    assert!(first.fields.at("status.conditions").is_some(), "it is ready");
    cluster.ensure_range(&["10.0.0.0/24", "fd00::/112"]).await;
    assert_eq!(cidrs(&range().await.expect("a range")), Some(2));
    cluster.ensure_range(&["10.9.0.0/24"]).await;
    assert_eq!(cidrs(&range().await.expect("a range")), Some(2), "it is never made smaller");
}

#[tokio::test]
async fn servers_that_are_gone_are_not_behind_the_service() {
    let cluster = Cluster::start().await;
    assert_eq!(cluster.behind("192.0.2.1").await, ["192.0.2.1"]);
    assert_eq!(cluster.behind("192.0.2.2").await, ["192.0.2.1", "192.0.2.2"]);
    cluster.hand.advance(Duration::from_secs(10));
    assert_eq!(cluster.behind("192.0.2.2").await, ["192.0.2.1", "192.0.2.2"]);
    cluster.hand.advance(Duration::from_secs(10));
    assert_eq!(cluster.behind("192.0.2.2").await, ["192.0.2.2"]);
}

#[tokio::test]
async fn the_service_is_made_again_when_somebody_deletes_it() {
    let cluster = Cluster::start().await;
    let catalog = cluster.catalog.load();
    let services = catalog.live("", "services").expect("services");
    let place = Place::new("default", "kubernetes");
    let context = cluster.context();
    operation::delete(services, &context, &place, &DeleteOptions::default()).await.expect("deleted");
    assert!(!cluster.ports().look().await.expect("ports").has(30050), "its port is free");
    assert!(cluster.find(ADDRESSES, "", KUBERNETES).await.is_none(), "its address is free");
    cluster.behind("192.0.2.1").await;
    let service = cluster.find(("", "services"), "default", "kubernetes").await.expect("a service");
    assert_eq!(service.text_at("spec.clusterIP"), Some(KUBERNETES));
}

#[tokio::test]
async fn a_server_that_leaves_is_no_endpoint_any_more() {
    for reconciler in [Reconciler::Lease, Reconciler::MasterCount(3)] {
        let cluster = Cluster::start().await;
        let server = |address: &str| KubernetesService { reconciler, ..cluster.kubernetes(address) };
        let (one, two) = (server("192.0.2.1"), server("192.0.2.2"));
        for server in [&one, &two] {
            server.ensure(&cluster.catalog, &cluster.clock).await.expect("endpoints");
        }
        assert_eq!(cluster.addresses().await, ["192.0.2.1", "192.0.2.2"]);
        two.leave(&cluster.catalog, &cluster.clock).await.expect("no endpoint");
        assert_eq!(cluster.addresses().await, ["192.0.2.1"]);
        // A loop that is still at work does not bring it back.
        two.ensure(&cluster.catalog, &cluster.clock).await.expect("nothing to do");
        assert_eq!(cluster.addresses().await, ["192.0.2.1"]);
        one.leave(&cluster.catalog, &cluster.clock).await.expect("no endpoint");
        assert!(cluster.addresses().await.is_empty(), "the last one leaves as well");
    }
}

#[tokio::test]
async fn who_does_not_keep_endpoints_does_not_remove_any() {
    let cluster = Cluster::start().await;
    let server = KubernetesService { reconciler: Reconciler::None, ..cluster.kubernetes("192.0.2.1") };
    server.leave(&cluster.catalog, &cluster.clock).await.expect("nothing to do");
    assert_eq!(cluster.addresses().await, ["192.0.2.1"]);
}
