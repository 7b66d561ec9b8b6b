//! The trait Store, and the values that go in and out of it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::{Key, Result, Revision};

/// The largest request that etcd takes unless told otherwise. Upstream: etcd server/embed/config.go,
/// DefaultMaxRequestBytes (v3.6.8).
pub const ETCD_REQUEST_LIMIT: usize = 1536 * 1024;

/// The default of the largest value in our own stores.
///
/// Objects are stored there as JSON, which is several times as long as the protobuf for etcd if texts are
/// full of control characters (six times) or fields are many and small. Everything that upstream can store in
/// etcd fits.
pub const VALUE_LIMIT: usize = 16 * 1024 * 1024;

/// One entry, one expectation, one revision: there are no larger transactions.
///
/// All reads and writes are linearizable: they reflect every commit that was acknowledged before the
/// call. Keys are ordered by bytes; a prefix is an exact prefix of the text, so callers that mean a
/// resource end it with a slash.
///
/// An implementation is a store when [`crate::conformance`] passes.
pub trait Store: Send + Sync + 'static {
    /// The latest revision of the store, and of the part of it under `prefix`.
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>>;

    /// The entry of a key, if there is one.
    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>>;

    /// At most `limit` entries under `prefix`, in the order of their keys, beginning behind `after`.
    ///
    /// `usize::MAX` is for all of them, 0 only counts.
    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>>;

    /// Writes if `expect` holds, and returns the revision of the write (of the deletion for a delete).
    ///
    /// A commit is not undone when its future is dropped. A delete needs an existing entry: deleting with
    /// [`Expect::Absent`] fails with `Changed` without a current entry.
    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>>;

    /// Every event under `prefix` after a revision, in order, without gaps or duplicates.
    ///
    /// Ends after an error; a new watch after the last revision received continues where this one ended. When
    /// it has caught up with the present it sends one [`Event::Progress`].
    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>>;

    /// Compacts the history before a revision. The state at `before` stays readable, and a watch may still
    /// start after `before`. Does nothing if that much is compacted already.
    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>>;

    /// The revision before which the history under `prefix` is known to be compacted. This reads memory only:
    /// a store that would have to send a request may return less than it could.
    fn forgotten_before(&self, _prefix: &Key) -> Option<Revision> {
        None
    }

    /// Whether [`Store::tip`] reads memory only: then readers need not accept an old state.
    fn is_near(&self) -> bool {
        false
    }

    /// Whether the store can do its work.
    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value; the store does not interpret it.
    pub value: Bytes,
    /// The revision at which the key was created, for the last time.
    pub created: Revision,
    /// The revision at which the value was written.
    pub modified: Revision,
    /// The number of writes of the key since its creation: 1 for a new one.
    pub version: u64,
}

/// The precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The key does not exist.
    Absent,
    /// The entry was last modified at this revision.
    Unchanged(Revision),
}

/// The write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A new value. `lives` is the TTL of the entry; `None` means for ever.
    Put {
        /// The value.
        value: Bytes,
        /// The TTL; then the store deletes the entry with an ordinary delete.
        lives: Option<Duration>,
    },
    /// Deletes the entry.
    Delete,
}

impl Write {
    /// A value that stays.
    #[must_use]
    pub fn put(value: impl Into<Bytes>) -> Write {
        Write::Put { value: value.into(), lives: None }
    }

    /// A value that the store deletes after some time.
    #[must_use]
    pub fn put_for(value: impl Into<Bytes>, lives: Duration) -> Write {
        Write::Put { value: value.into(), lives: Some(lives) }
    }
}

/// The state of the store that a list reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The present.
    Latest,
    /// The past, or the present if that is its revision.
    Exactly(Revision),
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The entries in the order of their keys.
    pub entries: Vec<Entry>,
    /// The revision of the state of which this is a list.
    pub revision: Revision,
    /// Whether there are entries behind the last one.
    pub more: bool,
    /// The number of entries behind the last one, if the store knows.
    pub remaining: Option<u64>,
}

/// The latest revisions of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The latest revision.
    pub latest: Revision,
    /// The latest revision at which anything under the prefix changed. A reader that has seen the prefix up
    /// to here has seen all of it. A store that does not track it returns `latest`.
    pub changed: Revision,
}

/// A change of one key, or progress. [`History`](crate::History) adds the previous entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The key was written.
    Put {
        /// The new entry.
        entry: Entry,
    },
    /// The key was deleted.
    Delete {
        /// The key.
        key: Key,
        /// The revision of the deletion.
        revision: Revision,
    },
    /// Everything up to here has been delivered.
    Progress(Revision),
}

impl Event {
    /// The revision of the change or of the progress.
    #[must_use]
    pub fn revision(&self) -> Revision {
        match self {
            Event::Put { entry } => entry.modified,
            Event::Delete { revision, .. } | Event::Progress(revision) => *revision,
        }
    }

    /// The key that changed.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        match self {
            Event::Put { entry } => Some(&entry.key),
            Event::Delete { key, .. } => Some(key),
            Event::Progress(_) => None,
        }
    }
}
