//! Live: a resource with its objects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_codec::{protobuf, stored};
use keelson_object::meta::StringMap;
use keelson_object::{Cell, Frozen, GroupResource, Object, SelectableField, SmolStr};
use keelson_stdx::clock::Clock;
use keelson_store::{
    Entry, Form, Key, Layout, ResourceKeys, Revision, Store, StoreError, Transformed, Transforms,
};
use keelson_watch_cache::{Cache, CacheOptions};

use crate::convert;
use crate::error::{Error, Result};
use crate::form::{self, FormError};
use crate::offers::{Found, Offers};
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
    /// In which form values are stored; `None` is as they are.
    pub transforms: Option<Arc<dyn Transforms>>,
    /// How often caches are compared with a store that is not near; `None` is never.
    pub check_caches: Option<Duration>,
    /// From where clients read.
    pub reads: ReadRules,
}

/// From where clients read the objects of a resource. The server itself, and watches, always have the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// From memory, where that is new enough.
    #[default]
    Cache,
    /// From the store.
    Store,
}

/// From where clients read: `--watch-cache` and `--watch-cache-sizes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRules {
    /// What holds for resources that are not named.
    pub usual: Reads,
    /// Resources that are read from the store whatever is usual.
    pub from_store: Vec<GroupResource>,
}

impl ReadRules {
    fn of(&self, group: &str, resource: &str) -> Reads {
        let is_named = self.from_store.iter().any(|it| it.group == group && it.resource == resource);
        if is_named { Reads::Store } else { self.usual }
    }
}

impl Ground {
    /// A ground on which values are stored as they are.
    pub fn new(store: Arc<dyn Store>, layout: Layout, clock: Clock) -> Ground {
        Ground { store, layout, clock, transforms: None, check_caches: None, reads: ReadRules::default() }
    }

    fn transformed(&self, group: &str, resource: &str) -> Option<Arc<Transformed>> {
        let transform = self.transforms.as_ref()?.of(group, resource);
        Some(Arc::new(Transformed::new(self.store.clone(), transform, self.clock.clone())))
    }
}

/// A resource whose objects can be read and written.
pub struct Live {
    /// What is served.
    pub resource: Resource,
    objects: Option<Objects>,
}

/// Where the objects of a resource are.
#[derive(Clone)]
pub(crate) struct Objects {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: ResourceKeys,
    pub(crate) form: Form,
    pub(crate) cache: Arc<Cache>,
    pub(crate) reads: Reads,
    offers: Arc<Offers>,
    /// The same store, if it has values in another form.
    transformed: Option<Arc<Transformed>>,
    /// Whether errors name the key of what cannot be read.
    names_unreadable: bool,
}

impl Live {
    /// Loads the objects of `resource` and follows their changes.
    pub async fn start(resource: Resource, ground: &Ground) -> Result<Arc<Live>> {
        let keys = ground.layout.resource(&resource.storage_path);
        let (reading, offers) = (resource.clone(), Arc::new(Offers::default()));
        let (offered, is_ours) = (offers.clone(), ground.store.is_near());
        let decode = move |entry: &Entry| {
            let revision = entry.modified.get();
            Ok(offered.frozen(&entry.key, &entry.value, revision, |it| match it {
                Found::Message(message) if !is_ours => form::foreign(&reading, message, revision),
                Found::Message(json) | Found::Offer(json) => form::own(&reading, json, revision),
            })?)
        };
        let position = |path: &SmolStr| resource.selectable.iter().position(|it| it.label == *path);
        let indexes = resource.indexed.iter().filter_map(position).collect();
        let transformed = ground.transformed(&resource.group, &resource.plural);
        let store: Arc<dyn Store> = match &transformed {
            Some(transformed) => transformed.clone(),
            None => ground.store.clone(),
        };
        let options =
            CacheOptions::new(store.clone(), keys.all().clone(), Arc::new(decode), ground.clock.clone());
        let check_every = ground.check_caches.filter(|_| !store.is_near());
        let options = CacheOptions { indexes, check_every, ..options };
        let cache = Cache::start(options).await?;
        let form = if resource.json_in_store { Form::Json } else { ground.layout.form() };
        let names_unreadable = ground.transforms.as_ref().is_none_or(|it| it.names_unreadable());
        let reads = ground.reads.of(&resource.group, &resource.plural);
        let objects = Objects { store, keys, form, cache, reads, offers, transformed, names_unreadable };
        Ok(Arc::new(Live { resource, objects: Some(objects) }))
    }

