//! Feed: one list and one watch of the store keep the cache up to date.
//!
//! When the store has compacted the revision of the cache, or when the cache turns out to be wrong,
//! everything is listed again, and the differences become events. The individual changes are lost, only their
//! result is known: a deleted object gets its own revision, the highest that no other change has. There are
//! enough of them, because every deletion had one.
//!
//! ```text
//! we were at 90      listed at 100: web@97, db@85      so: web changed at 97,
//! and had web@80, db@85, old@70, tmp@88                    old and tmp went at 99 and 100
//! ```

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::StreamExt;
use keelson_object::Frozen;
use keelson_stdx::backoff::Backoff;
use keelson_stdx::offload;
use keelson_store::{At, Entry, Event, Key, Revision, Store, StoreError};
use tracing::{info, warn};

use crate::error::DecodeError;
use crate::shared::{Change, Shared};
use crate::snapshot::Snapshot;

/// Makes an object of a stored value: the bytes and the revision of the entry.
pub type Decode = Arc<dyn Fn(&Entry) -> Result<Arc<Frozen>, DecodeError> + Send + Sync>;

/// The number of entries in a page of the list.
const PAGE: usize = 1000;
/// How often a list that is overtaken by compaction is started again.
const LIST_ATTEMPTS: usize = 5;
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// The source of a cache.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) prefix: Key,
    pub(crate) decode: Decode,
}

/// All entries of the store that are objects, at one revision.
pub(crate) struct Listing {
    pub(crate) revision: Revision,
    pub(crate) objects: Vec<Listed>,
    pub(crate) failures: u64,
}

pub(crate) struct Listed {
    pub(crate) key: Key,
    pub(crate) modified: Revision,
    pub(crate) object: Arc<Frozen>,
}

impl Source {
    /// Lists everything. Objects that `known` has are not decoded again.
    pub(crate) async fn list(&self, known: Option<&Snapshot>) -> Result<Listing, StoreError> {
        let mut attempts = 1;
        loop {
            match self.list_at(known, At::Latest).await {
                Err(StoreError::Compacted { .. }) if attempts < LIST_ATTEMPTS => attempts += 1,
                outcome => return outcome,
            }
        }
    }

    /// Lists everything, page by page, as of one revision.
    pub(crate) async fn list_at(&self, known: Option<&Snapshot>, mut at: At) -> Result<Listing, StoreError> {
        let (mut objects, mut failures) = (Vec::new(), 0);
        let mut after: Option<Key> = None;
        loop {
            let page = self.store.list(&self.prefix, after.as_ref(), PAGE, at).await?;
            at = At::Exactly(page.revision);
            after = page.entries.last().map(|entry| entry.key.clone());
            let size = page.entries.iter().map(|entry| entry.value.len()).sum();
            let count = page.entries.len();
            let listed = |entry: Entry| {
                let cached = known.and_then(|known| known.get_key(&entry.key));
                let cached = cached.filter(|object| object.revision() == entry.modified.get()).cloned();
                let object = cached.or_else(|| self.decode(&entry))?;
                Some(Listed { key: entry.key, modified: entry.modified, object })
            };
            let before = objects.len();
            offload::run(size, || objects.extend(page.entries.into_iter().filter_map(listed))).await;
            failures += (count - (objects.len() - before)) as u64;
            if !page.more {
                return Ok(Listing { revision: page.revision, objects, failures });
            }
        }
    }

    /// The object of an entry; logged if there is none.
    pub(crate) fn decode(&self, entry: &Entry) -> Option<Arc<Frozen>> {
        match (self.decode)(entry) {
            Ok(object) => Some(object),
            Err(error) => {
                let (key, revision) = (entry.key.as_str(), entry.modified.get());
                warn!(key, revision, %error, "stored value is not an object and is left out");
                None
            }
        }
    }
}

/// Follows the store until it is closed.
pub(crate) struct Feed {
    pub(crate) source: Source,
    pub(crate) shared: Arc<Shared>,
}

/// Why the feed no longer follows the store.
enum Broken {
    /// The store has compacted the revision of the cache.
    Forgotten,
    /// The cache differs from the store.
    Doubted,
    Closed,
    Other(Option<StoreError>),
}

