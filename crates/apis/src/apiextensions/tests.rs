//! Definitions in the engine: how they are deleted, and how they lie in the store.

use std::sync::Arc;

use keelson_object::{Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::operation;
use keelson_registry::options::{DeleteOptions, Freshness, ListOptions, Part, Preconditions, Propagation};
use keelson_registry::{Context, DryRun, Error, Live, Place};
use keelson_store::{Expect, Key, Write};

use crate::shared::testing::{context, ground, text, tree};

const NAME: &str = "changes.example.com";
const KEY: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/changes.example.com";

async fn served(ground: &Ground) -> Arc<Live> {
    let group = super::group();
    Live::start(group.resources[0].clone(), ground).await.expect("the store loads")
}

/// A definition with one version, as a client sends it.
fn definition(finalizers: &str) -> Object {
    let version = r#"{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]}"#;
    let text = format!(
        r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {{"name": "{NAME}", "finalizers": {finalizers}}},
            "spec": {{"group": "example.com", "scope": "Cluster", "versions": [{version}], "conversion": {{"strategy": "None"}},
                "names": {{"plural": "changes", "singular": "change", "kind": "Change", "listKind": "ChangeList"}}}}}}"#
    );
    Object::from_value(tree(&text)).expect("an object")
}

async fn create(live: &Live, finalizers: &str) -> Object {
    let made = operation::create(live, &context(), "", definition(finalizers)).await.expect("it is created");
    live.thaw(&made).expect("an object")
}

async fn get(live: &Live) -> Option<Object> {
    let found = operation::get(live, &Place::new("", NAME), Freshness::Latest).await.ok()?;
    Some(live.thaw(&found).expect("an object"))
}

async fn delete(live: &Live, context: &Context, options: &DeleteOptions) -> Result<(Object, bool), Error> {
    let deleted = operation::delete(live, context, &Place::new("", NAME), options).await?;
    Ok((live.thaw(&deleted.object).expect("an object"), deleted.gone))
}

fn conditions(object: &Object) -> String {
    text(object.fields.at("status.conditions").unwrap_or(&Value::Null))
}

const PENDING: &str = r#"[{"type":"Terminating","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"InstanceDeletionPending","message":"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"}]"#;

