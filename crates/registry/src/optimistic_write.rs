//! Optimistic concurrency: read an object, change it, commit if it is unchanged, otherwise try again.

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Frozen, Object};
use keelson_stdx::offload;
use keelson_store::{Entry, Expect, Key, Revision, StoreError, Write};

use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::live::{Live, Place};

/// A writer that loses this many races in a row gives up; its deadline normally ends it long before.
const ATTEMPTS: usize = 1000;

/// The longest wait for the cache to see a write.
const SEEN_WITHIN: Duration = Duration::from_secs(3);

/// What to do with an object, decided on its current state. Objects are in canonical form.
pub(crate) enum Step {
    /// Write this.
    Put(Object),
    /// Remove the object. The answer shows what it looked like in the end.
    Remove(Object),
    /// Leave it as it is.
    Keep,
}

/// The result of a write.
pub(crate) struct Outcome {
    /// The object as it is now, or as it was last.
    pub(crate) object: Arc<Frozen>,
    /// Whether it was removed.
    pub(crate) removed: bool,
    /// Whether it was created.
    pub(crate) created: bool,
}

/// The current state of an object, as bytes and as a tree.
pub(crate) struct Current {
    pub(crate) frozen: Arc<Frozen>,
    pub(crate) object: Object,
}

/// A write to one object. It knows the current object, tries to commit, and reads again if another writer was faster.
///
/// If the store is remote, the first state comes from the cache, and mostly that is up to date. An old state
/// does no harm: a commit on top of it fails, and a request that would be refused because of it reads the
/// store first.
///
/// Upstream: apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate, with its cached existing object (v1.36.4).
pub(crate) struct OptimisticWrite<'l> {
    live: &'l Live,
    place: &'l Place,
    key: Key,
    current: Option<Current>,
    freshness: Freshness,
    /// Whether the object is stored in another form than it would be written now.
    is_outdated: bool,
    /// Whether managedFields are dropped when the object is too large with them.
    drops_managed_fields: bool,
    attempts: usize,
}

/// How current the known state is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freshness {
    /// The store confirmed it after the request began.
    Confirmed,
    /// It comes from the cache, or is an assumption.
    Cached,
}

impl<'l> OptimisticWrite<'l> {
    /// Reads the object at `place`.
    pub(crate) async fn begin(live: &'l Live, place: &'l Place) -> Result<OptimisticWrite<'l>> {
        let objects = live.objects()?;
        let (snapshot, freshness) = match objects.store.is_near() {
            true => (objects.cache.fresh().await?, Freshness::Confirmed),
            false => (objects.cache.snapshot(), Freshness::Cached),
        };
        let current = match snapshot.get(&place.namespace, &place.name) {
            Some(frozen) => Some(thawed(live, frozen.clone()).await?),
            None => None,
        };
        Ok(OptimisticWrite { current, freshness, ..OptimisticWrite::for_new(live, place)? })
    }

    /// Assumes that there is no object at `place`: a create does not read.
    pub(crate) fn for_new(live: &'l Live, place: &'l Place) -> Result<OptimisticWrite<'l>> {
        Ok(OptimisticWrite {
            live,
            place,
            key: live.key(place)?,
            current: None,
            freshness: Freshness::Cached,
            is_outdated: false,
            drops_managed_fields: false,
            attempts: 0,
        })
    }

    /// Whether managedFields are dropped when the object is too large with them, instead of refusing it.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/rest.go, isTooLargeError, and its callers (v1.36.4).
    pub(crate) fn drop_large_managed_fields(&mut self, drops: bool) {
        self.drops_managed_fields = drops;
    }

    /// Where the object is, or would be.
    pub(crate) fn place(&self) -> &'l Place {
        self.place
    }

    /// The object, as far as it is known.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// Takes the step if the object is unchanged. `None`: it has changed, and it is worth another attempt.
    pub(crate) async fn commit(&mut self, context: &Context, step: Step) -> Result<Option<Outcome>> {
        let live = self.live;
        let keeps = match (&step, &self.current) {
            (Step::Keep, _) => true,
            (Step::Put(object), Some(current)) => {
                *object == current.object
                    && live.is_in_stored_version(&current.frozen)
                    && !live.is_stale(&self.key).await?
            }
            _ => false,
        };
        if (keeps || context.dry_run == DryRun::All) && self.read_again().await? {
            return self.again();
        }
        // An unchanged object is written nevertheless if it is stored in an old form.
        let step = if keeps && !self.is_outdated { Step::Keep } else { step };
        let mut written = write(live, context, &self.key, self.current.as_ref(), &step).await;
        if self.drops_managed_fields
            && let Err(Error::Store(StoreError::TooLarge { .. } | StoreError::Refused(_))) = written
            && let Step::Put(mut object) = step
        {
            object.meta.managed_fields.clear();
            written = write(live, context, &self.key, self.current.as_ref(), &Step::Put(object)).await;
        }
        match written {
            Err(Error::Store(StoreError::Changed { current: entry, .. })) => {
                self.current = match entry {
                    Some(entry) => {
                        self.is_outdated = live.is_outdated(&entry)?;
                        Some(read_entry(live, &entry).await?)
                    }
                    None => None,
                };
            }
            Err(Error::Store(StoreError::Exists(_))) if live.unreadable(self.place).await?.is_some() => {
                let (resource, name) = (live.resource.group_resource(), self.place.name.to_string());
                return Err(Error::AlreadyExists { resource, name, being_deleted: false });
            }
            Err(Error::Store(StoreError::Exists(_))) => self.current = read_store(live, &self.key).await?,
            done => return done.map(Some),
        }
        self.freshness = Freshness::Confirmed;
        self.again()
    }

    /// Drops `error` if it may come from an old state: then the current state is worth another attempt.
    pub(crate) async fn retry_if_stale(&mut self, error: Error) -> Result<()> {
        // These do not depend on the state, or it is too late for another attempt.
        let is_final = matches!(error, Error::Store(_) | Error::Timeout | Error::Bug(_));
        if is_final || !self.read_again().await? {
            return Err(error);
        }
        self.again().map(|_: Option<()>| ())
    }

    /// Reads the store if the state is not confirmed. Returns whether the object has changed.
    async fn read_again(&mut self) -> Result<bool> {
        if self.freshness == Freshness::Confirmed {
            return Ok(false);
        }
        self.freshness = Freshness::Confirmed;
        let live = self.live;
        let entry = match live.objects()?.store.get(&self.key).await {
            Err(StoreError::Unreadable { .. }) => None,
            entry => entry?,
        };
        self.is_outdated = match &entry {
            Some(entry) => live.is_outdated(entry)?,
            None => false,
        };
        let known = self.current.as_ref().map(|it| it.frozen.revision());
        if entry.as_ref().map(|it| it.modified.get()) == known {
            return Ok(false);
        }
        // An unreadable object does not exist for clients.
        let frozen = entry.and_then(|it| live.freeze_stored(&it).ok());
        self.current = match frozen {
            Some(frozen) => Some(thawed(live, frozen).await?),
            None => None,
        };
        Ok(known.is_some() || self.current.is_some())
    }

    fn again<T>(&mut self) -> Result<Option<T>> {
        self.attempts += 1;
        if self.attempts == ATTEMPTS { Err(Error::Timeout) } else { Ok(None) }
    }
}