    /// A resource of which nothing is stored.
    pub fn without_objects(resource: Resource) -> Arc<Live> {
        Arc::new(Live { resource, objects: None })
    }

    /// The objects of `home` as another resource: what `home` stores is what this one converts from.
    pub fn standing_for(mut resource: Resource, home: &Live) -> Arc<Live> {
        resource.versions.push(Version { served: false, ..home.resource.stored_version().clone() });
        // An index has its fields in the order of the home; what has no name here cannot be asked for.
        let label = |field: &SelectableField| {
            let same = resource.selectable.iter().find(|it| it.paths == field.paths);
            same.map(|it| it.label.clone()).unwrap_or_default()
        };
        let fields = home.resource.selectable.iter();
        resource.selectable =
            fields.map(|field| SelectableField { label: label(field), ..field.clone() }).collect();
        Arc::new(Live { resource, objects: home.objects.clone() })
    }

    /// Whether there are objects at all.
    pub fn is_stored(&self) -> bool {
        self.objects.is_some()
    }

    pub(crate) fn objects(&self) -> Result<&Objects> {
        self.objects.as_ref().ok_or_else(|| Error::Bug(format!("{} are not stored", self.resource.plural)))
    }

    /// The objects.
    pub fn cache(&self) -> Result<&Arc<Cache>> {
        Ok(&self.objects()?.cache)
    }

    /// The key under which the object at `place` is stored.
    pub(crate) fn key(&self, place: &Place) -> Result<Key> {
        let keys = &self.objects()?.keys;
        Ok(match self.resource.scope {
            Scope::Namespaced => keys.namespaced(&place.namespace, &place.name),
            Scope::Cluster => keys.cluster(&place.name),
        })
    }

    /// An editable copy of a frozen object, in the stored version.
    pub fn thaw(&self, frozen: &Frozen) -> Result<Object> {
        let version = self.resource.stored_version();
        stored::thaw(frozen, &version.api_version, &self.resource.kind)
            .map_err(|error| Error::Bug(error.to_string()))
    }

    /// The same without its managers, for those who only look.
    pub fn look_at(&self, frozen: &Frozen) -> Result<Object> {
        let version = self.resource.stored_version();
        stored::thaw_without_managers(frozen, &version.api_version, &self.resource.kind)
            .map_err(|error| Error::Bug(error.to_string()))
    }

    /// An object of which nothing is known but a revision and annotations: what stands in a bookmark.
    pub fn blank(&self, revision: u64, annotations: StringMap) -> Result<Arc<Frozen>> {
        let mut object = Object {
            api_version: self.resource.stored_version().api_version.clone(),
            kind: self.resource.kind.clone(),
            ..Object::default()
        };
        object.meta.annotations = annotations;
        self.freeze(&stored::encode(&object), revision)
    }

    /// What is put into the store under `key` for an object whose JSON is known. The cache knows that it comes.
    pub(crate) fn value(&self, key: &Key, object: &Object, json: &Bytes) -> Result<Bytes> {
        let objects = self.objects()?;
        let message = match objects.form {
            Form::Json => form::json(&self.resource, object, json),
            Form::Protobuf => form::message(&self.resource, object, json)?,
        };
        objects.offers.put(key, &message, json);
        Ok(message)
    }