#[tokio::test]
async fn the_first_delete_marks_a_definition_in_one_write() {
    let live = served(&ground()).await;
    let made = create(&live, r#"["example.com/own"]"#).await;
    let foreground = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
    let (marked, is_gone) = delete(&live, &context(), &foreground).await.unwrap();
    assert!(!is_gone);
    assert!(marked.meta.deletion_timestamp.is_some());
    assert_eq!(marked.meta.finalizers, ["example.com/own", "customresourcecleanup.apiextensions.k8s.io"]);
    assert_eq!(marked.meta.deletion_grace_period_seconds, None);
    assert_eq!(marked.meta.generation, made.meta.generation);
    assert_eq!(conditions(&marked), PENDING);
    assert_eq!(get(&live).await, Some(marked));
}

#[tokio::test]
async fn a_second_delete_waits_for_the_finalizers() {
    let live = served(&ground()).await;
    create(&live, "[]").await;
    let options = DeleteOptions::default();
    let (marked, _) = delete(&live, &context(), &options).await.unwrap();
    let (again, is_gone) = delete(&live, &context(), &options).await.unwrap();
    assert!(!is_gone);
    assert_eq!(again.meta.finalizers, marked.meta.finalizers);
    assert_eq!(again.meta.deletion_timestamp, marked.meta.deletion_timestamp);
    assert_eq!(again.meta.deletion_grace_period_seconds, Some(0));
    assert_eq!(conditions(&again), PENDING);
}

#[tokio::test]
async fn a_dry_run_deletes_nothing() {
    let live = served(&ground()).await;
    let made = create(&live, "[]").await;
    let mut dry = context();
    dry.dry_run = DryRun::All;
    let (shown, is_gone) = delete(&live, &dry, &DeleteOptions::default()).await.unwrap();
    assert!(!is_gone);
    assert_eq!(conditions(&shown), PENDING);
    assert_eq!(get(&live).await, Some(made));
}

#[tokio::test]
async fn preconditions_fail_in_the_words_of_the_store() {
    let live = served(&ground()).await;
    let made = create(&live, "[]").await;
    let check = async |preconditions: Preconditions, expected: &str| {
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        match delete(&live, &context(), &options).await {
            Err(Error::Conflict { resource, name, reason }) => {
                assert_eq!((resource.resource.as_str(), name.as_str()), ("customresourcedefinitions", NAME));
                assert_eq!(reason, expected);
            }
            other => panic!("{expected}: {:?}", other.map(|(_, is_gone)| is_gone)),
        }
    };
    let (uid, version) = (&made.meta.uid, &made.meta.resource_version);
    check(
        Preconditions { uid: Some("u".into()), resource_version: Some("7".into()) },
        &format!("Precondition failed: UID in precondition: u, UID in object meta: {uid}"),
    )
    .await;
    check(
        Preconditions { uid: Some(uid.clone()), resource_version: Some("7".into()) },
        &format!(
            "Precondition failed: ResourceVersion in precondition: 7, ResourceVersion in object meta: {version}"
        ),
    )
    .await;
    let preconditions = Preconditions { uid: Some(uid.clone()), resource_version: Some(version.clone()) };
    let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
    assert!(delete(&live, &context(), &options).await.is_ok());
}

#[tokio::test]
async fn the_deletion_of_a_collection_marks_definitions_too() {
    let live = served(&ground()).await;
    create(&live, "[]").await;
    let (list, how) = (ListOptions::default(), DeleteOptions::default());
    operation::delete_collection(&live, &context(), "", &list, &how).await.unwrap();
    let marked = get(&live).await.expect("it waits for its objects");
    assert_eq!(marked.meta.finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
    assert_eq!(conditions(&marked), PENDING);
}

#[tokio::test]
async fn metadata_changes_through_the_status_and_the_last_finalizer_ends_the_definition() {
    let live = served(&ground()).await;
    create(&live, "[]").await;
    delete(&live, &context(), &DeleteOptions::default()).await.unwrap();
    let place = Place::new("", NAME);
    let mut object = get(&live).await.unwrap();
    object.meta.labels.set("a", "b");
    object.fields.map_mut("spec").set("scope", "Namespaced");
    let updated = operation::update(&live, &context(), &place, Part::Status, object).await.unwrap();
    let mut object = live.thaw(&updated.object).unwrap();
    assert_eq!(object.meta.labels.get("a"), Some("b"));
    assert_eq!(object.fields.at("spec.scope"), Some(&Value::from("Cluster")));
    object.meta.finalizers.clear();
    operation::update(&live, &context(), &place, Part::Status, object).await.unwrap();
    assert_eq!(get(&live).await, None);
}

async fn stored(ground: &Ground) -> (String, keelson_store::Revision) {
    let entry = ground.store.get(&Key::from(KEY.to_owned())).await.unwrap().expect("it is stored");
    (String::from_utf8(entry.value.to_vec()).unwrap(), entry.modified)
}

#[tokio::test]
async fn definitions_are_stored_as_v1beta1_and_read_back() {
    let ground = ground();
    let live = served(&ground).await;
    let made = create(&live, "[]").await;
    assert_eq!(made.api_version, "apiextensions.k8s.io/v1");
    let (value, _) = stored(&ground).await;
    let head =
        r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"#;
    assert!(value.starts_with(head), "{value}");
    let spec = r#""spec":{"group":"example.com","version":"v1","names":{"plural":"changes","singular":"change","kind":"Change","listKind":"ChangeList"},"scope":"Cluster","validation":{"openAPIV3Schema":{"type":"object"}},"versions":[{"name":"v1","served":true,"storage":true}],"additionalPrinterColumns":[{"name":"A","type":"string","JSONPath":".spec.a"}],"conversion":{"strategy":"None"},"preserveUnknownFields":false}"#;
    assert!(value.contains(spec), "{value}");
    assert_eq!(get(&live).await.as_ref(), Some(&made));
    // Another server reads it from the store.
    let other = served(&ground).await;
    assert_eq!(get(&other).await, Some(made));
}

#[tokio::test]
async fn definitions_that_were_stored_as_v1_are_read_and_written_as_v1beta1() {
    let ground = ground();
    let live = served(&ground).await;
    let made = create(&live, "[]").await;
    let (_, revision) = stored(&ground).await;
    let mut old = made.clone();
    old.meta.resource_version = Default::default();
    let value = text(&old.into_value());
    let write = Write::Put { value: value.into(), lives: None };
    ground.store.commit(&Key::from(KEY.to_owned()), Expect::Unchanged(revision), write).await.unwrap();
    let live = served(&ground).await;
    let mut object = get(&live).await.expect("v1 is read");
    assert_eq!(object.fields, made.fields);
    object.meta.labels.set("a", "b");
    operation::update(&live, &context(), &Place::new("", NAME), Part::Main, object).await.unwrap();
    let (value, _) = stored(&ground).await;
    assert!(value.contains(r#""apiVersion":"apiextensions.k8s.io/v1beta1","metadata":"#), "{value}");
}
