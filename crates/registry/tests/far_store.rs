//! Two servers on one remote store. The cache of one of them receives nothing after its start: its operations
//! must be correct nevertheless, and read the store no more often than necessary.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use keelson_authn::User;
use keelson_object::Object;
use keelson_registry::live::Ground;
use keelson_registry::operation;
use keelson_registry::options::{DeleteOptions, Freshness, Part};
use keelson_registry::{Context, DryRun, Error, Group, Live, Place, Resource, Version};
use keelson_stdx::clock::Clock;
use keelson_store::{
    At, Entry, Event, Expect, Key, Layout, MemoryStore, Page, Result, Revision, Store, Tip, Write,
};

/// A remote store that sends no events.
struct Far {
    store: Arc<MemoryStore>,
    questions: AtomicUsize,
}

impl Far {
    fn count(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }
}

impl Store for Far {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        self.count();
        self.store.tip(prefix)
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        self.count();
        self.store.get(key)
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        self.store.list(prefix, after, limit, at)
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        self.count();
        self.store.commit(key, expect, write)
    }

    fn watch(&self, _prefix: &Key, _after: Revision) -> BoxStream<'static, Result<Event>> {
        stream::pending().boxed()
    }

    fn forgotten_before(&self, prefix: &Key) -> Option<Revision> {
        self.store.forgotten_before(prefix)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(before)
    }
}

struct Server {
    live: Arc<Live>,
    clock: Clock,
}

impl Server {
    async fn new(store: Arc<dyn Store>, clock: &Clock) -> Server {
        let flowers = Resource::namespaced("Flower", "flowers").version(Version::stored("v1"));
        Server::of(flowers, store, clock).await
    }

    async fn of(flowers: Resource, store: Arc<dyn Store>, clock: &Clock) -> Server {
        let group = Group::new("example.com").serve(flowers);
        let ground = Ground::new(store, Layout::default(), clock.clone());
        let live = Live::start(group.resources[0].clone(), &ground).await.expect("a store loads");
        Server { live, clock: clock.clone() }
    }

    fn context(&self, dry_run: DryRun) -> Context {
        let mut context = Context::new(User::new("gardener", &[]), self.clock.clone());
        context.dry_run = dry_run;
        context
    }

    async fn create(&self, petals: i64, dry_run: DryRun) -> std::result::Result<Object, Error> {
        let made = operation::create(&self.live, &self.context(dry_run), "default", rose(petals)).await?;
        self.live.thaw(&made)
    }

    async fn update(&self, object: Object) -> std::result::Result<Object, Error> {
        let (context, place) = (self.context(DryRun::Off), place());
        let updated = operation::update(&self.live, &context, &place, Part::Main, object).await?;
        self.live.thaw(&updated.object)
    }

    async fn delete(&self) -> std::result::Result<bool, Error> {
        let context = self.context(DryRun::Off);
        let deleted = operation::delete(&self.live, &context, &place(), &DeleteOptions::default()).await?;
        Ok(deleted.gone)
    }

    async fn get(&self) -> std::result::Result<Object, Error> {
        self.live.thaw(&*operation::get(&self.live, &place(), Freshness::Latest).await?)
    }
}

/// A server that receives all events, and one that receives none after its start, when `petals` were there.
struct Pair {
    near: Server,
    deaf: Server,
    far: Arc<Far>,
}

impl Pair {
    async fn new(petals: Option<i64>) -> Pair {
        let (clock, _hand) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let near = Server::new(store.clone(), &clock).await;
        if let Some(petals) = petals {
            near.create(petals, DryRun::Off).await.expect("there is nothing yet");
        }
        let far = Arc::new(Far { store, questions: AtomicUsize::new(0) });
        let deaf = Server::new(far.clone(), &clock).await;
        far.questions.store(0, Ordering::Relaxed);
        Pair { near, deaf, far }
    }

    fn questions(&self) -> usize {
        self.far.questions.swap(0, Ordering::Relaxed)
    }
}

fn place() -> Place {
    Place::new("default", "rose")
}

fn rose(petals: i64) -> Object {
    let mut object =
        Object { kind: "Flower".into(), api_version: "example.com/v1".into(), ..Object::default() };
    object.meta.name = "rose".into();
    object.fields.map_mut("spec").set("petals", petals);
    object
}

fn petals(object: &Object) -> Option<i64> {
    object.fields.map("spec").and_then(|spec| spec.int("petals"))
}

#[tokio::test]
async fn a_write_is_one_question() {
    let pair = Pair::new(None).await;
    pair.deaf.create(5, DryRun::Off).await.unwrap();
    assert_eq!(pair.questions(), 1, "create");
    let pair = Pair::new(Some(5)).await;
    pair.deaf.update(rose(6)).await.unwrap();
    assert_eq!(pair.questions(), 1, "update");
    let pair = Pair::new(Some(5)).await;
    pair.deaf.delete().await.unwrap();
    assert_eq!(pair.questions(), 1, "delete");
    let pair = Pair::new(Some(5)).await;
    pair.deaf.get().await.unwrap();
    assert_eq!(pair.questions(), 1, "get");
}

