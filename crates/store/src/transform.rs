//! Transforms of stored values: encryption, in practice.
//!
//! ```text
//! registry ──put {"kind":"Secret",…}──▶ Transformed ──put k8s:enc:aesgcm:v1:key1:…──▶ store
//!          ◀─get {"kind":"Secret",…}──             ◀─get k8s:enc:aesgcm:v1:key1:…──
//! ```
//!
//! The key of the entry is authenticated with the value, so a value cannot be moved to another key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use keelson_stdx::clock::Clock;
use tokio::sync::watch;

use crate::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, StoreError, Tip, Write};

/// How long a list waits for a service that is needed to read values, before it fails.
///
/// Upstream: apiserver/pkg/server/config.go, StorageInitializationTimeout (v1.36.4).
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// The future of a transform.
pub type Transforming<'t, T> = BoxFuture<'t, std::result::Result<T, TransformError>>;

/// Makes the stored form of values and reads it again.
pub trait Transform: Send + Sync + 'static {
    /// The value that is stored as `stored` under `key`.
    fn open<'t>(&'t self, key: &'t Key, stored: &'t Bytes) -> Transforming<'t, Opened>;

    /// The stored form of `value` under `key`.
    fn seal<'t>(&'t self, key: &'t Key, value: &'t Bytes) -> Transforming<'t, Bytes>;

    /// Changes whenever values may have become readable; never, if the sender is dropped.
    fn replacements(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}

/// The transform of each resource.
pub trait Transforms: Send + Sync + 'static {
    /// The transform of a resource, in its present and future form; the group is empty for the core.
    fn of(&self, group: &str, resource: &str) -> Arc<dyn Transform>;

    /// Whether a client may delete a value that cannot be read: then errors name its key.
    fn names_unreadable(&self) -> bool {
        false
    }
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The value.
    pub value: Bytes,
    /// Whether the value would now be stored in another form.
    pub stale: bool,
}

/// Why a value could not be transformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TransformError {
    /// What is wrong, in upstream's words.
    pub problem: String,
    /// Whether a retry may succeed.
    pub passing: bool,
}

/// A store whose values are stored in another form.
///
/// An unreadable value is an error of [`Store::get`]; lists and watches return it as an empty value.
pub struct Transformed {
    store: Arc<dyn Store>,
    transform: Arc<dyn Transform>,
    clock: Clock,
    /// Whether an unreadable value was skipped.
    blind: Arc<AtomicBool>,
}

impl Transformed {
    /// Stores the values in `store` in the form of `transform`.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, transform: Arc<dyn Transform>, clock: Clock) -> Transformed {
        Transformed { store, transform, clock, blind: Arc::default() }
    }

    /// Whether the entry of a key would now be stored in another form.
    pub async fn is_stale(&self, key: &Key) -> Result<bool> {
        let Some(entry) = self.store.get(key).await? else { return Ok(false) };
        match self.transform.open(key, &entry.value).await {
            Ok(opened) => Ok(opened.stale),
            Err(error) => Err(unreadable(&entry, error)),
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { transform: &*self.transform, blind: &self.blind }
    }

    async fn page(&self, mut page: Page) -> Result<Page> {
        let deadline = self.clock.monotonic() + PATIENCE;
        let mut is_waiting = false;
        for entry in &mut page.entries {
            loop {
                match self.reader().shown(entry).await {
                    Err(error) if self.clock.monotonic() >= deadline => return Err(error),
                    Err(error) => {
                        if !std::mem::replace(&mut is_waiting, true) {
                            tracing::warn!(%error, "a list waits for a value to be readable");
                        }
                        self.clock.sleep(PAUSE).await;
                    }
                    Ok(()) => break,
                }
            }
        }
        Ok(page)
    }
}

