//! Live resource: a resource that is being served, with its cache and its store.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_codec::{protobuf, stored};
use keelson_object::meta::StringMap;
use keelson_object::{Cell, Frozen, GroupResource, Object, SelectableField, SmolStr};
use keelson_stdx::clock::Clock;
use keelson_stdx::offload;
use keelson_store::{
    Entry, Form, Key, Layout, ResourceKeys, Revision, Store, StoreError, Transformed, Transforms,
};
use keelson_watch_cache::{Cache, CacheOptions};

use crate::convert::{self, Convert};
use crate::error::{Error, Result};
use crate::form::{self, FormError};
use crate::offers::{Found, Offers};
use crate::resource::{Resource, Scope, Version};

/// The address of an object: a namespace (empty for cluster-scoped resources) and a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The namespace; empty for cluster-scoped resources.
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

/// The storage configuration of a live resource.
#[derive(Clone)]
pub struct Ground {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The layout of keys in the store.
    pub layout: Layout,
    /// The clock.
    pub clock: Clock,
    /// The transformation of stored values, such as encryption; `None` stores them as they are.
    pub transforms: Option<Arc<dyn Transforms>>,
    /// How often caches are compared with a remote store; `None` is never.
    pub check_caches: Option<Duration>,
    /// Whether clients read from the cache or from the store.
    pub reads: ReadRules,
}

/// Whether clients read the objects of a resource from the cache or from the store. The server itself, and
/// watches, always use the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// From the cache, if it is new enough.
    #[default]
    Cache,
    /// From the store.
    Store,
}

/// Which resources clients read from the store: `--watch-cache` and `--watch-cache-sizes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRules {
    /// The setting of resources that are not named.
    pub usual: Reads,
    /// Resources that are always read from the store.
    pub from_store: Vec<GroupResource>,
}

impl ReadRules {
    fn of(&self, group: &str, resource: &str) -> Reads {
        let is_named = self.from_store.iter().any(|it| it.group == group && it.resource == resource);
        if is_named { Reads::Store } else { self.usual }
    }
}

impl Ground {
    /// A configuration that stores values as they are.
    pub fn new(store: Arc<dyn Store>, layout: Layout, clock: Clock) -> Ground {
        Ground { store, layout, clock, transforms: None, check_caches: None, reads: ReadRules::default() }
    }

    fn transformed(&self, group: &str, resource: &str) -> Option<Arc<Transformed>> {
        let transform = self.transforms.as_ref()?.of(group, resource);
        Some(Arc::new(Transformed::new(self.store.clone(), transform, self.clock.clone())))
    }
}

fn frozen(made: std::result::Result<Frozen, FormError>) -> Result<Arc<Frozen>> {
    made.map(Arc::new).map_err(|error| Error::Bug(error.to_string()))
}