async fn write(
    live: &Live,
    context: &Context,
    key: &Key,
    current: Option<&Current>,
    step: &Step,
) -> Result<Outcome> {
    let (object, removed) = match (step, current) {
        (Step::Keep, Some(current)) => return Ok(unchanged(current)),
        (Step::Keep, None) => return Err(Error::Bug("nothing to keep".to_owned())),
        (Step::Put(object), _) => (object, false),
        (Step::Remove(object), _) => (object, true),
    };
    let (object, json) = live.to_stored(object).await?;
    let object = &*object;
    let frozen = match (context.dry_run, removed) {
        (DryRun::All, _) => {
            // A new object keeps the version that the client sent.
            let sent = || object.meta.resource_version.parse().unwrap_or(0);
            live.freeze(&json, current.map_or_else(sent, |it| it.frozen.revision()))?
        }
        (DryRun::Off, true) => {
            let revision = commit(live, key, current, Write::Delete).await?;
            live.freeze(&json, revision)?
        }
        (DryRun::Off, false) => {
            let value = live.value(key, object, &json)?;
            let lives = live.resource.lives.as_ref().map(|lives| lives(object));
            let revision = commit(live, key, current, Write::Put { value: value.clone(), lives }).await?;
            live.written(key, &value, revision)?
        }
    };
    Ok(Outcome { object: frozen, removed, created: current.is_none() })
}

async fn commit(live: &Live, key: &Key, current: Option<&Current>, write: Write) -> Result<u64> {
    let revision = live.objects()?.store.commit(key, expectation(current)?, write).await?;
    if live.resource.seen_at_once {
        // The write is done, even if the cache is late.
        let _ = live.cache()?.at_least(revision, SEEN_WITHIN).await;
    }
    Ok(revision.get())
}

fn expectation(current: Option<&Current>) -> Result<Expect> {
    let Some(current) = current else { return Ok(Expect::Absent) };
    let revision = Revision::new(current.frozen.revision());
    revision.map(Expect::Unchanged).ok_or_else(|| Error::Bug("an object without a revision".to_owned()))
}

fn unchanged(current: &Current) -> Outcome {
    Outcome { object: current.frozen.clone(), removed: false, created: false }
}

async fn read_store(live: &Live, key: &Key) -> Result<Option<Current>> {
    let Some(entry) = live.objects()?.store.get(key).await? else { return Ok(None) };
    read_entry(live, &entry).await.map(Some)
}

async fn read_entry(live: &Live, entry: &Entry) -> Result<Current> {
    offload::expect(entry.value.len()).await;
    thawed(live, live.freeze_stored(entry)?).await
}

async fn thawed(live: &Live, frozen: Arc<Frozen>) -> Result<Current> {
    offload::expect(frozen.json().len()).await;
    let object = live.thaw_to_hub(&frozen).await?;
    Ok(Current { frozen, object })
}
