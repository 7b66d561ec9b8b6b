//! The kube client library: typed and untyped access, watchers, caches, controllers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use keelson_stdx::task;
use keelson_testkit::RunningServer;
use keelson_tests::Place;
use kube::api::{DeleteParams, ListParams, PartialObjectMetaExt, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::DynamicObject;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Config, ResourceExt};
use tokio::sync::Notify;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

async fn client(server: &RunningServer) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).expect("the kubeconfig can be read");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig is complete")).expect("a client")
}

async fn config_maps(place: &Place) -> Api<ConfigMap> {
    Api::namespaced(client(&place.server).await, &place.namespace)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([(String::from("key"), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn value(object: &ConfigMap) -> &str {
    object.data.as_ref().and_then(|data| data.get("key")).map_or("", String::as_str)
}

#[tokio::test]
async fn typed_objects_are_created_read_replaced_and_deleted() {
    let place = Place::new("kube-crud").await;
    let api = config_maps(&place).await;
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert!(created.uid().is_some() && created.resource_version().is_some());
    assert_eq!(api.get("a").await.unwrap(), created);
    assert_eq!(api.get_opt("none").await.unwrap(), None);
    let mut changed = created.clone();
    changed.data = config_map("a", "2").data;
    let changed = api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(value(&changed), "2");
    let listed = api.list(&ListParams::default().fields("metadata.name=a")).await.unwrap();
    assert_eq!(listed.items, [changed]);
    let metadata = api.get_metadata("a").await.unwrap();
    assert_eq!(metadata.metadata.name.as_deref(), Some("a"));
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(api.get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn a_stale_object_is_a_conflict() {
    let place = Place::new("kube-conflict").await;
    let api = config_maps(&place).await;
    let first = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut second = first.clone();
    second.data = config_map("a", "2").data;
    api.replace("a", &PostParams::default(), &second).await.unwrap();
    let error = api.replace("a", &PostParams::default(), &second).await.unwrap_err();
    let kube::Error::Api(status) = &error else { panic!("{error}") };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert!(status.is_conflict());

    let entry = api.entry("b").await.unwrap().or_insert(|| config_map("b", "1"));
    let mut entry = entry;
    entry.commit(&PostParams::default()).await.unwrap();
    assert_eq!(value(&api.get("b").await.unwrap()), "1");
}

#[tokio::test]
async fn other_kinds_are_typed_too() {
    let place = Place::new("kube-kinds").await;
    let client = client(&place.server).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let status = namespaces.get("default").await.unwrap().status;
    assert_eq!(status.and_then(|status| status.phase).as_deref(), Some("Active"));
    let pods: Api<Pod> = Api::namespaced(client.clone(), &place.namespace);
    let pod: Pod = serde_json::from_value(keelson_testkit::fixture::pod("web", 6_000)).unwrap();
    let created = pods.create(&PostParams::default(), &pod).await.unwrap();
    assert_eq!(created.spec.and_then(|spec| spec.restart_policy).as_deref(), Some("Always"));
    let deployments: Api<Deployment> = Api::all(client.clone());
    assert!(deployments.list(&ListParams::default()).await.is_ok());

    let (resource, _) =
        kube::discovery::pinned_kind(&client, &kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap"))
            .await
            .unwrap();
    let dynamic: Api<DynamicObject> = Api::namespaced_with(client, &place.namespace, &resource);
    dynamic.create(&PostParams::default(), &DynamicObject::new("d", &resource)).await.unwrap();
    assert_eq!(dynamic.get("d").await.unwrap().name_any(), "d");
}

#[tokio::test]
async fn a_raw_watch_sees_changes_and_bookmarks() {
    let place = Place::new("kube-watch").await;
    let api = config_maps(&place).await;
    let tip = api.list(&ListParams::default().limit(1)).await.unwrap().metadata.resource_version.unwrap();
    let stream = api.watch(&WatchParams::default().timeout(10), &tip).await.unwrap();
    pin_mut!(stream);
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let event = timeout(PATIENCE, stream.try_next()).await.expect("an event comes").unwrap();
        match event.expect("the watch goes on") {
            WatchEvent::Added(object) => seen.push(format!("added {}", object.name_any())),
            WatchEvent::Deleted(object) => seen.push(format!("deleted {}", object.name_any())),
            WatchEvent::Bookmark(bookmark) => assert!(!bookmark.metadata.resource_version.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["added a", "deleted a"]);
}

async fn check_watcher(namespace: &str, config: watcher::Config) {
    let place = Place::new(namespace).await;
    let api = config_maps(&place).await;
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &config_map(name, "1")).await.expect("the server does it");
    }
    let stream = watcher(api.clone(), config.fields("metadata.name!=kube-root-ca.crt"));
    pin_mut!(stream);
    let mut initial = Vec::new();
    loop {
        let event = timeout(PATIENCE, stream.try_next()).await.expect("an event comes");
        let event = event.expect("no error");
        match event.expect("a watcher never ends") {
            watcher::Event::Init => (),
            watcher::Event::InitApply(object) => initial.push(object.name_any()),
            watcher::Event::InitDone => break,
            other => panic!("{other:?}"),
        }
    }
    initial.sort();
    assert_eq!(initial, ["a", "b", "c"]);
    api.create(&PostParams::default(), &config_map("d", "1")).await.expect("the server does it");
    api.delete("a", &DeleteParams::default()).await.expect("the server does it");
    for expected in ["applied d", "deleted a"] {
        let event = timeout(PATIENCE, stream.try_next()).await.expect("an event comes");
        let event = event.expect("no error");
        let seen = match event.expect("a watcher never ends") {
            watcher::Event::Apply(object) => format!("applied {}", object.name_any()),
            watcher::Event::Delete(object) => format!("deleted {}", object.name_any()),
            other => panic!("{other:?}"),
        };
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn a_watcher_lists_in_pages_and_watches() {
    check_watcher("kube-list-watch", watcher::Config::default().page_size(2)).await;
}

#[tokio::test]
async fn a_watcher_streams_its_list() {
    check_watcher("kube-streaming", watcher::Config::default().streaming_lists()).await;
}

#[tokio::test]
async fn a_reflector_keeps_up() {
    let place = Place::new("kube-reflector").await;
    let api = config_maps(&place).await;
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let (reader, writer) = reflector::store();
    let stream =
        reflector::reflector(writer, watcher(api.clone(), watcher::Config::default())).applied_objects();
    let changed = Arc::new(Notify::new());
    let follower = task::spawn("reflector", {
        let changed = Arc::clone(&changed);
        async move { stream.for_each(|_| async { changed.notify_one() }).await }
    });
    timeout(PATIENCE, reader.wait_until_ready()).await.expect("the reflector fills its store").unwrap();
    let key = reflector::ObjectRef::new("a").within(&place.namespace);
    assert_eq!(reader.get(&key).as_deref().map(value), Some("1"));
    let mut object = api.get("a").await.unwrap();
    object.data = config_map("a", "2").data;
    api.replace("a", &PostParams::default(), &object).await.unwrap();
    while reader.get(&key).as_deref().map(value) != Some("2") {
        timeout(PATIENCE, changed.notified()).await.expect("the change comes");
    }
    follower.abort();
}

/// Writes for each config map with a `source` one that says the same in capitals.
async fn reconcile(object: Arc<ConfigMap>, api: Arc<Api<ConfigMap>>) -> Result<Action, kube::Error> {
    let name = object.name_any();
    if name.starts_with("copy-") || name == "kube-root-ca.crt" {
        return Ok(Action::await_change());
    }
    let mut copy = config_map(&format!("copy-{name}"), &value(&object).to_uppercase());
    match api.get_opt(&copy.name_any()).await? {
        Some(there) if value(&there) == value(&copy) => (),
        Some(there) => {
            copy.metadata.resource_version = there.resource_version();
            api.replace(&copy.name_any(), &PostParams::default(), &copy).await?;
        }
        None => drop(api.create(&PostParams::default(), &copy).await?),
    }
    Ok(Action::await_change())
}

#[tokio::test]
async fn a_controller_reconciles() {
    let place = Place::new("kube-controller").await;
    let api = config_maps(&place).await;
    api.create(&PostParams::default(), &config_map("before", "one")).await.unwrap();
    let controller = Controller::new(api.clone(), watcher::Config::default()).run(
        reconcile,
        |_, _, _| Action::requeue(Duration::from_millis(100)),
        Arc::new(api.clone()),
    );
    let running = task::spawn("controller", controller.for_each(|_| async {}));
    api.create(&PostParams::default(), &config_map("after", "two")).await.unwrap();
    let stream = watcher(api.clone(), watcher::Config::default()).applied_objects();
    pin_mut!(stream);
    let mut missing = BTreeMap::from([("copy-before", "ONE"), ("copy-after", "TWO")]);
    while !missing.is_empty() {
        let object = timeout(PATIENCE, stream.try_next()).await.expect("the controller works").unwrap();
        let object = object.expect("a watcher never ends");
        missing.retain(|name, expected| *name != object.name_any() || *expected != value(&object));
    }
    running.abort();
}

#[tokio::test]
async fn a_watcher_recovers_from_a_restart() {
    let mut server = RunningServer::start(keelson_testkit::Options::default()).await;
    let api: Api<ConfigMap> = Api::namespaced(client(&server).await, "default");
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let stream = watcher(api.clone(), watcher::Config::default()).default_backoff().applied_objects();
    pin_mut!(stream);
    let first = timeout(PATIENCE, stream.next()).await.expect("it starts").expect("a watcher never ends");
    assert_eq!(first.unwrap().name_any(), "a");
    server.restart().await;
    api.create(&PostParams::default(), &config_map("b", "1")).await.unwrap();
    loop {
        // Errors of the time between are reported and survived.
        let next = timeout(PATIENCE, stream.next()).await.expect("it goes on").expect("a watcher never ends");
        if next.is_ok_and(|object| object.name_any() == "b") {
            break;
        }
    }
}

#[test]
fn metadata_of_a_kind_can_be_written_alone() {
    let partial = ObjectMeta::default().into_request_partial::<ConfigMap>();
    assert_eq!(partial.types.map(|types| types.kind).as_deref(), Some("ConfigMap"));
}
