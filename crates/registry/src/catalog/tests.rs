//! Tests of the catalog: what a change adds, hides and leaves alone.

use std::sync::Arc;

use super::{Catalog, CatalogHandle, Origin, ServedGroup};
use crate::group::Group;
use crate::live::Live;
use crate::resource::{Resource, Version};

/// A resource of which nothing is stored: `things.example.com v1 v1beta1`.
fn live(text: &str) -> Arc<Live> {
    let mut words = text.split(' ');
    let (plural, group) = words.next().and_then(|it| it.split_once('.')).expect("plural.group");
    let mut versions = words.map(Version::served);
    let first = Version { stored: true, ..versions.next().expect("a version") };
    let resource = versions.fold(Resource::cluster("Thing", plural).version(first), Resource::version);
    Live::without_objects(Group::new(group).serve(resource).resources.remove(0))
}

/// `apps` with deployments in v1, and the core group.
fn builtin() -> Catalog {
    let group = |name: &str, resource: &str| ServedGroup::new(name, vec!["v1".into()], vec![live(resource)]);
    Catalog::new(vec![group("", "pods. v1"), group("apps", "deployments.apps v1")])
}

/// `example.com v2 v1: things v1, zebras v2 v1` for every group.
fn text(catalog: &Catalog) -> Vec<String> {
    let text = |group: &Arc<ServedGroup>| {
        let shown = group.versions.iter().map(|version| {
            let plurals: Vec<&str> = group.served(version).iter().map(|it| &*it.resource.plural).collect();
            format!("{version}={}", plurals.join(","))
        });
        format!("{} {}", group.name, shown.collect::<Vec<_>>().join(" "))
    };
    catalog.groups().iter().map(text).collect()
}

/// Adds the resources in turn and checks what is served.
#[track_caller]
fn check(resources: &[&str], expected: &[&str]) -> Catalog {
    let catalog = resources.iter().fold(builtin(), |catalog, it| catalog.with_resource(&[live(it)]));
    let expected: Vec<&str> = [" v1=pods"].into_iter().chain(expected.iter().copied()).collect();
    assert_eq!(text(&catalog), expected);
    for group in catalog.groups() {
        for version in &group.versions {
            for shown in group.served(version) {
                let found = catalog.find(&group.name, version, &shown.resource.plural).expect("a route");
                assert!(std::ptr::eq(&raw const found.live.resource, shown.resource));
            }
        }
    }
    catalog
}

#[test]
fn every_catalog_is_a_new_generation() {
    let handle = CatalogHandle::new(Catalog::default());
    let before = handle.load();
    handle.swap(Catalog::default());
    assert_eq!((before.generation(), handle.load().generation()), (0, 1));
}

#[test]
fn custom_groups_follow_the_built_in_ones_by_name() {
    check(
        &["things.zoo.example.com v1", "things.a.example.com v1", "boxes.a.example.com v1"],
        &["apps v1=deployments", "a.example.com v1=boxes,things", "zoo.example.com v1=things"],
    );
}

#[test]
fn the_newest_stable_version_is_preferred() {
    check(
        &["things.a.example.com v1beta2 v2alpha1 v1", "boxes.a.example.com v2 foo v1beta10"],
        &[
            "apps v1=deployments",
            "a.example.com v2=boxes v1=things v1beta10=boxes v1beta2=things v2alpha1=things foo=boxes",
        ],
    );
}

#[test]
fn a_resource_replaces_the_one_with_its_name() {
    let catalog = check(
        &["things.a.example.com v1 v2", "things.a.example.com v3"],
        &["apps v1=deployments", "a.example.com v3=things"],
    );
    assert!(catalog.find("a.example.com", "v1", "things").is_none());
}

#[test]
fn what_is_built_in_wins_its_group_version() {
    let catalog = check(&["widgets.apps v1"], &["apps v1=deployments"]);
    assert!(catalog.find("apps", "v1", "widgets").is_none());
    assert!(catalog.live("apps", "widgets").is_none());
}