/// A resource whose objects can be read and written.
pub struct Live {
    /// What is served.
    pub resource: Resource,
    objects: Option<Objects>,
    /// The conversion between versions, if it is a custom resource.
    convert: Option<Arc<dyn Convert>>,
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
    /// The same store, if it transforms values.
    transformed: Option<Arc<Transformed>>,
    /// Whether errors contain the key of an unreadable object.
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
                Found::Offer(json) if reading.is_custom() => form::complete_custom(&reading, json, revision),
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
        Ok(Arc::new(Live { resource, objects: Some(objects), convert: None }))
    }

    /// Loads the objects of a custom resource, which is one resource for each served version. All of them
    /// share the objects; the first one represents them.
    pub async fn start_custom(
        versions: Vec<Resource>,
        convert: Arc<dyn Convert>,
        ground: &Ground,
    ) -> Result<Vec<Arc<Live>>> {
        let mut versions = versions.into_iter();
        let Some(first) = versions.next() else { return Ok(Vec::new()) };
        let first = Live::start(first, ground).await?;
        let objects = first.objects.clone();
        let face = |resource: Resource, stands_for: Option<GroupResource>| {
            let resource = Resource { stands_for, ..resource };
            Arc::new(Live { resource, objects: objects.clone(), convert: Some(convert.clone()) })
        };
        let home = first.resource.group_resource();
        let mut lives = vec![face(first.resource.clone(), None)];
        lives.extend(versions.map(|resource| face(resource, Some(home.clone()))));
        Ok(lives)
    }

    /// Ends all watches: the definition of a custom resource has changed, and another value serves its objects.
    /// Requests that have begun with this one can finish; its cache follows the store until the last of them is done.
    pub fn retire(&self) {
        if let Some(objects) = &self.objects {
            objects.cache.end_watches();
        }
    }

    /// A resource of which nothing is stored.
    pub fn without_objects(resource: Resource) -> Arc<Live> {
        Arc::new(Live { resource, objects: None, convert: None })
    }

    /// The objects of `home` as another resource: this one converts from what `home` stores.
    pub fn standing_for(mut resource: Resource, home: &Live) -> Arc<Live> {
        resource.versions.push(Version { served: false, ..home.resource.stored_version().clone() });
        // An index has its fields in the order of the home; a field without a name here cannot be selected.
        let label = |field: &SelectableField| {
            let same = resource.selectable.iter().find(|it| it.paths == field.paths);
            same.map(|it| it.label.clone()).unwrap_or_default()
        };
        let fields = home.resource.selectable.iter();
        resource.selectable =
            fields.map(|field| SelectableField { label: label(field), ..field.clone() }).collect();
        Arc::new(Live { resource, objects: home.objects.clone(), convert: None })
    }

    /// Whether the resource has stored objects.
    pub fn is_stored(&self) -> bool {
        self.objects.is_some()
    }

    pub(crate) fn objects(&self) -> Result<&Objects> {
        self.objects.as_ref().ok_or_else(|| Error::Bug(format!("{} are not stored", self.resource.plural)))
    }

    /// The cache of the objects.
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

    /// The version of the bytes of a frozen object.
    fn version_of(&self, frozen: &Frozen) -> &Version {
        let custom = self.resource.versions.get(frozen.version()).filter(|_| self.resource.is_custom());
        custom.unwrap_or_else(|| self.resource.hub_version())
    }

    /// Whether the bytes of a frozen object are in the version in which the rules of the kind run.
    pub(crate) fn is_in_hub(&self, frozen: &Frozen) -> bool {
        self.resource.hub.is_none_or(|hub| hub == frozen.version())
    }

    /// Whether an object is stored in the version in which it would be stored now.
    pub(crate) fn is_in_stored_version(&self, frozen: &Frozen) -> bool {
        !self.resource.is_custom() || self.version_of(frozen).stored
    }

    /// Whether selectors can be evaluated before objects are converted.
    pub(crate) fn keeps_fields(&self) -> bool {
        self.convert.as_ref().is_none_or(|it| it.keeps_fields())
    }

    /// An object in the version in which the rules of the kind run.
    pub(crate) async fn to_hub(&self, frozen: Arc<Frozen>) -> Result<Arc<Frozen>> {
        if self.is_in_hub(&frozen) {
            return Ok(frozen);
        }
        let mut all = self.all_to_hub(vec![frozen]).await?;
        all.pop().ok_or_else(|| Error::Bug("a conversion lost an object".to_owned()))
    }

    /// The same for many objects, which are converted together.
    pub(crate) async fn all_to_hub(&self, mut all: Vec<Arc<Frozen>>) -> Result<Vec<Arc<Frozen>>> {
        let others: Vec<usize> = (0..all.len()).filter(|position| !self.is_in_hub(&all[*position])).collect();
        let Some(convert) = self.convert.as_ref().filter(|_| !others.is_empty()) else { return Ok(all) };
        let size = others.iter().map(|position| all[*position].json().len()).sum();
        let thaw = || others.iter().map(|position| self.thaw(&all[*position])).collect::<Result<Vec<_>>>();
        let objects = offload::run(size, thaw).await?;
        let objects = convert::convert_all(&**convert, objects, self.resource.hub_version()).await?;
        let freeze = || {
            for (position, object) in others.iter().zip(&objects) {
                let json = stored::encode(object);
                let frozen = form::complete_custom(&self.resource, &json, all[*position].revision());
                all[*position] = Arc::new(frozen.map_err(|error| Error::Bug(error.to_string()))?);
            }
            Ok::<_, Error>(())
        };
        offload::run(size, freeze).await?;
        Ok(all)
    }

    /// An object in another version, as the converter of the resource gives it: the schema of that version is not
    /// enforced. Objects of built-in kinds stay as they are.
    pub async fn convert_to(&self, api_version: &str, object: Object) -> Result<Object> {
        let Some(convert) = self.convert.as_ref().filter(|_| object.api_version != api_version) else {
            return Ok(object);
        };
        let mut converted = convert.convert(vec![object], api_version).await?;
        converted.pop().ok_or_else(|| Error::Bug("a conversion lost an object".to_owned()))
    }

    /// An editable copy of an object in the version in which the rules of the kind run.
    pub(crate) async fn thaw_to_hub(&self, frozen: &Arc<Frozen>) -> Result<Object> {
        self.thaw(&*self.to_hub(frozen.clone()).await?)
    }

    /// The object as it is stored, and its JSON.
    pub(crate) async fn to_stored<'o>(&self, object: &'o Object) -> Result<(Cow<'o, Object>, Bytes)> {
        let stored_version = self.resource.stored_version();
        let Some(convert) =
            self.convert.as_ref().filter(|_| object.api_version != stored_version.api_version)
        else {
            return Ok((Cow::Borrowed(object), stored::encode(object)));
        };
        let mut converted = convert::convert_all(&**convert, vec![object.clone()], stored_version).await?;
        let mut stored =
            converted.pop().ok_or_else(|| Error::Bug("a conversion lost an object".to_owned()))?;
        stored.fields.sort_all_keys();
        let json = stored::encode(&stored);
        Ok((Cow::Owned(stored), json))
    }

    /// An editable copy of a frozen object, in the version of its bytes.
    pub fn thaw(&self, frozen: &Frozen) -> Result<Object> {
        let version = self.version_of(frozen);
        stored::thaw(frozen, &version.api_version, &self.resource.kind)
            .map_err(|error| Error::Bug(error.to_string()))
    }

    /// The same without managedFields, for readers that do not write the object.
    pub fn look_at(&self, frozen: &Frozen) -> Result<Object> {
        let version = self.version_of(frozen);
        stored::thaw_without_managers(frozen, &version.api_version, &self.resource.kind)
            .map_err(|error| Error::Bug(error.to_string()))
    }

    /// An object with nothing but a revision and annotations: the object of a bookmark.
    pub fn blank(&self, revision: u64, annotations: StringMap) -> Result<Arc<Frozen>> {
        let mut object = Object {
            api_version: self.resource.hub_version().api_version.clone(),
            kind: self.resource.kind.clone(),
            ..Object::default()
        };
        object.meta.annotations = annotations;
        let json = stored::encode(&object);
        match self.resource.is_custom() {
            true => frozen(form::complete_custom(&self.resource, &json, revision)),
            false => self.freeze(&json, revision),
        }
    }

    /// The bytes to store under `key` for an object whose JSON is known. The cache is prepared to receive
    /// them.
    pub(crate) fn value(&self, key: &Key, object: &Object, json: &Bytes) -> Result<Bytes> {
        let objects = self.objects()?;
        let message = match objects.form {
            Form::Json => form::json(&self.resource, object, json),
            Form::Protobuf => form::message(&self.resource, object, json)?,
        };
        // Readers see a custom resource with the defaults of the stored version.
        let is_complete = !self.resource.is_custom() || self.resource.hub_version().stored;
        match is_complete {
            true => objects.offers.put(key, &message, json),
            false => {
                let complete = form::completed_custom(&self.resource, json);
                let complete = complete.map_err(|error| Error::Bug(error.to_string()))?;
                objects.offers.put(key, &message, &complete);
            }
        }
        Ok(message)
    }

    /// The object of a value that was written at `revision`, as the cache has it or will have it.
    pub(crate) fn written(&self, key: &Key, value: &Bytes, revision: u64) -> Result<Arc<Frozen>> {
        let frozen = |found: Found<'_>| match found {
            Found::Offer(json) if self.resource.is_custom() => {
                form::complete_custom(&self.resource, json, revision)
            }
            Found::Offer(json) | Found::Message(json) => form::own(&self.resource, json, revision),
        };
        let frozen = self.objects()?.offers.frozen(key, value, revision, frozen);
        frozen.map_err(|error| Error::Bug(error.to_string()))
    }

    /// The object of JSON of our own as of `revision`.
    pub(crate) fn freeze(&self, json: &Bytes, revision: u64) -> Result<Arc<Frozen>> {
        frozen(form::own(&self.resource, json, revision))
    }

    /// The object of an entry of the store.
    pub(crate) fn freeze_stored(&self, entry: &Entry) -> Result<Arc<Frozen>> {
        frozen(self.read_stored(entry)?)
    }

    /// The same, or the reason why the value is not an object.
    fn read_stored(&self, entry: &Entry) -> Result<std::result::Result<Frozen, FormError>> {
        let revision = entry.modified.get();
        Ok(match self.objects()?.store.is_near() {
            true => form::own(&self.resource, &entry.value, revision),
            false => form::foreign(&self.resource, &entry.value, revision),
        })
    }

    /// Whether an entry of the store would be written differently now: then another server has written it.
    pub(crate) fn is_outdated(&self, entry: &Entry) -> Result<bool> {
        Ok(!self.objects()?.store.is_near() && form::is_outdated(&self.resource, &entry.value))
    }

    /// The error for an object that seems not to exist: perhaps it is stored, but cannot be read.
    pub(crate) async fn missing(&self, place: &Place) -> Error {
        match self.unreadable(place).await {
            Ok(Some((_, error))) | Err(error) => error,
            Ok(None) => self.not_found(&place.name),
        }
    }

    /// Whether the value stored under `key` would be stored in another form now.
    pub(crate) async fn is_stale(&self, key: &Key) -> Result<bool> {
        match &self.objects()?.transformed {
            Some(transformed) => Ok(transformed.is_stale(key).await?),
            None => Ok(false),
        }
    }

    /// The revision and the error of an unreadable object at `place`; `None` if it can be read.
    pub(crate) async fn unreadable(&self, place: &Place) -> Result<Option<(Revision, Error)>> {
        let objects = self.objects()?;
        // The cache reads every object: if it never failed, there is no need to look.
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
        if version.stored || version.columns.is_none() || self.resource.is_custom() {
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

    /// The error for an object that does not exist.
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
