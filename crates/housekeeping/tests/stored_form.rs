//! The stored form of objects in a store that is shared with upstream's servers.

use std::sync::Arc;

use keelson_apis::{Settings, groups};
use keelson_authn::User;
use keelson_codec::json;
use keelson_codec::protobuf::{self, PREFIX};
use keelson_object::Object;
use keelson_registry::live::Ground;
use keelson_registry::{Catalog, Context, catalog, operation};
use keelson_stdx::clock::Clock;
use keelson_store::{Expect, Form, Key, Layout, MemoryStore, Store, Write};

struct Shared {
    store: Arc<MemoryStore>,
    catalog: Catalog,
}

/// A catalog on a store that has these values already.
async fn on(values: &[(&str, &str)]) -> Shared {
    let clock = Clock::real();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    for (key, value) in values {
        let write = Write::put(value.as_bytes().to_vec());
        store.commit(&Key::from(*key), Expect::Absent, write).await.expect("it works");
    }
    let ground = Ground::new(store.clone(), Layout::default().with_form(Form::Protobuf), clock);
    let settings = Settings { ground: Some(ground.clone()), ..Settings::default() };
    Shared { store, catalog: catalog::load(groups(&settings), &ground).await.expect("it works") }
}

impl Shared {
    async fn create(&self, group: &str, plural: &str, text: &str) {
        let live = self.catalog.live(group, plural).expect("it works");
        let mut object =
            Object::from_value(json::read(text.as_bytes()).expect("it works").value).expect("it works");
        live.resource.strategy.default(&mut object);
        let context = Context::new(User::new("jane", &[]), Clock::real());
        operation::create(live, &context, &object.meta.namespace.clone(), object).await.expect("it works");
    }

    async fn read(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> Option<Object> {
        let live = self.catalog.live(group, plural).expect("it works");
        let snapshot = live.cache().expect("it works").fresh().await.expect("it works");
        snapshot.get(namespace, name).map(|frozen| live.thaw(frozen).expect("it works"))
    }
}

#[tokio::test]
async fn built_in_kinds_are_enveloped_without_a_resource_version() {
    let shared = on(&[]).await;
    let text =
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b"},"data":{"c":"d"}}"#;
    shared.create("", "configmaps", text).await;
    let entry = shared.store.get(&Key::from("/registry/configmaps/b/a")).await.unwrap().unwrap();
    assert!(entry.value.starts_with(&PREFIX));
    let stored = Object::from_value(protobuf::decode(&entry.value).unwrap()).unwrap();
    assert_eq!((stored.api_version.as_str(), stored.kind.as_str()), ("v1", "ConfigMap"));
    assert_eq!(stored.meta.resource_version, "");
    let read = shared.read(("", "configmaps"), "b", "a").await.unwrap();
    assert_eq!((read.fields, read.meta.uid), (stored.fields, stored.meta.uid));
}

#[tokio::test]
async fn services_of_groups_are_json() {
    let shared = on(&[]).await;
    let text = r#"{"kind":"APIService","apiVersion":"apiregistration.k8s.io/v1","metadata":{"name":"v1.a.b"},
        "spec":{"group":"a.b","version":"v1","groupPriorityMinimum":100,"versionPriority":100,
        "service":{"namespace":"c","name":"d"},"insecureSkipTLSVerify":true}}"#;
    shared.create("apiregistration.k8s.io", "apiservices", text).await;
    let key = Key::from("/registry/apiregistration.k8s.io/apiservices/v1.a.b");
    let entry = shared.store.get(&key).await.unwrap().unwrap();
    assert!(entry.value.starts_with(b"{\"kind\":\"APIService\""));
}

#[tokio::test]
async fn every_form_and_version_is_read() {
    let shared = on(&[
        (
            "/registry/configmaps/b/json",
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"json\",\"namespace\":\"b\"}}\n",
        ),
        (
            "/registry/horizontalpodautoscalers/b/old",
            r#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1",
               "metadata":{"name":"old","namespace":"b"},
               "spec":{"scaleTargetRef":{"kind":"Deployment","name":"a"},"maxReplicas":3,
               "targetCPUUtilizationPercentage":50}}"#,
        ),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/as.b.c",
            r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",
               "metadata":{"name":"as.b.c"},
               "spec":{"group":"b.c","version":"v1","names":{"plural":"as","kind":"A"},"scope":"Cluster",
               "versions":[{"name":"v1","served":true,"storage":true}],"preserveUnknownFields":false,
               "validation":{"openAPIV3Schema":{"type":"object"}}}}"#,
        ),
        (
            "/registry/configmaps/b/pod",
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod","namespace":"b"}}"#,
        ),
        ("/registry/configmaps/b/noise", "k8s\0noise"),
    ])
    .await;
    assert!(shared.read(("", "configmaps"), "b", "json").await.is_some());
    let scaler = shared.read(("autoscaling", "horizontalpodautoscalers"), "b", "old").await.unwrap();
    assert_eq!(scaler.fields.at("spec.metrics").and_then(|it| it.as_list()).map(<[_]>::len), Some(1));
    let definitions = ("apiextensions.k8s.io", "customresourcedefinitions");
    let definition = shared.read(definitions, "", "as.b.c").await.unwrap();
    let version = definition.fields.map("spec").unwrap().maps("versions").next().unwrap();
    assert!(version.contains("schema"), "{version:?}");
    for foreign in ["pod", "noise"] {
        assert!(shared.read(("", "configmaps"), "b", foreign).await.is_none());
    }
}
