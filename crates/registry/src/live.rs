//! Live: a resource with its objects.

use std::sync::Arc;

use bytes::Bytes;
use keelson_codec::{protobuf, stored};
use keelson_object::{Cell, Frozen, Object, SmolStr};
use keelson_stdx::clock::Clock;
use keelson_store::{Entry, Key, Layout, ResourceKeys, Store};
use keelson_watch_cache::{Cache, CacheOptions};

use crate::error::{Error, Result};
use crate::resource::{Resource, Scope, Version};

/// Where an object is: a namespace (empty for cluster-scoped resources) and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Empty for cluster-scoped resources.
    pub namespace: SmolStr,
    /// The name.
    pub name: SmolStr,
}

impl Place {
    /// `namespace` is empty for cluster-scoped resources.
    pub fn new(namespace: impl Into<SmolStr>, name: impl Into<SmolStr>) -> Place {
        Place { namespace: namespace.into(), name: name.into() }
    }
}

/// What a live resource needs from its surroundings.
#[derive(Clone)]
pub struct Ground {
    /// Where objects are kept.
    pub store: Arc<dyn Store>,
    /// Where in the store.
    pub layout: Layout,
    /// What time it is.
    pub clock: Clock,
}

/// A resource whose objects can be read and written.
pub struct Live {
    /// What is served.
    pub resource: Resource,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: ResourceKeys,
    cache: Arc<Cache>,
}

impl Live {
    /// Loads the objects of `resource` and follows their changes.
    pub async fn start(resource: Resource, ground: &Ground) -> Result<Arc<Live>> {
        let keys = ground.layout.resource(&resource.storage_path);
        let fields = resource.selectable.clone();
        let decode = move |entry: &Entry| Ok(stored::decode(&entry.value, entry.modified.get(), &fields)?);
        let position = |path: &SmolStr| resource.selectable.iter().position(|it| it.label == *path);
        let indexes = resource.indexed.iter().filter_map(position).collect();
        let options = CacheOptions::new(
            ground.store.clone(),
            keys.all().clone(),
            Arc::new(decode),
            ground.clock.clone(),
        );
        let options = CacheOptions { indexes, ..options };
        let cache = Cache::start(options).await?;
        Ok(Arc::new(Live { resource, store: ground.store.clone(), keys, cache }))
    }

    /// The objects.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// The key under which the object at `place` is stored.
    pub fn key(&self, place: &Place) -> Key {
        match self.resource.scope {
            Scope::Namespaced => self.keys.namespaced(&place.namespace, &place.name),
            Scope::Cluster => self.keys.cluster(&place.name),
        }
    }

    /// An editable copy of a frozen object, in the stored version.
    pub fn thaw(&self, frozen: &Frozen) -> Result<Object> {
        let version = self.resource.stored_version();
        stored::thaw(frozen, &version.api_version, &self.resource.kind)
            .map_err(|error| Error::Bug(error.to_string()))
    }

    /// Encodes an object as of `revision`.
    pub(crate) fn freeze(&self, value: &Bytes, revision: u64) -> Result<Arc<Frozen>> {
        let frozen = stored::decode(value, revision, &self.resource.selectable);
        frozen.map(Arc::new).map_err(|error| Error::Bug(error.to_string()))
    }

    /// The cells of an object's row in a table of `version`. Those of the stored version are kept with the object.
    pub fn cells(&self, version: &Version, frozen: &Frozen) -> Result<Arc<[Cell]>> {
        let make = || {
            let object = self.thaw(frozen)?;
            Ok(version.columns.iter().map(|column| column.cell(&object)).collect())
        };
        if version.stored { frozen.cells(make).cloned() } else { make() }
    }

    /// The protobuf message of an object in `version`. That of the stored version is kept with the object.
    pub fn message(&self, version: &Version, frozen: &Frozen) -> Result<Bytes> {
        let schema =
            version.schema.as_ref().ok_or_else(|| Error::Bug("a kind without a schema".to_owned()))?;
        let make =
            || protobuf::write_frozen(frozen, schema.root()).map_err(|error| Error::Bug(error.to_string()));
        if version.stored { frozen.protobuf(make).cloned() } else { make() }
    }

    pub(crate) fn not_found(&self, name: &str) -> Error {
        Error::NotFound { resource: self.resource.group_resource(), name: name.to_owned() }
    }

    pub(crate) fn conflict(&self, name: &str, reason: impl Into<String>) -> Error {
        Error::Conflict {
            resource: self.resource.group_resource(),
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}
