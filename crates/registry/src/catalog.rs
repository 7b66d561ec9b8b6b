//! Catalog: everything served right now. An immutable value behind an atomic swap, so that a request sees one
//! catalog from beginning to end, and discovery cannot disagree with routing.
//!
//! A changed catalog shares everything with the one before but the group that changed, so that the cost of a change
//! does not depend on how much is served.

mod served_group;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::future::try_join_all;
use keelson_object::{Frozen, GroupResource, SmolStr};
use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::group::Group;
use crate::live::{Ground, Live};
use crate::resource::{Resource, Version};

pub use served_group::{Origin, ServedGroup, ServedResource};

/// Everything served. A copy is cheap.
#[derive(Clone, Default)]
pub struct Catalog {
    /// Groups with built-in resources in the order that they were given, then the others by name.
    groups: imbl::Vector<Arc<ServedGroup>>,
    by_name: imbl::HashMap<SmolStr, Arc<ServedGroup>>,
    /// The number of groups with built-in resources.
    builtin: usize,
    /// All resources that show the same objects, if there are several, by the one that stores them.
    kin: Arc<HashMap<GroupResource, Vec<Arc<Live>>>>,
    generation: u64,
}

/// A resource and the version in which it was asked for.
#[derive(Clone)]
pub struct Found {
    /// The resource.
    pub live: Arc<Live>,
    version: usize,
}

impl Found {
    /// The version in which it was asked for.
    pub fn version(&self) -> &Version {
        &self.live.resource.versions[self.version]
    }

    /// A stored object as this version shows it.
    pub fn show(&self, frozen: &Arc<Frozen>) -> Result<Arc<Frozen>> {
        self.live.show(self.version(), frozen)
    }
}

impl Catalog {
    /// A catalog of these groups, all of which are built in; the order is that of discovery documents.
    pub fn new(groups: Vec<ServedGroup>) -> Catalog {
        let kin = Arc::new(kin(&groups));
        let groups: imbl::Vector<Arc<ServedGroup>> = groups.into_iter().map(Arc::new).collect();
        let by_name = groups.iter().map(|group| (group.name.clone(), group.clone())).collect();
        Catalog { builtin: groups.len(), groups, by_name, kin, generation: 0 }
    }

    /// The same catalog with one more custom resource, which replaces the custom resource with its group and
    /// plural. It consists of one resource for each served version; the first one represents the objects.
    ///
    /// Built-in resources take precedence: a version that the group serves with built-in resources does not
    /// show the new one, and without another served version it is not served at all.
    #[must_use]
    pub fn with_resource(&self, lives: &[Arc<Live>]) -> Catalog {
        let Some(name) = lives.first().map(|it| &it.resource.group) else { return self.clone() };
        let group = match self.by_name.get(name) {
            Some(group) => group.with(lives),
            None => ServedGroup::new(name, Vec::new(), Vec::new()).with(lives),
        };
        self.with_group(group)
    }

    /// The same catalog without a custom resource. Its group is removed with the last one, unless the group
    /// is built in.
    #[must_use]
    pub fn without_resource(&self, group: &str, plural: &str) -> Catalog {
        match self.by_name.get(group) {
            Some(group) => self.with_group(group.without(plural)),
            None => self.clone(),
        }
    }

    fn with_group(&self, group: ServedGroup) -> Catalog {
        let mut next = self.clone();
        let position = self.position(&group);
        if group.resources.is_empty() && position.is_ok_and(|it| it >= self.builtin) {
            next.by_name.remove(&group.name);
            if let Ok(at) = position {
                next.groups.remove(at);
            }
            return next;
        }
        if group.resources.is_empty() && position.is_err() {
            return next;
        }
        let group = Arc::new(group);
        next.by_name.insert(group.name.clone(), group.clone());
        match position {
            Ok(at) => {
                next.groups.set(at, group);
            }
            Err(at) => next.groups.insert(at, group),
        }
        next
    }

