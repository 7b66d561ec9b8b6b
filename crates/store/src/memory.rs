//! MemoryStore: the reference model.
//!
//! Simple enough to be obviously right: a log of all changes that is never shortened, and states that are
//! computed by replaying it. Its behaviour defines a store; [`crate::conformance`] compares other stores with
//! it. It is also the store of tests.
//!
//! ```text
//! log   2: a = 1   3: b = 1   4: a = 2   5: b deleted      ◀ latest
//!       └──── the state at 4: a = 2, b = 1 ┘
//!                  ▲ oldest: reads before it are refused, as if the history were gone
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    At, Entry, Event, Expect, Key, Page, Result, Revision, Store, StoreError, Tip, VALUE_LIMIT, Write,
};

/// A store in memory. Clones share the store.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    value_limit: usize,
    model: Mutex<Model>,
    /// The latest revision; watchers wait for it to change.
    latest: watch::Sender<Revision>,
}

/// How long a watch may be silent before it sends a progress event.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(clock: Clock) -> MemoryStore {
        MemoryStore::with_value_limit(clock, VALUE_LIMIT)
    }

    /// An empty store that accepts values up to `value_limit` bytes.
    #[must_use]
    pub fn with_value_limit(clock: Clock, value_limit: usize) -> MemoryStore {
        let model = Mutex::new(Model::default());
        let latest = watch::Sender::new(Revision::FIRST);
        MemoryStore { shared: Arc::new(Shared { clock, value_limit, model, latest }) }
    }
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new(Clock::real())
    }
}

impl Store for MemoryStore {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        Box::pin(async move { Ok(self.shared.with(|model| model.tip(prefix))) })
    }

    fn forgotten_before(&self, _: &Key) -> Option<Revision> {
        Some(self.shared.with(|model| model.oldest))
    }

    fn is_near(&self) -> bool {
        true
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        Box::pin(async move { Ok(self.shared.with(|model| model.live.get(key).cloned())) })
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        Box::pin(async move { self.shared.with(|model| model.list(prefix, after, limit, at)) })
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        Box::pin(async move {
            let limit = self.shared.value_limit;
            if let Write::Put { value, .. } = &write
                && value.len() > limit
            {
                return Err(StoreError::TooLarge { size: value.len(), limit });
            }
            let now = self.shared.clock.monotonic();
            self.shared.with(|model| model.commit(now, key, expect, write))
        })
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        let watcher = Watcher {
            shared: self.shared.clone(),
            news: self.shared.latest.subscribe(),
            prefix: prefix.clone(),
            position: after,
            stage: Stage::New,
        };
        // An error is always the last item of a watch.
        stream::unfold(Some(watcher), |watcher| async {
            let mut watcher = watcher?;
            let event = watcher.next().await;
            let go_on = event.is_ok().then_some(watcher);
            Some((event, go_on))
        })
        .boxed()
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.shared.with(|model| model.compact(before)) })
    }
}

impl Shared {
    /// Calls `work` with the model as of now: expired entries are deleted first.
    fn with<T>(&self, work: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = self.model.lock();
        model.expire(self.clock.monotonic());
        let result = work(&mut model);
        let latest = model.latest;
        self.latest.send_if_modified(|known| std::mem::replace(known, latest) != latest);
        result
    }
}

/// One reader of the log.
struct Watcher {
    shared: Arc<Shared>,
    news: watch::Receiver<Revision>,
    prefix: Key,
    /// Everything up to here was delivered.
    position: Revision,
    stage: Stage,
}

#[derive(PartialEq)]
enum Stage {
    /// The start revision has not been checked yet.
    New,
    CatchingUp,
    /// It has reported that it has caught up.
    Live,
}

impl Watcher {
    async fn next(&mut self) -> Result<Event> {
        let deadline = self.shared.clock.monotonic() + PROGRESS_INTERVAL;
        if self.stage == Stage::New {
            self.shared.with(|model| model.check_kept(self.position))?;
            self.stage = Stage::CatchingUp;
        }
        loop {
            self.news.mark_unchanged();
            let (event, latest, expiry) = self.shared.with(|model| {
                let event = model.first_after(self.position, &self.prefix);
                (event, model.latest, model.next_expiry())
            });
            if let Some(event) = event {
                self.position = event.revision();
                return Ok(event);
            }
            self.position = latest;
            if self.stage == Stage::CatchingUp || self.shared.clock.monotonic() >= deadline {
                self.stage = Stage::Live;
                return Ok(Event::Progress(latest));
            }
            // A watcher wakes up at the next expiry, and executes it.
            let wake = expiry.map_or(deadline, |expiry| expiry.min(deadline));
            tokio::select! {
                changed = self.news.changed() => changed.map_err(|_| StoreError::Closed)?,
                () = self.shared.clock.sleep_until(wake) => (),
            }
        }
    }
}