    /// The object of a value that was written at `revision`, as the cache has it or will have it.
    pub(crate) fn written(&self, key: &Key, value: &Bytes, revision: u64) -> Result<Arc<Frozen>> {
        let frozen = |found: Found<'_>| match found {
            Found::Offer(json) | Found::Message(json) => form::own(&self.resource, json, revision),
        };
        let frozen = self.objects()?.offers.frozen(key, value, revision, frozen);
        frozen.map_err(|error| Error::Bug(error.to_string()))
    }

    /// The object of JSON of our own as of `revision`.
    pub(crate) fn freeze(&self, json: &Bytes, revision: u64) -> Result<Arc<Frozen>> {
        let frozen = form::own(&self.resource, json, revision);
        frozen.map(Arc::new).map_err(|error| Error::Bug(error.to_string()))
    }

    /// The object of an entry of the store.
    pub(crate) fn freeze_stored(&self, entry: &Entry) -> Result<Arc<Frozen>> {
        let frozen = self.read_stored(entry)?;
        frozen.map(Arc::new).map_err(|error| Error::Bug(error.to_string()))
    }

    /// The same, and why it is not one.
    fn read_stored(&self, entry: &Entry) -> Result<std::result::Result<Frozen, FormError>> {
        let revision = entry.modified.get();
        Ok(match self.objects()?.store.is_near() {
            true => form::own(&self.resource, &entry.value, revision),
            false => form::foreign(&self.resource, &entry.value, revision),
        })
    }

    /// Whether an entry of the store would be written in another way now: only others may have done that.
    pub(crate) fn is_outdated(&self, entry: &Entry) -> Result<bool> {
        Ok(!self.objects()?.store.is_near() && form::is_outdated(&self.resource, &entry.value))
    }

    /// Why there seems to be nothing at `place`: perhaps what is stored there cannot be read.
    pub(crate) async fn missing(&self, place: &Place) -> Error {
        match self.unreadable(place).await {
            Ok(Some((_, error))) | Err(error) => error,
            Ok(None) => self.not_found(&place.name),
        }
    }

    /// Whether what is stored under `key` would be stored in another form now.
    pub(crate) async fn is_stale(&self, key: &Key) -> Result<bool> {
        match &self.objects()?.transformed {
            Some(transformed) => Ok(transformed.is_stale(key).await?),
            None => Ok(false),
        }
    }

    /// Since when what is stored at `place` cannot be read, if it cannot, and why not.
    pub(crate) async fn unreadable(&self, place: &Place) -> Result<Option<(Revision, Error)>> {
        let objects = self.objects()?;
        // The cache reads everything: where it never failed there is no need to look.
        if objects.cache.stats().decode_failures == 0 {
            return Ok(None);
        }
        let path = [&*self.resource.storage_path, &*place.namespace, &*place.name];
        let path = path.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("/");
        let key = format!("/{}", path.trim_start_matches('/'));
        let entry = match objects.store.get(&self.key(place)?).await {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(None),
            Err(StoreError::Unreadable { revision, problem, .. }) => {
                let key = objects.names_unreadable.then_some(key);
                return Ok(Some((revision, Error::Undecryptable { key, problem })));
            }
            Err(error) => return Err(error.into()),
        };
        let revision = entry.modified.get();
        let Err(problem) = self.read_stored(&entry)? else { return Ok(None) };
        Ok(Some((entry.modified, Error::Unreadable { key, revision, problem: problem.to_string() })))
    }

    /// The cells of an object's row in a table of `version`. Those of the stored version are kept with the object.
    pub fn cells(&self, version: &Version, frozen: &Frozen) -> Result<Arc<[Cell]>> {
        let columns = self.resource.columns_of(version);
        let cells = |object: &Object| columns.iter().map(|column| column.cell(object)).collect();
        if version.stored || version.columns.is_none() {
            return frozen.cells(|| Ok(cells(&self.thaw(frozen)?))).cloned();
        }
        Ok(cells(&self.in_version(version, self.thaw(frozen)?)))
    }

    /// The protobuf message of an object in `version`. That of the stored version is kept with the object.
    pub fn message(&self, version: &Version, frozen: &Frozen) -> Result<Bytes> {
        let schema =
            version.schema.as_ref().ok_or_else(|| Error::Bug("a kind without a schema".to_owned()))?;
        let write = |frozen: &Frozen| {
            protobuf::write_frozen(frozen, schema.root()).map_err(|error| Error::Bug(error.to_string()))
        };
        match version.conversion {
            None if version.stored => frozen.protobuf(|| write(frozen)).cloned(),
            None => write(frozen),
            Some(_) => write(&self.converted(version, frozen)?),
        }
    }

    /// A stored object as `version` shows it.
    pub fn show(&self, version: &Version, frozen: &Arc<Frozen>) -> Result<Arc<Frozen>> {
        match version.conversion {
            None => Ok(frozen.clone()),
            Some(_) => self.converted(version, frozen).map(Arc::new),
        }
    }

    fn converted(&self, version: &Version, frozen: &Frozen) -> Result<Frozen> {
        let object = self.in_version(version, self.thaw(frozen)?);
        let decoded = stored::decode(&stored::encode(&object), frozen.revision(), &[]);
        decoded.map_err(|error| Error::Bug(error.to_string()))
    }

    /// An object of the stored version in another one.
    pub fn in_version(&self, version: &Version, mut object: Object) -> Object {
        convert::from_stored(version, &mut object);
        object
    }

    /// The value of a selectable field, which is kept beside the object: nothing is parsed.
    pub fn selected<'f>(&self, frozen: &'f Frozen, label: &str) -> Option<&'f str> {
        let position = self.resource.selectable.iter().position(|it| it.label == label)?;
        frozen.index().fields.get(position).map(SmolStr::as_str)
    }

    /// There is no object of this name.
    pub fn not_found(&self, name: &str) -> Error {
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