    /// The position of a group, or the position at which it would be inserted.
    fn position(&self, group: &ServedGroup) -> std::result::Result<usize, usize> {
        if group.is_builtin() {
            let known = self.groups.iter().take(self.builtin).position(|it| it.name == group.name);
            return known.ok_or(self.builtin);
        }
        let (mut low, mut high) = (self.builtin, self.groups.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.groups[middle].name.cmp(&group.name) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The groups, in order.
    pub fn groups(&self) -> &imbl::Vector<Arc<ServedGroup>> {
        &self.groups
    }

    /// The group called `name`.
    pub fn group(&self, name: &str) -> Option<&Arc<ServedGroup>> {
        self.by_name.get(name)
    }

    /// The resource at `/apis/{group}/{version}/{plural}`. Every request calls this: nothing is allocated.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Found> {
        let live = self.group(group)?.find(version, plural)?;
        let version = live.resource.versions.iter().position(|it| it.served && it.name == version)?;
        Some(Found { live: live.clone(), version })
    }

    /// The resource called `plural`, whatever its versions; the built-in one, if there is another of the same name.
    pub fn live(&self, group: &str, plural: &str) -> Option<&Arc<Live>> {
        self.group(group)?.live(plural)
    }

    /// All resources that show the objects of `resource`, the one that stores them first; none if no other does.
    pub fn kin(&self, resource: &Resource) -> &[Arc<Live>] {
        if resource.is_custom() {
            return self.group(&resource.group).map_or(&[], |group| group.custom(&resource.plural));
        }
        let home = resource.stands_for.clone().unwrap_or_else(|| resource.group_resource());
        self.kin.get(&home).map_or(&[], Vec::as_slice)
    }

    /// Grows with every change: what was derived from another generation is stale.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

fn kin(groups: &[ServedGroup]) -> HashMap<GroupResource, Vec<Arc<Live>>> {
    let all = || groups.iter().flat_map(|group| &group.resources);
    let mut kin: HashMap<GroupResource, Vec<Arc<Live>>> = HashMap::new();
    for face in all() {
        let Some(home) = &face.resource.stands_for else { continue };
        let Some(storing) = all().find(|it| it.resource.group_resource() == *home) else { continue };
        kin.entry(home.clone()).or_insert_with(|| vec![storing.clone()]).push(face.clone());
    }
    kin
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.groups.iter().map(|it| &it.name);
        f.debug_struct("Catalog")
            .field("generation", &self.generation)
            .field("groups", &names.collect::<Vec<_>>())
            .finish()
    }
}

/// Loads the objects of every resource; all of them at once, because each mostly waits for the disk.
pub async fn load(groups: Vec<Group>, ground: &Ground) -> Result<Catalog> {
    let start = |resource: Resource| async move {
        Ok::<_, Error>(match &resource {
            it if !it.is_stored() => Loaded::Live(Live::without_objects(resource)),
            it if it.stands_for.is_some() => Loaded::Face(Box::new(resource)),
            _ => Loaded::Live(Live::start(resource, ground).await?),
        })
    };
    let load = |group: Group| async move {
        let versions = group.versions();
        let resources = try_join_all(group.resources.into_iter().map(start)).await?;
        Ok::<_, Error>((group.name, versions, resources))
    };
    let loaded = try_join_all(groups.into_iter().map(load)).await?;
    let home = |wanted: &GroupResource| {
        let all = loaded.iter().flat_map(|(_, _, resources)| resources);
        all.filter_map(Loaded::live).find(|it| it.resource.group_resource() == *wanted)
    };
    let live = |loaded: &Loaded| match loaded {
        Loaded::Live(live) => Some(live.clone()),
        Loaded::Face(face) => Some(Live::standing_for((**face).clone(), home(face.stands_for.as_ref()?)?)),
    };
    let served = loaded.iter().map(|(name, versions, resources)| {
        ServedGroup::new(name, versions.clone(), resources.iter().filter_map(live).collect())
    });
    Ok(Catalog::new(served.collect()))
}

/// A resource that is being added to the catalog.
enum Loaded {
    Live(Arc<Live>),
    /// A resource that waits for the one whose objects it shows; without that one it is not served.
    Face(Box<Resource>),
}

impl Loaded {
    fn live(&self) -> Option<&Arc<Live>> {
        match self {
            Loaded::Live(live) => Some(live),
            Loaded::Face(_) => None,
        }
    }
}

/// The catalog of a running server.
#[derive(Clone, Default)]
pub struct CatalogHandle(Arc<Published>);

#[derive(Default)]
struct Published {
    catalog: ArcSwap<Catalog>,
    /// Held while the next catalog is made, so that no change is lost. Readers do not wait for it.
    publisher: Mutex<()>,
}

impl CatalogHandle {
    /// Serves `catalog`.
    pub fn new(catalog: Catalog) -> CatalogHandle {
        let catalog = ArcSwap::from_pointee(catalog);
        CatalogHandle(Arc::new(Published { catalog, publisher: Mutex::new(()) }))
    }

    /// The current catalog.
    pub fn load(&self) -> Arc<Catalog> {
        self.0.catalog.load_full()
    }

    /// Serves `catalog` from now on, whatever was served before.
    pub fn swap(&self, catalog: Catalog) {
        self.update(|_| catalog);
    }

    /// Replaces the current catalog by what `change` makes of it. Publishers take turns, so each sees the
    /// change of the one before.
    pub fn update(&self, change: impl FnOnce(&Catalog) -> Catalog) {
        let _turn = self.0.publisher.lock();
        let present = self.load();
        let mut next = change(&present);
        next.generation = present.generation + 1;
        self.0.catalog.store(Arc::new(next));
    }
}

#[cfg(test)]
mod tests;