/// The model of a store.
#[derive(Debug)]
struct Model {
    /// The oldest revision that can be read.
    oldest: Revision,
    /// All changes, in order.
    log: Vec<Event>,
    /// The state at `latest`.
    live: BTreeMap<Key, Entry>,
    latest: Revision,
    /// The expiry times of entries with a TTL.
    expiries: BTreeMap<Key, Duration>,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            oldest: Revision::FIRST,
            log: Vec::new(),
            live: BTreeMap::new(),
            latest: Revision::FIRST,
            expiries: BTreeMap::new(),
        }
    }
}

impl Model {
    fn tip(&self, prefix: &Key) -> Tip {
        let last = self.log.iter().rev().find(|event| event.key().is_some_and(|key| key.is_under(prefix)));
        Tip { latest: self.latest, changed: last.map_or(Revision::FIRST, Event::revision) }
    }

    fn list(&self, prefix: &Key, after: Option<&Key>, limit: usize, at: At) -> Result<Page> {
        let past;
        let (state, revision) = match at {
            At::Latest => (&self.live, self.latest),
            At::Exactly(asked) => {
                past = self.state_at(asked)?;
                (&past, asked)
            }
        };
        let mut found = state
            .range::<Key, _>(prefix..)
            .map(|(_, entry)| entry)
            .take_while(|entry| entry.key.is_under(prefix))
            .skip_while(|entry| after.is_some_and(|after| entry.key <= *after));
        let entries: Vec<Entry> = found.by_ref().take(limit).cloned().collect();
        let remaining = found.count();
        Ok(Page { entries, revision, more: remaining > 0, remaining: Some(remaining as u64) })
    }

    fn state_at(&self, asked: Revision) -> Result<BTreeMap<Key, Entry>> {
        self.check_kept(asked)?;
        let mut state = BTreeMap::new();
        for event in self.log.iter().take_while(|event| event.revision() <= asked) {
            replay(&mut state, event);
        }
        Ok(state)
    }

    fn check_kept(&self, asked: Revision) -> Result<()> {
        if asked > self.latest {
            return Err(StoreError::Future { asked, latest: self.latest });
        }
        if asked < self.oldest {
            return Err(StoreError::Compacted { asked, oldest: self.oldest });
        }
        Ok(())
    }

    fn commit(&mut self, now: Duration, key: &Key, expect: Expect, write: Write) -> Result<Revision> {
        let current = self.live.get(key).cloned();
        match (expect, &current) {
            (Expect::Absent, Some(_)) => return Err(StoreError::Exists(key.clone())),
            (Expect::Absent, None) if write != Write::Delete => (),
            (Expect::Unchanged(revision), Some(current)) if current.modified == revision => (),
            _ => {
                return Err(StoreError::Changed { key: key.clone(), current: current.map(Box::new) });
            }
        }
        let revision = self.latest.next();
        self.expiries.remove(key);
        let event = match write {
            Write::Put { value, lives } => {
                if let Some(lives) = lives {
                    self.expiries.insert(key.clone(), now.saturating_add(lives));
                }
                let entry = Entry {
                    key: key.clone(),
                    value,
                    created: current.as_ref().map_or(revision, |current| current.created),
                    modified: revision,
                    version: current.as_ref().map_or(1, |current| current.version + 1),
                };
                Event::Put { entry }
            }
            Write::Delete => Event::Delete { key: key.clone(), revision },
        };
        replay(&mut self.live, &event);
        self.log.push(event);
        self.latest = revision;
        Ok(revision)
    }

    fn first_after(&self, position: Revision, prefix: &Key) -> Option<Event> {
        let next = self.log.partition_point(|event| event.revision() <= position);
        let event = self.log[next..].iter().find(|event| event.key().is_some_and(|key| key.is_under(prefix)));
        event.cloned()
    }

    fn compact(&mut self, before: Revision) -> Result<()> {
        if before > self.latest {
            return Err(StoreError::Future { asked: before, latest: self.latest });
        }
        self.oldest = self.oldest.max(before);
        Ok(())
    }

    fn next_expiry(&self) -> Option<Duration> {
        self.expiries.values().min().copied()
    }

    /// Deletes expired entries, the oldest first.
    fn expire(&mut self, now: Duration) {
        let mut due: Vec<(Duration, Key)> = self
            .expiries
            .iter()
            .filter(|(_, expiry)| **expiry <= now)
            .map(|(key, expiry)| (*expiry, key.clone()))
            .collect();
        due.sort();
        for (_, key) in due {
            let expect = Expect::Unchanged(self.live[&key].modified);
            self.commit(now, &key, expect, Write::Delete).expect("it is there and nobody else writes");
        }
    }
}

fn replay(state: &mut BTreeMap<Key, Entry>, event: &Event) {
    match event {
        Event::Put { entry } => {
            state.insert(entry.key.clone(), entry.clone());
        }
        Event::Delete { key, .. } => {
            state.remove(key);
        }
        Event::Progress(_) => (),
    }
}
