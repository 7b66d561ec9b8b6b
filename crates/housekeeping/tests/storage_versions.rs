//! StorageVersions say what a server stores.

use std::sync::Arc;

use keelson_apis::{Settings, groups};
use keelson_housekeeping::identity_lease::Identity;
use keelson_housekeeping::storage_versions;
use keelson_object::{GroupResource, Map};
use keelson_registry::live::Ground;
use keelson_registry::{CatalogHandle, catalog};
use keelson_stdx::clock::Clock;
use keelson_store::{Layout, MemoryStore};
use tokio::sync::mpsc;

struct Cluster {
    catalog: CatalogHandle,
    clock: Clock,
}

impl Cluster {
    async fn start() -> Cluster {
        let (clock, _) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ground = Ground::new(store, Layout::default(), clock.clone());
        let settings = Settings { ground: Some(ground.clone()), ..Settings::default() };
        let catalog = catalog::load(groups(&settings), &ground).await.expect("a catalog");
        Cluster { catalog: CatalogHandle::new(catalog), clock }
    }

    /// Runs a server called `name` until it has reported every resource once.
    async fn run(&self, name: &str) {
        let identity = Identity {
            name: name.to_owned(),
            holder: format!("{name}_1"),
            host: "host".to_owned(),
            peer_address: Some("192.0.2.1:6443".to_owned()),
        };
        identity.renew(&self.catalog, &self.clock).await.expect("a lease");
        let mut open: Vec<GroupResource> = storage_versions::resources(&self.catalog.load());
        let (told, mut reports) = mpsc::unbounded_channel();
        let report = move |resource: &GroupResource, problem| drop(told.send((resource.clone(), problem)));
        let running =
            storage_versions::run(self.catalog.clone(), self.clock.clone(), name.to_owned(), report);
        let finished = async {
            while !open.is_empty() {
                let (resource, problem) = reports.recv().await.expect("a report");
                assert_eq!(problem, None, "{resource}");
                open.retain(|it| *it != resource);
            }
        };
        tokio::select! {
            () = running => unreachable!("it runs for ever"),
            () = finished => {}
        }
    }

    async fn status(&self, name: &str) -> Map {
        let catalog = self.catalog.load();
        let live = catalog.live("internal.apiserver.k8s.io", "storageversions").expect("a resource");
        let snapshot = live.cache().expect("objects").fresh().await.expect("a snapshot");
        let object = live.thaw(snapshot.get("", name).expect("it was written")).expect("an object");
        object.fields.map("status").expect("a status").clone()
    }
}

#[tokio::test]
async fn every_server_has_an_entry() {
    let cluster = Cluster::start().await;
    cluster.run("apiserver-a").await;
    cluster.run("apiserver-b").await;
    let check = async |name: &str, encoding: &str, decodable: &[&str]| {
        let status = cluster.status(name).await;
        assert_eq!(status.str("commonEncodingVersion"), Some(encoding), "{name}");
        let entries: Vec<&Map> = status.maps("storageVersions").collect();
        let servers: Vec<_> = entries.iter().filter_map(|it| it.str("apiServerID")).collect();
        assert_eq!(servers, ["apiserver-a", "apiserver-b"], "{name}");
        let read: Vec<&str> = entries[0].strings("decodableVersions").collect();
        assert!(decodable.iter().all(|it| read.contains(it)), "{name} {read:?}");
        let condition = status.maps("conditions").next().expect("a condition");
        assert_eq!(condition.str("reason"), Some("CommonEncodingVersionSet"), "{name}");
    };
    check("core.pods", "v1", &["v1"]).await;
    check("core.events", "v1", &["v1", "events.k8s.io/v1"]).await;
    check("apps.deployments", "apps/v1", &["apps/v1"]).await;
    check("autoscaling.horizontalpodautoscalers", "autoscaling/v2", &["autoscaling/v2", "autoscaling/v1"])
        .await;
}

#[tokio::test]
async fn what_is_not_stored_has_no_storage_version() {
    let cluster = Cluster::start().await;
    let names = storage_versions::resources(&cluster.catalog.load());
    let has = |group: &str, resource: &str| names.contains(&GroupResource::new(group, resource));
    assert!(has("", "pods") && has("events.k8s.io", "events"));
    assert!(!has("", "componentstatuses"));
    assert!(!has("authorization.k8s.io", "subjectaccessreviews"));
}