#[test]
fn another_version_of_a_built_in_group_is_served_and_preferred() {
    let catalog = check(
        &["deployments.apps v2 v1", "widgets.apps v1 v2"],
        &["apps v2=deployments,widgets v1=deployments"],
    );
    let group = catalog.group("apps").expect("the group");
    assert_eq!((group.origin("v1"), group.origin("v2")), (Origin::Builtin, Origin::Custom));
    let found = |version: &str| catalog.find("apps", version, "deployments").expect("a route").live;
    assert!(Arc::ptr_eq(&found("v1"), catalog.live("apps", "deployments").expect("the built-in one")));
    assert!(!Arc::ptr_eq(&found("v1"), &found("v2")));
}

#[test]
fn a_resource_that_serves_nothing_is_gone() {
    let mut hidden = Version::stored("v1");
    hidden.served = false;
    let hidden = Resource::cluster("Thing", "things").version(hidden);
    let hidden = Group::new("a.example.com").serve(hidden).resources.remove(0);
    let catalog = builtin().with_resource(&[live("things.a.example.com v1")]);
    assert!(catalog.group("a.example.com").is_some());
    let catalog = catalog.with_resource(&[Live::without_objects(hidden)]);
    assert!(catalog.group("a.example.com").is_none());
    assert_eq!(text(&catalog), text(&builtin()));
}

#[test]
fn a_group_goes_with_its_last_resource_unless_it_is_built_in() {
    let catalog = check(
        &["things.a.example.com v1", "boxes.a.example.com v1", "widgets.apps v2"],
        &["apps v2=widgets v1=deployments", "a.example.com v1=boxes,things"],
    );
    let catalog = catalog.without_resource("a.example.com", "boxes").without_resource("apps", "deployments");
    assert_eq!(text(&catalog), [" v1=pods", "apps v2=widgets v1=deployments", "a.example.com v1=things"]);
    let catalog = catalog.without_resource("a.example.com", "things").without_resource("apps", "widgets");
    assert_eq!(text(&catalog), [" v1=pods", "apps v1=deployments"]);
    let catalog = catalog.without_resource("a.example.com", "things").without_resource("nowhere", "things");
    assert_eq!(text(&catalog), text(&builtin()));
}

#[test]
fn a_change_leaves_the_other_groups_as_they_are() {
    let before =
        builtin().with_resource(&[live("things.a.example.com v1")]).with_resource(&[live("widgets.apps v2")]);
    let after = before.with_resource(&[live("gadgets.apps v2")]);
    let stamp = |catalog: &Catalog, group: &str| catalog.group(group).expect("the group").stamp();
    for group in ["", "a.example.com"] {
        assert_eq!(stamp(&before, group), stamp(&after, group), "{group}");
    }
    assert_ne!(stamp(&before, "apps"), stamp(&after, "apps"));
    let of = |catalog: &Catalog, version: &str| catalog.group("apps").expect("apps").stamp_of(version);
    assert_eq!(of(&before, "v1"), of(&after, "v1"));
    assert_ne!(of(&before, "v2"), of(&after, "v2"));
}

#[test]
fn publishers_do_not_overwrite_each_other() {
    let handle = CatalogHandle::new(builtin());
    std::thread::scope(|scope| {
        for publisher in 0..4 {
            let handle = &handle;
            scope.spawn(move || {
                for number in 0..50 {
                    let added = live(&format!("things.g{publisher}-{number}.example.com v1"));
                    handle.update(|catalog| catalog.with_resource(&[added]));
                }
            });
        }
    });
    let catalog = handle.load();
    assert_eq!((catalog.groups().len(), catalog.generation()), (202, 200));
    let names: Vec<&str> = catalog.groups().iter().skip(2).map(|it| it.name.as_str()).collect();
    assert!(names.is_sorted());
}
