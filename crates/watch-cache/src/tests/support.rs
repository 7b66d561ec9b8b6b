//! Test support: objects, a store that can be delayed and broken, a cache on it, a client that checks.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use keelson_object::{Frozen, Index};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{
    At, Entry, Event, Expect, Key, MemoryStore, Page, Result, Revision, Store, StoreError, Tip, Write,
};
use tokio::sync::watch;

use crate::{
    Cache, CacheOptions, DecodeError, EventKind, Scope, Signal, Snapshot, Start, WatchRequest, Watcher,
};

/// An object with one selectable field.
pub(crate) fn object(namespace: &str, name: &str, field: &str, revision: u64) -> Arc<Frozen> {
    Arc::new(freeze(namespace, name, field, revision))
}

fn freeze(namespace: &str, name: &str, field: &str, revision: u64) -> Frozen {
    let metadata = format!(r#"{{"name":"{name}","namespace":"{namespace}","resourceVersion":"{revision}"}}"#);
    let json = Bytes::from(format!(r#""metadata":{metadata},"spec":{{"nodeName":"{field}"}}}}"#));
    let index = Index {
        name: name.into(),
        namespace: namespace.into(),
        fields: Box::new([field.into()]),
        ..Index::default()
    };
    let start = "\"metadata\":".len() as u32;
    Frozen::new(revision, index, json, start..start + metadata.len() as u32)
}

pub(crate) const PREFIX: &str = "/registry/pods/";

/// A value is the field of its object; `broken` is not an object.
fn decode(entry: &Entry) -> std::result::Result<Arc<Frozen>, DecodeError> {
    let path = entry.key.as_str().strip_prefix(PREFIX).expect("only our keys are listed");
    let (namespace, name) = path.split_once('/').expect("namespace/name");
    match std::str::from_utf8(&entry.value)? {
        "broken" => Err("broken".into()),
        field => Ok(Arc::new(freeze(namespace, name, field, entry.modified.get()))),
    }
}

/// The reference store; its watches can be held up and broken.
pub(crate) struct Rig {
    store: MemoryStore,
    breaks: watch::Sender<u64>,
    open: watch::Sender<bool>,
}

impl Store for Rig {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        self.store.tip(prefix)
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
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
        self.store.commit(key, expect, write)
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        let mut breaks = self.breaks.subscribe();
        let open = self.open.subscribe();
        let held_up = self.store.watch(prefix, after).then(move |event| {
            let mut open = open.clone();
            async move {
                if event.is_ok() {
                    open.wait_for(|open| *open).await.expect("the rig outlives its watches");
                }
                event
            }
        });
        let broken = async move { breaks.changed().await };
        let end = stream::once(async { Err(StoreError::Unavailable(io::Error::other("cut"))) });
        held_up.take_until(Box::pin(broken)).chain(end).boxed()
    }

    fn forgotten_before(&self, prefix: &Key) -> Option<Revision> {
        self.store.forgotten_before(prefix)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(before)
    }
}

/// A cache on a rig, with a clock that stands still.
pub(crate) struct Fixture {
    pub(crate) cache: Arc<Cache>,
    pub(crate) rig: Arc<Rig>,
    pub(crate) hand: ManualClock,
    clock: Clock,
}

impl Fixture {
    pub(crate) async fn new() -> Fixture {
        Fixture::with(|_| ()).await
    }

    pub(crate) async fn with(adapt: impl FnOnce(&mut CacheOptions)) -> Fixture {
        let (clock, hand) = Clock::manual();
        let rig = Arc::new(Rig {
            store: MemoryStore::new(clock.clone()),
            breaks: watch::Sender::new(0),
            open: watch::Sender::new(true),
        });
        let cache = start(&rig, &clock, adapt).await;
        Fixture { cache, rig, hand, clock }
    }

    /// Another cache on the same store, as after a restart.
    pub(crate) async fn second_cache(&self) -> Arc<Cache> {
        start(&self.rig, &self.clock, |_| ()).await
    }

    /// Writes `namespace/name`, whatever is there.
    pub(crate) async fn put(&self, path: &str, field: &str) -> Revision {
        self.write(&Key::from(format!("{PREFIX}{path}")), Write::put(field.to_owned())).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Revision {
        self.write(&Key::from(format!("{PREFIX}{path}")), Write::Delete).await
    }

    pub(crate) async fn exists(&self, path: &str) -> bool {
        self.rig.get(&Key::from(format!("{PREFIX}{path}"))).await.unwrap().is_some()
    }

    /// Writes an object of another resource.
    pub(crate) async fn elsewhere(&self) -> Revision {
        self.write(&Key::from("/registry/secrets/a/b"), Write::put("x")).await
    }

    async fn write(&self, key: &Key, write: Write) -> Revision {
        let current = self.rig.get(key).await.unwrap();
        let expect = current.map_or(Expect::Absent, |entry| Expect::Unchanged(entry.modified));
        self.rig.commit(key, expect, write).await.unwrap()
    }

    /// Holds back or releases the events of the store's watch.
    pub(crate) fn hold(&self) {
        self.rig.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.rig.open.send_replace(true);
    }

    /// Breaks the store's watch, and lets enough time pass that the feed tries again.
    pub(crate) async fn cut(&self) {
        self.rig.breaks.send_modify(|count| *count += 1);
        self.pass(Duration::from_secs(10)).await;
    }

    /// Lets time pass, and lets all tasks notice.
    pub(crate) async fn pass(&self, time: Duration) {
        turn().await;
        self.hand.advance(time);
        turn().await;
    }

    pub(crate) fn watch(&self, request: WatchRequest) -> Client {
        self.try_watch(request).expect("the watch starts")
    }

    pub(crate) fn try_watch(&self, request: WatchRequest) -> crate::Result<Client> {
        let start = request.start;
        let watcher = self.cache.watch(request)?;
        let began = if start == Start::Snapshot { self.cache.revision().get() } else { 0 };
        Ok(Client { scope: Scope::All, watcher, copy: BTreeMap::new(), began, last: 0 })
    }

    /// The cache when it has seen everything.
    pub(crate) async fn fresh(&self) -> Snapshot {
        within(self.cache.fresh()).await.expect("the cache gets fresh")
    }
}

async fn start(rig: &Arc<Rig>, clock: &Clock, adapt: impl FnOnce(&mut CacheOptions)) -> Arc<Cache> {
    let mut options = CacheOptions::new(rig.clone(), Key::from(PREFIX), Arc::new(decode), clock.clone());
    adapt(&mut options);
    Cache::start(options).await.expect("the cache starts")
}

/// Lets all other tasks of a single-threaded test run until they wait.
pub(crate) async fn turn() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// A time limit for something that must happen soon.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it happens")
}

/// The objects as `path=field` in the order of their keys.
pub(crate) fn listed(snapshot: &Snapshot, scope: &Scope) -> String {
    let text = |object: &Frozen| {
        let index = object.index();
        format!("{}/{}={}", index.namespace, index.name, index.fields[0])
    };
    let objects: Vec<String> = snapshot.scoped(scope, None).map(|(_, object)| text(object)).collect();
    objects.join(" ")
}

/// A client that keeps a copy of the watched objects, and checks that every event makes sense.
pub(crate) struct Client {
    pub(crate) watcher: Watcher,
    scope: Scope,
    copy: BTreeMap<String, (u64, String)>,
    /// Objects that are added up to here may be initial ones, which come in no order.
    began: u64,
    last: u64,
}

impl Client {
    /// Sees only objects in the scope: an object that leaves it is deleted.
    pub(crate) fn through(mut self, scope: Scope) -> Client {
        self.scope = scope;
        self
    }

    /// Starts with a list.
    pub(crate) fn with_list(mut self, snapshot: &Snapshot) -> Client {
        for (_, object) in snapshot.scoped(&self.scope, None) {
            self.copy.insert(path(object), (object.revision(), object.index().fields[0].as_str().to_owned()));
        }
        self.last = snapshot.revision().get();
        self
    }

    /// The events that are available without waiting, as text: `+a/x=n1`, `~a/x=n2`, `-a/x=n2`, `*7` for
    /// bookmarks, `|7` for the end of the initial objects, `!` for an error.
    pub(crate) fn ready(&mut self) -> String {
        let mut seen = Vec::new();
        while let Some(signal) = self.step() {
            seen.extend(signal);
        }
        seen.join(" ")
    }

    /// One signal that is there; `Some(None)` for one that does not concern us.
    pub(crate) fn step(&mut self) -> Option<Option<String>> {
        let signal = self.watcher.ready()?;
        Some(self.take(signal))
    }

    /// The next signal that concerns us; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            let signal = within(self.watcher.next()).await?;
            if let Some(text) = self.take(signal) {
                return Some(text);
            }
        }
    }

    fn take(&mut self, signal: crate::Result<Signal>) -> Option<String> {
        let event = match signal {
            Err(_) => return Some("!".to_owned()),
            Ok(Signal::Bookmark(revision)) => {
                assert!(revision.get() >= self.last, "a bookmark does not go back");
                self.last = revision.get();
                return Some(format!("*{revision}"));
            }
            Ok(Signal::InitialEventsEnd(revision)) => {
                self.last = revision.get();
                return Some(format!("|{revision}"));
            }
            Ok(Signal::Event(event)) => event,
        };
        let revision = event.revision().get();
        if event.kind() != EventKind::Added || revision > self.began {
            assert!(revision > self.last, "{event:?} is after {}", self.last);
            self.last = revision;
        }
        let (kind, object) = event.transition(|object| self.scope.holds(object))?;
        let (path, field) = (path(&object), object.index().fields[0].as_str().to_owned());
        let text = format!("\"resourceVersion\":\"{}\"", object.revision());
        let json = std::str::from_utf8(object.json()).unwrap();
        assert!(json.contains(&text), "{json} says its revision {}", object.revision());
        let known = self.copy.contains_key(&path);
        let sign = match kind {
            EventKind::Added => {
                assert!(!known, "{path} is added once");
                self.copy.insert(path.clone(), (object.revision(), field.clone()));
                '+'
            }
            EventKind::Modified => {
                assert!(known, "{path} was added before");
                self.copy.insert(path.clone(), (object.revision(), field.clone()));
                '~'
            }
            EventKind::Deleted => {
                assert_eq!(object.revision(), event.revision().get());
                assert!(self.copy.remove(&path).is_some(), "{path} was added before");
                '-'
            }
        };
        Some(format!("{sign}{path}={field}"))
    }

    /// Checks that the copy equals a list.
    #[track_caller]
    pub(crate) fn check(&self, snapshot: &Snapshot) {
        let listed: BTreeMap<String, (u64, String)> = snapshot
            .scoped(&self.scope, None)
            .map(|(_, object)| {
                (path(object), (object.revision(), object.index().fields[0].as_str().to_owned()))
            })
            .collect();
        assert_eq!(self.copy, listed);
    }
}

fn path(object: &Frozen) -> String {
    format!("{}/{}", object.index().namespace, object.index().name)
}
