//! API group as it is served: its versions, and which resources each version shows.
//!
//! A group may have built-in and custom resources. A version that a built-in resource serves belongs to the built-in
//! resources: custom ones are not shown in it.
//!
//! ```text
//! apps   built in:  deployments v1          versions: v2, v1
//!        custom:    widgets     v1, v2      v1 shows deployments, v2 shows widgets
//! ```

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keelson_object::SmolStr;

use crate::group;
use crate::live::Live;
use crate::resource::{Resource, Version};

/// A group as it is served.
#[derive(Clone)]
pub struct ServedGroup {
    /// `apps`; empty for the core group.
    pub name: SmolStr,
    /// The served versions, the preferred one first.
    pub versions: Vec<SmolStr>,
    /// Its resources: the built-in ones in the order that they were given, then the custom ones by plural.
    pub resources: Vec<Arc<Live>>,
    builtin: Builtin,
    stamp: u64,
}

/// The built-in part of a group.
#[derive(Clone)]
struct Builtin {
    versions: Vec<SmolStr>,
    /// How many of the resources are built in.
    count: usize,
    stamp: u64,
}

/// The origin of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The server was started with it.
    Builtin,
    /// It was added while the server ran.
    Custom,
}

/// A resource as one version shows it.
#[derive(Clone, Copy)]
pub struct ServedResource<'g> {
    /// The resource.
    pub resource: &'g Resource,
    /// The version.
    pub version: &'g Version,
    /// The origin of the resource.
    pub origin: Origin,
}

/// The stamp that the next group gets.
static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

fn next_stamp() -> u64 {
    NEXT_STAMP.fetch_add(1, Ordering::Relaxed)
}

impl ServedGroup {
    /// A group of built-in resources that serves `versions`, the preferred one first.
    pub fn new(name: &str, versions: Vec<SmolStr>, resources: Vec<Arc<Live>>) -> ServedGroup {
        let stamp = next_stamp();
        let builtin = Builtin { versions: versions.clone(), count: resources.len(), stamp };
        ServedGroup { name: name.into(), versions, resources, builtin, stamp }
    }

    /// Whether the group exists without custom resources.
    pub fn is_builtin(&self) -> bool {
        !self.builtin.versions.is_empty()
    }

    /// The origin of the resources that `version` shows.
    pub fn origin(&self, version: &str) -> Origin {
        match self.builtin.versions.iter().any(|it| it == version) {
            true => Origin::Builtin,
            false => Origin::Custom,
        }
    }

    /// A number that no other state of a group has: data that was derived from the group with this stamp is
    /// current.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The same for data that is derived from one version. Custom resources do not change a built-in version.
    pub fn stamp_of(&self, version: &str) -> u64 {
        match self.origin(version) {
            Origin::Builtin => self.builtin.stamp,
            Origin::Custom => self.stamp,
        }
    }

    /// The resources that `version` shows, by plural.
    pub fn served(&self, version: &str) -> Vec<ServedResource<'_>> {
        let origin = self.origin(version);
        let mut found: Vec<ServedResource<'_>> = self
            .of(origin)
            .iter()
            .filter_map(|live| {
                let resource = &live.resource;
                Some(ServedResource { resource, version: resource.served_version(version)?, origin })
            })
            .collect();
        if origin == Origin::Builtin {
            found.sort_by(|a, b| a.resource.plural.cmp(&b.resource.plural));
        }
        found
    }

    /// The resource that `version` shows at `plural`.
    pub(super) fn find(&self, version: &str, plural: &str) -> Option<&Arc<Live>> {
        let serves = |it: &&Arc<Live>| it.resource.served_version(version).is_some();
        match self.origin(version) {
            // A plural may occur twice, in different versions.
            Origin::Builtin => {
                self.of(Origin::Builtin).iter().filter(|it| it.resource.plural == plural).find(serves)
            }
            Origin::Custom => self.custom(plural).iter().find(serves),
        }
    }

    /// The resource called `plural`.
    pub(super) fn live(&self, plural: &str) -> Option<&Arc<Live>> {
        let builtin = self.of(Origin::Builtin).iter().find(|it| it.resource.plural == plural);
        builtin.or_else(|| self.custom(plural).first())
    }

    /// The custom resource called `plural`: one resource for each served version. The first one represents
    /// the objects.
    pub(super) fn custom(&self, plural: &str) -> &[Arc<Live>] {
        &self.resources[self.range(plural)]
    }

    fn of(&self, origin: Origin) -> &[Arc<Live>] {
        let (builtin, custom) = self.resources.split_at(self.builtin.count);
        match origin {
            Origin::Builtin => builtin,
            Origin::Custom => custom,
        }
    }

    /// The position of a custom resource; an empty range at the position where it would be inserted.
    fn range(&self, plural: &str) -> Range<usize> {
        let (count, custom) = (self.builtin.count, self.of(Origin::Custom));
        let start = custom.partition_point(|it| it.resource.plural.as_str() < plural);
        let end = custom.partition_point(|it| it.resource.plural.as_str() <= plural);
        count + start..count + end
    }

    /// The same group with a custom resource, in the versions that show it.
    pub(super) fn with(&self, lives: &[Arc<Live>]) -> ServedGroup {
        let Some(first) = lives.first() else { return self.clone() };
        let mut next = self.clone();
        let is_shown = |live: &&Arc<Live>| {
            live.resource.served_versions().any(|it| self.origin(&it.name) == Origin::Custom)
        };
        let shown: Vec<Arc<Live>> = lives.iter().filter(is_shown).cloned().collect();
        next.resources.splice(self.range(&first.resource.plural), shown);
        next.changed()
    }

    /// The same group without a custom resource.
    pub(super) fn without(&self, plural: &str) -> ServedGroup {
        let mut next = self.clone();
        next.resources.drain(self.range(plural));
        next.changed()
    }

    fn changed(mut self) -> ServedGroup {
        self.versions = self.all_versions();
        self.stamp = next_stamp();
        self
    }

    /// Versions of custom resources first: their priority is 100, those of built-in versions are 1 to 21.
    ///
    /// Upstream: kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go, ByVersionPriority (v1.36.4).
    fn all_versions(&self) -> Vec<SmolStr> {
        let mut versions: Vec<SmolStr> = Vec::new();
        for version in self.of(Origin::Custom).iter().flat_map(|it| it.resource.served_versions()) {
            if !versions.contains(&version.name) && self.origin(&version.name) == Origin::Custom {
                versions.push(version.name.clone());
            }
        }
        versions.sort_by(|a, b| group::by_preference(a, b));
        versions.extend(self.builtin.versions.iter().cloned());
        versions
    }
}
