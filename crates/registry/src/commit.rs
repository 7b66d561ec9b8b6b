//! The optimistic loop, written once: read, change, commit if unchanged, retry.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_codec::stored;
use keelson_object::{Frozen, Object};
use keelson_store::{Expect, Key, Revision, StoreError, Write};

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

/// Applies `decide` to the object at `place` until nobody interferes.
pub(crate) async fn apply<'s>(
    live: &Live,
    context: &Context,
    place: &Place,
    mut decide: impl FnMut(Option<&Current>) -> Result<Step<'s>>,
) -> Result<Outcome> {
    let mut race = Race::begin(live, place).await?;
    loop {
        let step = match decide(race.current()) {
            Err(Error::NotFound { .. }) if race.current().is_none() => return Err(live.missing(place).await),
            step => step?,
        };
        if let Some(outcome) = race.write(context, step).await? {
            return Ok(outcome);
        }
    }
}

/// The race for one place: look at what is there, try to write, and look again if somebody was faster.
pub(crate) struct Race<'l> {
    live: &'l Live,
    place: &'l Place,
    key: Key,
    current: Option<Current>,
    attempts: usize,
}

impl<'l> Race<'l> {
    /// Looks at `place` for the first time.
    pub(crate) async fn begin(live: &'l Live, place: &'l Place) -> Result<Race<'l>> {
        Ok(Race { live, place, key: live.key(place)?, current: read(live, place).await?, attempts: 0 })
    }

    /// The resource.
    pub(crate) fn live(&self) -> &'l Live {
        self.live
    }

    /// What is there, as far as we know.
    pub(crate) fn current(&self) -> Option<&Current> {
        self.current.as_ref()
    }

    /// Takes the step if nobody was faster; `None` says that somebody was, and that it is worth another try.
    pub(crate) async fn write(&mut self, context: &Context, step: Step<'_>) -> Result<Option<Outcome>> {
        let live = self.live;
        match write(live, context, &self.key, self.current.as_ref(), step).await {
            Err(Error::Store(StoreError::Changed { current: entry, .. })) => {
                self.current = match entry {
                    Some(entry) => Some(thawed(live, live.freeze(&entry.value, entry.modified.get())?)?),
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
        self.attempts += 1;
        if self.attempts == ATTEMPTS { Err(Error::Timeout) } else { Ok(None) }
    }
}

async fn write(
    live: &Live,
    context: &Context,
    key: &Key,
    current: Option<&Current>,
    step: Step<'_>,
) -> Result<Outcome> {
    let (object, removed) = match (step, current) {
        (Step::Keep, Some(current)) => return Ok(unchanged(current)),
        (Step::Keep, None) => return Err(Error::Bug("nothing to keep".to_owned())),
        // What does not change is written nevertheless if it is stored in a form of the past.
        (Step::Put(object), Some(current)) if *object == current.object && !live.is_stale(key).await? => {
            return Ok(unchanged(current));
        }
        (Step::Put(object), _) => (object, false),
        (Step::Remove(object), _) => (object, true),
    };
    let json = stored::encode(&object);
    let revision = if context.dry_run == DryRun::All {
        current.map_or(0, |it| it.frozen.revision())
    } else {
        let expect = expectation(current)?;
        let write = if removed { Write::Delete } else { put(live, &object, live.value(&object, &json)?) };
        let revision = live.objects()?.store.commit(key, expect, write).await?;
        if live.resource.seen_at_once {
            // It is written, whether the cache has seen it or not.
            let _ = live.cache()?.at_least(revision, SEEN_WITHIN).await;
        }
        revision.get()
    };
    Ok(Outcome { object: live.freeze(&json, revision)?, removed, created: current.is_none() })
}

fn put(live: &Live, object: &Object, value: Bytes) -> Write {
    Write::Put { value, lives: live.resource.lives.as_ref().map(|lives| lives(object)) }
}

fn expectation(current: Option<&Current>) -> Result<Expect> {
    let Some(current) = current else { return Ok(Expect::Absent) };
    let revision = Revision::new(current.frozen.revision());
    revision.map(Expect::Unchanged).ok_or_else(|| Error::Bug("an object without a revision".to_owned()))
}

fn unchanged(current: &Current) -> Outcome {
    Outcome { object: current.frozen.clone(), removed: false, created: false }
}

async fn read(live: &Live, place: &Place) -> Result<Option<Current>> {
    let snapshot = live.cache()?.fresh().await?;
    snapshot.get(&place.namespace, &place.name).map(|frozen| thawed(live, frozen.clone())).transpose()
}

async fn read_store(live: &Live, key: &Key) -> Result<Option<Current>> {
    let Some(entry) = live.objects()?.store.get(key).await? else { return Ok(None) };
    thawed(live, live.freeze(&entry.value, entry.modified.get())?).map(Some)
}

fn thawed(live: &Live, frozen: Arc<Frozen>) -> Result<Current> {
    let object = live.thaw(&frozen)?;
    Ok(Current { frozen, object })
}