#[tokio::test]
async fn a_name_that_is_taken_is_taken_for_those_who_did_not_hear_of_it() {
    let pair = Pair::new(None).await;
    pair.near.create(5, DryRun::Off).await.unwrap();
    for dry_run in [DryRun::Off, DryRun::All] {
        let error = pair.deaf.create(6, dry_run).await.unwrap_err();
        assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_update_goes_on_from_what_others_wrote() {
    let pair = Pair::new(Some(5)).await;
    let mut other = rose(6);
    other.meta.labels.set("by", "near");
    let newest = pair.near.update(other).await.unwrap();
    // An update with the stored version succeeds, although the cache has another one.
    let mut named = rose(7);
    named.meta.resource_version = newest.meta.resource_version.clone();
    let updated = pair.deaf.update(named.clone()).await.unwrap();
    assert_eq!(petals(&updated), Some(7));
    assert_eq!(updated.meta.uid, newest.meta.uid);
    let error = pair.deaf.update(named).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    // An update without a version overwrites.
    assert_eq!(petals(&pair.deaf.update(rose(8)).await.unwrap()), Some(8));
}

#[tokio::test]
async fn what_seems_to_change_nothing_is_compared_with_the_present() {
    let pair = Pair::new(Some(5)).await;
    pair.near.update(rose(6)).await.unwrap();
    let updated = pair.deaf.update(rose(5)).await.unwrap();
    assert_eq!(petals(&updated), Some(5));
    assert_eq!(petals(&pair.near.get().await.unwrap()), Some(5));
}

#[tokio::test]
async fn what_others_made_can_be_read_changed_and_deleted() {
    let pair = Pair::new(None).await;
    pair.near.create(5, DryRun::Off).await.unwrap();
    assert_eq!(petals(&pair.deaf.get().await.unwrap()), Some(5));
    assert_eq!(petals(&pair.deaf.update(rose(6)).await.unwrap()), Some(6));
    assert!(pair.deaf.delete().await.unwrap());
    for error in [pair.deaf.delete().await.unwrap_err(), pair.deaf.get().await.unwrap_err()] {
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }
    assert!(matches!(pair.deaf.update(rose(6)).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn what_others_deleted_is_gone() {
    let pair = Pair::new(Some(5)).await;
    pair.near.delete().await.unwrap();
    assert!(matches!(pair.deaf.get().await, Err(Error::NotFound { .. })));
    assert!(matches!(pair.deaf.delete().await, Err(Error::NotFound { .. })));
    assert!(matches!(pair.deaf.update(rose(6)).await, Err(Error::NotFound { .. })));
    pair.deaf.create(7, DryRun::Off).await.unwrap();
    assert_eq!(petals(&pair.near.get().await.unwrap()), Some(7));
}

/// `v0` had no spec.
fn to_v1(object: &mut Object) {
    if let Some(petals) = object.fields.remove("petals") {
        object.fields.map_mut("spec").set("petals", petals);
    }
}

fn from_v1(object: &mut Object) {
    if let Some(petals) = petals(object) {
        object.fields.remove("spec");
        object.fields.set("petals", petals);
    }
}

#[tokio::test]
async fn what_is_stored_in_a_version_that_nobody_serves_is_written_again_only_if_it_differs() {
    let (clock, _hand) = Clock::manual();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let far = Arc::new(Far { store: store.clone(), questions: AtomicUsize::new(0) });
    let flowers = Resource::namespaced("Flower", "flowers")
        .version(Version::stored("v1"))
        .json_in_store()
        .reads("example.com/v0", to_v1)
        .stored_as("example.com/v0", from_v1);
    let server = Server::of(flowers, far, &clock).await;
    let key = Layout::default().resource("flowers").namespaced("default", "rose");
    let stored = async || {
        let entry = store.get(&key).await.unwrap().expect("it is stored");
        (String::from_utf8(entry.value.to_vec()).unwrap(), entry.modified)
    };

    let made = server.create(5, DryRun::Off).await.unwrap();
    assert_eq!((made.api_version.as_str(), petals(&made)), ("example.com/v1", Some(5)));
    let (value, first) = stored().await;
    assert!(value.starts_with(r#"{"kind":"Flower","apiVersion":"example.com/v0","metadata":{"#), "{value}");
    assert!(value.ends_with(r#","petals":5}"#), "{value}");
    assert_eq!(server.get().await.unwrap(), made);
    server.update(made.clone()).await.unwrap();
    assert_eq!(stored().await.1, first, "nothing changed, nothing is written");

    let as_v1 = value.replace("example.com/v0\",\"metadata", "example.com/v1\",\"metadata");
    let as_v1 = as_v1.replace(r#","petals":5}"#, r#","spec":{"petals":5}}"#);
    let write = Write::Put { value: as_v1.into(), lives: None };
    store.commit(&key, Expect::Unchanged(first), write).await.unwrap();
    let same = server.get().await.unwrap();
    assert_eq!(petals(&same), Some(5));
    server.update(same).await.unwrap();
    let (value, _) = stored().await;
    assert!(value.starts_with(r#"{"kind":"Flower","apiVersion":"example.com/v0","metadata":{"#), "{value}");
}