impl Feed {
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::new(FIRST_DELAY, LONGEST_DELAY);
        loop {
            let broken = self.follow(&mut backoff).await;
            self.shared.counters.following.store(false, Relaxed);
            let broken = match broken {
                Broken::Forgotten => self.relist().await.err().map(Some),
                Broken::Doubted => {
                    // The wrong entries have old revisions, and past events cannot be corrected: watchers are
                    // ended, and clients list again.
                    self.shared.fan_out.lock().end_all();
                    self.relist().await.err().map(Some)
                }
                Broken::Closed => Some(Some(StoreError::Closed)),
                Broken::Other(error) => Some(error),
            };
            let Some(error) = broken else { continue };
            if matches!(error, Some(StoreError::Closed)) {
                self.shared.close();
                return;
            }
            let delay = backoff.delay();
            self.warn(error.as_ref(), delay);
            self.shared.clock.sleep(delay).await;
        }
    }

    fn warn(&self, error: Option<&StoreError>, delay: Duration) {
        let error = error.map(|error| error as &dyn std::error::Error);
        let (prefix, retry_in_ms) = (self.source.prefix.as_str(), delay.as_millis() as u64);
        warn!(prefix, error, retry_in_ms, "watch of the store broke");
    }

    /// Publishes the events of the store until its watch ends.
    async fn follow(&self, backoff: &mut Backoff) -> Broken {
        let counters = &self.shared.counters;
        let mut stream = self.source.store.watch(&self.source.prefix, self.shared.applied());
        counters.following.store(true, Relaxed);
        loop {
            let event = tokio::select! {
                event = stream.next() => event,
                () = self.shared.doubt.notified() => return Broken::Doubted,
            };
            let Some(event) = event else { break };
            match event {
                Ok(event) => {
                    backoff.reset();
                    let size = match &event {
                        Event::Put { entry, .. } => entry.value.len(),
                        Event::Delete { .. } | Event::Progress(_) => 0,
                    };
                    offload::run(size, || self.accept(event)).await;
                }
                Err(StoreError::Compacted { .. }) => return Broken::Forgotten,
                Err(StoreError::Closed) => return Broken::Closed,
                Err(error) => {
                    counters.reconnects.add(1);
                    return Broken::Other(Some(error));
                }
            }
        }
        counters.reconnects.add(1);
        Broken::Other(None)
    }

    fn accept(&self, event: Event) {
        match event {
            Event::Put { entry, .. } => {
                let object = self.source.decode(&entry);
                self.shared.counters.decode_failures.add(u64::from(object.is_none()));
                // An unreadable object is removed for readers: its previous state would be wrong.
                self.shared.publish(Change { key: entry.key, revision: entry.modified, object });
            }
            Event::Delete { key, revision, .. } => {
                self.shared.publish(Change { key, revision, object: None });
            }
            Event::Progress(revision) => self.shared.progress(revision),
        }
    }

    /// Lists everything again and publishes the differences.
    async fn relist(&self) -> Result<(), StoreError> {
        let known = self.shared.snapshot();
        let listing = self.source.list(Some(&known)).await?;
        let (prefix, revision) = (self.source.prefix.as_str(), listing.revision);
        let counters = &self.shared.counters;
        counters.relists.add(1);
        counters.decode_failures.add(listing.failures);
        let size = 64 * (known.len() + listing.objects.len());
        let changes = offload::run(size, || differences(&known, listing)).await;
        info!(prefix, revision = revision.get(), changes = changes.len(), "listed everything again");
        // Each is applied to the state, and handed to its watchers.
        let size = 256 * changes.len();
        offload::run(size, || self.shared.replace(changes, revision)).await;
        Ok(())
    }
}

/// The changes between a snapshot and a list, in a possible order.
fn differences(known: &Snapshot, listing: Listing) -> Vec<Change> {
    let present: HashSet<Key> = listing.objects.iter().map(|listed| listed.key.clone()).collect();
    let mut changes: Vec<Change> = listing
        .objects
        .into_iter()
        .filter(|listed| {
            known.get_key(&listed.key).is_none_or(|object| object.revision() != listed.modified.get())
        })
        .map(|Listed { key, modified, object }| Change { key, revision: modified, object: Some(object) })
        .collect();

    let used: HashSet<u64> = changes.iter().map(|change| change.revision.get()).collect();
    let mut free =
        (known.revision().get() + 1..=listing.revision.get()).rev().filter(|it| !used.contains(it));
    let gone = known.iter().filter(|(key, _)| !present.contains(*key)).map(|(key, _)| Change {
        key: key.clone(),
        revision: free.next().and_then(Revision::new).unwrap_or(listing.revision),
        object: None,
    });
    changes.extend(gone);
    changes.sort_by_key(|change| change.revision);
    changes
}
