//! Tests of discovery of custom resources: both forms agree with routing, and a change makes one fragment
//! again.

use std::sync::Arc;

use keelson_registry::catalog::ServedGroup;
use keelson_registry::{Catalog, Group, Live, Resource, Scale, Verb, Version};
use serde_json::{Value, json};

use super::aggregated::Document;
use super::fragment::Fragments;
use super::legacy;
use crate::openapi::Offered;

const CUSTOM_VERBS: [Verb; 8] = [
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

fn live(group: &str, resource: Resource) -> Arc<Live> {
    Live::without_objects(Group::new(group).serve(resource).resources.remove(0))
}

/// A custom resource with these versions, the first of which is stored.
fn custom(group: &str, plural: &str, versions: &[&str]) -> Arc<Live> {
    let mut resource = Resource::namespaced("Thing", plural).verbs(&CUSTOM_VERBS);
    for (at, version) in versions.iter().enumerate() {
        resource = resource.version(Version { stored: at == 0, ..Version::served(version) });
    }
    live(group, resource)
}

/// `apps/v1` with deployments.
fn builtin() -> Catalog {
    let deployments = Resource::namespaced("Deployment", "deployments")
        .version(Version::stored("v1"))
        .with_status()
        .with_scale(Scale::WORKLOAD);
    Catalog::new(vec![ServedGroup::new("apps", vec!["v1".into()], vec![live("apps", deployments)])])
}

fn aggregated(fragments: &Fragments, catalog: &Catalog) -> Value {
    serde_json::from_slice(&Document::named(fragments, catalog).json).expect("JSON")
}

fn list(catalog: &Catalog, group: &str, version: &str) -> Value {
    let group = catalog.group(group).expect("the group");
    serde_json::from_str(&legacy::resource_list(group, version, Offered::Yes)).expect("JSON")
}

/// The names of the groups in the legacy list.
fn legacy_groups(catalog: &Catalog) -> Vec<String> {
    let text = legacy::group_list(&Fragments::default(), catalog);
    let list: Value = serde_json::from_str(&text).expect("JSON");
    let groups = list["groups"].as_array().expect("groups").iter();
    groups.map(|it| it["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_custom_resource_is_shown_as_its_definition_has_it() {
    let resource = Resource::namespaced("CronTab", "crontabs")
        .short_name("ct")
        .category("all")
        .verbs(&CUSTOM_VERBS)
        .version(Version::stored("v1"))
        .with_status()
        .with_scale(Scale::WORKLOAD);
    let catalog = builtin().with_resource(&[live("stable.example.com", resource)]);
    let verbs = json!(["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]);
    let below = json!(["get", "patch", "update"]);
    let kind = json!({"group": "stable.example.com", "version": "v1", "kind": "CronTab"});
    let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    let shown = aggregated(&Fragments::default(), &catalog);
    assert_eq!(
        shown["items"][1],
        json!({"metadata": {"name": "stable.example.com"}, "versions": [{"version": "v1", "freshness": "Current",
            "resources": [{"resource": "crontabs", "responseKind": kind, "scope": "Namespaced",
                "singularResource": "crontab", "verbs": verbs, "shortNames": ["ct"], "categories": ["all"],
                "subresources": [
                    {"subresource": "status", "responseKind": kind, "verbs": below},
                    {"subresource": "scale", "responseKind": scale, "verbs": below}]}]}]})
    );
    let shown = list(&catalog, "stable.example.com", "v1");
    assert_eq!(shown["resources"][0]["verbs"], verbs);
    let names: Vec<&Value> =
        shown["resources"].as_array().expect("a list").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["crontabs", "crontabs/status", "crontabs/scale"]);
    assert_eq!(shown["resources"][2]["group"], "autoscaling");
    let builtin = list(&catalog, "apps", "v1");
    assert_eq!(builtin["resources"][0]["verbs"][0], "create");
    assert_eq!(builtin["resources"][1]["name"], "deployments/scale");
}

#[test]
fn the_stored_version_of_a_custom_resource_is_told_if_it_is_served() {
    let check = |is_served: bool| {
        let resource = Resource::namespaced("Thing", "things").version(Version::served("v2"));
        let resource = Resource { shows_storage_version: is_served, ..resource };
        let catalog = builtin().with_resource(&[live("example.com", resource)]);
        let entry = &list(&catalog, "example.com", "v2")["resources"][0];
        assert_eq!(entry["storageVersionHash"].is_string(), is_served);
    };
    check(true);
    check(false);
}

/// The legacy list is sorted by `v1.example.com`, the aggregated document by `example.com`.
#[test]
fn each_form_has_its_own_order_of_groups() {
    let catalog = builtin()
        .with_resource(&[custom("a.example.com", "things", &["v2"])])
        .with_resource(&[custom("b.example.com", "things", &["v1alpha1"])])
        .with_resource(&[custom("c.example.com", "things", &["v3", "v1"])]);
    assert_eq!(legacy_groups(&catalog), ["apps", "c.example.com", "b.example.com", "a.example.com"]);
    let shown = aggregated(&Fragments::default(), &catalog);
    let names: Vec<&Value> =
        shown["items"].as_array().expect("items").iter().map(|it| &it["metadata"]["name"]).collect();
    assert_eq!(names, ["apps", "a.example.com", "b.example.com", "c.example.com"]);
}

#[test]
fn both_forms_show_what_is_routed() {
    let catalog = builtin()
        .with_resource(&[custom("apps", "widgets", &["v1", "v2"])])
        .with_resource(&[custom("a.example.com", "things", &["v1beta1", "v1"])])
        .with_resource(&[custom("a.example.com", "boxes", &["v1"])]);
    let shown = aggregated(&Fragments::default(), &catalog);
    let mut routes = 0;
    for item in shown["items"].as_array().expect("items") {
        let group = item["metadata"]["name"].as_str().expect("a name");
        for version in item["versions"].as_array().expect("versions") {
            let name = version["version"].as_str().expect("a version");
            let plurals: Vec<&str> = version["resources"]
                .as_array()
                .expect("resources")
                .iter()
                .map(|it| it["resource"].as_str().expect("a plural"))
                .collect();
            let legacy = list(&catalog, group, name);
            let legacy = legacy["resources"].as_array().expect("resources").iter();
            let legacy: Vec<&str> = legacy
                .map(|it| it["name"].as_str().expect("a name"))
                .filter(|it| !it.contains('/'))
                .collect();
            assert_eq!(plurals, legacy, "{group}/{name}");
            assert!(plurals.iter().all(|it| catalog.find(group, name, it).is_some()), "{group}/{name}");
            routes += plurals.len();
        }
    }
    assert_eq!(routes, 5);
    assert!(catalog.find("apps", "v1", "widgets").is_none());
}

#[test]
fn a_change_makes_one_fragment_again() {
    let fragments = Fragments::default();
    let before = builtin().with_resource(&[custom("a.example.com", "things", &["v1"])]);
    let before = before.with_resource(&[custom("b.example.com", "things", &["v1"])]);
    let kept = |catalog: &Catalog, group: &str| fragments.of(catalog.group(group).expect("the group"));
    let names = ["apps", "a.example.com", "b.example.com"];
    let old = names.map(|name| kept(&before, name));
    let (tag, first) = (Document::named(&fragments, &before).tag, aggregated(&fragments, &before));
    let after = before.with_resource(&[custom("b.example.com", "boxes", &["v1"])]);
    assert_ne!(Document::named(&fragments, &after).tag, tag);
    let is_same: Vec<bool> =
        names.iter().zip(&old).map(|(it, old)| Arc::ptr_eq(&kept(&after, it), old)).collect();
    assert_eq!(is_same, [true, true, false]);
    // The same content has the same tag, whatever happened in between.
    let back = after.without_resource("b.example.com", "boxes");
    assert_eq!(Document::named(&fragments, &back).tag, tag);
    assert_eq!(aggregated(&fragments, &back), first);
}

#[test]
fn fragments_of_groups_that_are_gone_are_forgotten() {
    let fragments = Fragments::default();
    let catalog = builtin().with_resource(&[custom("a.example.com", "things", &["v1"])]);
    fragments.all(&catalog);
    assert_eq!(fragments.len(), 2);
    fragments.all(&catalog.without_resource("a.example.com", "things"));
    assert_eq!(fragments.len(), 1);
}
