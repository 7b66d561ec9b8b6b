//! Catalog: everything served right now. An immutable value behind an atomic swap, so that a request sees one
//! catalog from beginning to end, and discovery cannot disagree with routing.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::future::try_join_all;
use keelson_object::{Frozen, GroupResource, SmolStr};

use crate::error::{Error, Result};
use crate::group::Group;
use crate::live::{Ground, Live};
use crate::resource::{Resource, Version};

/// A group as it is served.
pub struct ServedGroup {
    /// `apps`; empty for the core group.
    pub name: SmolStr,
    /// The served versions, the preferred one first.
    pub versions: Vec<SmolStr>,
    /// Its resources, by plural.
    pub resources: Vec<Arc<Live>>,
}

/// Everything served.
#[derive(Default)]
pub struct Catalog {
    groups: Vec<ServedGroup>,
    /// (group, version, plural) of everything that is served.
    routes: HashMap<(SmolStr, SmolStr, SmolStr), Arc<Live>>,
    /// All resources that show the same objects, if there are several, by the one that stores them.
    kin: HashMap<GroupResource, Vec<Arc<Live>>>,
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
    /// A catalog of these groups; the order is that of discovery documents.
    pub fn new(groups: Vec<ServedGroup>) -> Catalog {
        let mut routes = HashMap::new();
        for group in &groups {
            for live in &group.resources {
                for version in live.resource.served_versions() {
                    let key = (group.name.clone(), version.name.clone(), live.resource.plural.clone());
                    routes.insert(key, live.clone());
                }
            }
        }
        let kin = kin(&groups);
        Catalog { groups, routes, kin, generation: 0 }
    }

    /// The groups, in order.
    pub fn groups(&self) -> &[ServedGroup] {
        &self.groups
    }

    /// The group called `name`.
    pub fn group(&self, name: &str) -> Option<&ServedGroup> {
        self.groups.iter().find(|it| it.name == name)
    }

    /// The resource at `/apis/{group}/{version}/{plural}`.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Found> {
        let key = (SmolStr::new(group), SmolStr::new(version), SmolStr::new(plural));
        let live = self.routes.get(&key)?;
        let version = live.resource.versions.iter().position(|it| it.served && it.name == version)?;
        Some(Found { live: live.clone(), version })
    }

    /// The resource called `plural`, whatever its versions.
    pub fn live(&self, group: &str, plural: &str) -> Option<&Arc<Live>> {
        self.group(group)?.resources.iter().find(|it| it.resource.plural == plural)
    }

    /// All resources that show the objects of `resource`, the one that stores them first; none if no other does.
    pub fn kin(&self, resource: &Resource) -> &[Arc<Live>] {
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
    let served = loaded.iter().map(|(name, versions, resources)| ServedGroup {
        name: name.clone(),
        versions: versions.clone(),
        resources: resources.iter().filter_map(live).collect(),
    });
    Ok(Catalog::new(served.collect()))
}

/// A resource on its way into the catalog.
enum Loaded {
    Live(Arc<Live>),
    /// It waits for the one whose objects it shows; without that one it is not served.
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
pub struct CatalogHandle(Arc<ArcSwap<Catalog>>);

impl CatalogHandle {
    /// Serves `catalog`.
    pub fn new(catalog: Catalog) -> CatalogHandle {
        CatalogHandle(Arc::new(ArcSwap::from_pointee(catalog)))
    }

    /// What is served right now.
    pub fn load(&self) -> Arc<Catalog> {
        self.0.load_full()
    }

    /// Serves something else from now on. There is one publisher; two would overwrite each other.
    pub fn swap(&self, mut catalog: Catalog) {
        catalog.generation = self.0.load().generation + 1;
        self.0.store(Arc::new(catalog));
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalog, CatalogHandle};

    #[test]
    fn every_catalog_is_a_new_generation() {
        let handle = CatalogHandle::new(Catalog::default());
        let before = handle.load();
        handle.swap(Catalog::default());
        assert_eq!((before.generation(), handle.load().generation()), (0, 1));
    }
}