impl Store for Transformed {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        self.store.tip(prefix)
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        Box::pin(async move {
            let Some(entry) = self.store.get(key).await? else { return Ok(None) };
            match self.transform.open(key, &entry.value).await {
                Ok(opened) => Ok(Some(Entry { value: opened.value, ..entry })),
                Err(error) => Err(unreadable(&entry, error)),
            }
        })
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        Box::pin(async move { self.page(self.store.list(prefix, after, limit, at).await?).await })
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        Box::pin(async move {
            let write = match write {
                Write::Put { value, lives } => {
                    let sealed = self.transform.seal(key, &value).await;
                    let value = sealed.map_err(|error| StoreError::Unwritable {
                        key: key.clone(),
                        problem: error.problem,
                    })?;
                    Write::Put { value, lives }
                }
                Write::Delete => Write::Delete,
            };
            match self.store.commit(key, expect, write).await {
                Err(StoreError::Changed { key, current: Some(mut current) }) => {
                    let opened = self.transform.open(&key, &current.value).await;
                    current.value = opened.map_err(|error| unreadable(&current, error))?.value;
                    Err(StoreError::Changed { key, current: Some(current) })
                }
                done => done,
            }
        })
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        let reading = Reading {
            events: self.store.watch(prefix, after),
            transform: self.transform.clone(),
            blind: self.blind.clone(),
            replacements: self.transform.replacements(),
            last: after,
        };
        stream::unfold(Some(reading), Reading::next).boxed()
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        self.store.compact(before)
    }

    fn forgotten_before(&self, prefix: &Key) -> Option<Revision> {
        self.store.forgotten_before(prefix)
    }

    fn is_near(&self) -> bool {
        self.store.is_near()
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        self.store.health()
    }
}

/// A watch that is opened on the way.
struct Reading {
    events: BoxStream<'static, Result<Event>>,
    transform: Arc<dyn Transform>,
    blind: Arc<AtomicBool>,
    replacements: watch::Receiver<u64>,
    last: Revision,
}

impl Reading {
    async fn next(reading: Option<Reading>) -> Option<(Result<Event>, Option<Reading>)> {
        let mut reading = reading?;
        loop {
            let event = tokio::select! {
                biased;
                event = reading.events.next() => event?,
                Ok(()) = reading.replacements.changed() => {
                    if !reading.blind.swap(false, Ordering::AcqRel) {
                        continue;
                    }
                    // Skipped values do not come again: the reader must list again.
                    let (asked, oldest) = (reading.last, reading.last.next());
                    return Some((Err(StoreError::Compacted { asked, oldest }), None));
                }
            };
            return match event {
                Err(error) => Some((Err(error), None)),
                Ok(event) => {
                    let opened = reading.reader().event(event).await;
                    let goes_on = opened.as_ref().ok().map(Event::revision);
                    reading.last = goes_on.unwrap_or(reading.last);
                    Some((opened, goes_on.is_some().then_some(reading)))
                }
            };
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader { transform: &*self.transform, blind: &self.blind }
    }
}

/// Opens the entries of a list: one that can never be read must not hide the rest.
struct Reader<'r> {
    transform: &'r dyn Transform,
    blind: &'r AtomicBool,
}

impl Reader<'_> {
    async fn event(&self, mut event: Event) -> Result<Event> {
        if let Event::Put { entry } = &mut event {
            self.shown(entry).await?;
        }
        Ok(event)
    }

    async fn shown(&self, entry: &mut Entry) -> Result<()> {
        match self.transform.open(&entry.key, &entry.value).await {
            Ok(opened) => entry.value = opened.value,
            Err(error) if error.passing => return Err(unreadable(entry, error)),
            Err(error) => {
                tracing::warn!(key = entry.key.as_str(), %error, "stored value cannot be read");
                self.blind.store(true, Ordering::Release);
                entry.value = Bytes::new();
            }
        }
        Ok(())
    }
}

fn unreadable(entry: &Entry, error: TransformError) -> StoreError {
    StoreError::Unreadable { key: entry.key.clone(), revision: entry.modified, problem: error.problem }
}

#[cfg(test)]
mod tests;
