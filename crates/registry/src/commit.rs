//! The optimistic loop, written once: read, change, commit if unchanged, retry.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use keelson_codec::stored;
use keelson_object::{Frozen, Object};
use keelson_stdx::offload;
use keelson_store::{Entry, Expect, Key, Revision, StoreError, Write};

use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::live::{Live, Place};

/// A writer that loses this many races in a row gives up; its deadline normally ends it long before.
const ATTEMPTS: usize = 1000;

/// Nobody waits longer than this for the cache to see a write.
const SEEN_WITHIN: Duration = Duration::from_secs(3);

/// What to do with the object at a place, decided on its current state. Objects are in canonical form.
pub(crate) enum Step<'s> {
    /// Write this.
    Put(Cow<'s, Object>),
    /// Remove the object. What it looked like in the end is the answer.
    Remove(Cow<'s, Object>),
    /// Leave it as it is.
    Keep,
}

/// What became of it.
pub(crate) struct Outcome {
    /// The object as it is now, or as it was last.
    pub(crate) object: Arc<Frozen>,
    /// Whether it is gone.
    pub(crate) removed: bool,
    /// Whether it was not there before.
    pub(crate) created: bool,
}

/// The current state of an object, both ways.
pub(crate) struct Current {
    pub(crate) frozen: Arc<Frozen>,
    pub(crate) object: Object,
}

/// The race for one place: look at what is there, try to write, and look again if somebody was faster.
///
/// Where the store is far away, the first look is at the cache, and mostly that is what is there. An old state does no
/// harm: a write on top of it fails, and whoever would act on it otherwise looks again before.
///
/// Upstream: apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate, with its cached existing object (v1.36.4).
pub(crate) struct Race<'l> {
    live: &'l Live,
    place: &'l Place,
    key: Key,
    current: Option<Current>,
    sight: Sight,
    /// Whether the store has it in another way than it would be written now.
    is_outdated: bool,
    /// Whether managedFields are given up when the object is too large with them.
    managers_may_go: bool,
    attempts: usize,
}

/// How what is known of a place is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// The store said so after we began.
    Certain,
    /// The cache has it, or it is what we hope for.
    Assumed,
}

impl<'l> Race<'l> {
    /// Looks at `place` for the first time.
    pub(crate) async fn begin(live: &'l Live, place: &'l Place) -> Result<Race<'l>> {
        let objects = live.objects()?;
        let (snapshot, sight) = match objects.store.is_near() {
            true => (objects.cache.fresh().await?, Sight::Certain),
            false => (objects.cache.snapshot(), Sight::Assumed),
        };
        let found = snapshot.get(&place.namespace, &place.name);
        let current = match found {
            Some(frozen) => Some(thawed(live, frozen.clone()).await?),
            None => None,
        };
        Ok(Race {
            live,
            place,
            key: live.key(place)?,
            current,
            sight,
            is_outdated: false,
            managers_may_go: false,
            attempts: 0,
        })
    }

    /// Hopes that there is nothing: who makes something new need not look.
    pub(crate) fn for_new(live: &'l Live, place: &'l Place) -> Result<Race<'l>> {
        let key = live.key(place)?;
        let sight = Sight::Assumed;
        Ok(Race {
            live,
            place,
            key,
            current: None,
            sight,
            is_outdated: false,
            managers_may_go: false,
            attempts: 0,
        })
    }

    /// Gives up managedFields rather than to refuse an object that is too large with them.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/rest.go, isTooLargeError, and its callers (v1.36.4).
    pub(crate) fn managers_may_go(mut self) -> Race<'l> {
        self.managers_may_go = true;
        self
    }

    /// The resource.
    pub(crate) fn live(&self) -> &'l Live {
        self.live
    }

    /// Where the object is, or would be.
    pub(crate) fn place(&self) -> &'l Place {
        self.place
    }

    /// What is there, as far as we know.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// Takes the step if nobody was faster; `None` says that somebody was, and that it is worth another try.
    pub(crate) async fn write(&mut self, context: &Context, step: Step<'_>) -> Result<Option<Outcome>> {
        let live = self.live;
        let keeps = match (&step, &self.current) {
            (Step::Keep, _) => true,
            (Step::Put(object), Some(current)) => {
                **object == current.object && !live.is_stale(&self.key).await?
            }
            _ => false,
        };
        if (keeps || context.dry_run == DryRun::All) && self.look_again().await? {
            return self.again();
        }
        // What does not change is written nevertheless if it is stored in a form of the past.
        let step = if keeps && !self.is_outdated { Step::Keep } else { step };
        let mut written = write(live, context, &self.key, self.current.as_ref(), &step).await;
        if let (Step::Put(object), true) = (&step, self.managers_may_go)
            && let Err(Error::Store(StoreError::TooLarge { .. } | StoreError::Refused(_))) = written
        {
            let mut smaller = object.as_ref().clone();
            smaller.meta.managed_fields.clear();
            let step = Step::Put(Cow::Owned(smaller));
            written = write(live, context, &self.key, self.current.as_ref(), &step).await;
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
        self.sight = Sight::Certain;
        self.again()
    }

    /// Whether `error` may come of an old state: then it is forgotten, and the present one is worth another try.
    pub(crate) async fn excuse(&mut self, error: Error) -> Result<()> {
        // What these say has nothing to do with what is there, or comes too late.
        let is_final = matches!(error, Error::Store(_) | Error::Timeout | Error::Bug(_));
        if is_final || !self.look_again().await? {
            return Err(error);
        }
        self.again().map(|_: Option<()>| ())
    }

    /// Looks at the store where that has not happened; says whether there is something else than we knew.
    async fn look_again(&mut self) -> Result<bool> {
        if self.sight == Sight::Certain {
            return Ok(false);
        }
        self.sight = Sight::Certain;
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
        // What cannot be read is not there for anybody.
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
    step: &Step<'_>,
) -> Result<Outcome> {
    let (object, removed) = match (step, current) {
        (Step::Keep, Some(current)) => return Ok(unchanged(current)),
        (Step::Keep, None) => return Err(Error::Bug("nothing to keep".to_owned())),
        (Step::Put(object), _) => (object, false),
        (Step::Remove(object), _) => (object, true),
    };
    let json = stored::encode(object);
    let frozen = match (context.dry_run, removed) {
        (DryRun::All, _) => {
            // What would be new keeps the version that the client sent.
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
        // It is written, whether the cache has seen it or not.
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
    let object = live.thaw(&frozen)?;
    Ok(Current { frozen, object })
}
