//! State shared by the writer, the readers and the watches of a store.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keelson_stdx::task::Tasks;
use keelson_store::{Key, Result, Revision, StoreError, Tip};
use parking_lot::{Mutex, RwLock};
use redb::Database;

use crate::error::store_error;
use crate::index::Index;
use crate::open::{self, Lock, Opened, Options, Recovered};
use crate::watchers::Watchers;

/// Locks are taken in this order: `database`, then `state`.
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// `None` when closed. Readers hold it while they read, so closing waits for them.
    pub(crate) database: RwLock<Option<Database>>,
    pub(crate) state: RwLock<State>,
    /// All events up to this revision are in the queues of the watches they concern.
    published: AtomicU64,
    /// Why the store does not accept writes any more.
    failure: Mutex<Option<Failure>>,
    /// The writer finishes the queued requests and ends.
    pub(crate) closing: AtomicBool,
    /// The store's own loops; watches end with them, too.
    pub(crate) tasks: Tasks,
    pub(crate) lock: Mutex<Option<Lock>>,
}

/// The state that readers see: everything that was acknowledged, and nothing that is not committed yet.
pub(crate) struct State {
    pub(crate) index: Index,
    pub(crate) latest: Revision,
    /// Reads before this revision are refused.
    pub(crate) oldest: Revision,
    pub(crate) watchers: Watchers,
}

/// An error that can be returned to many callers.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: io::ErrorKind,
    text: String,
}

impl Shared {
    pub(crate) fn new(options: Options, opened: Opened) -> Shared {
        let Opened { lock, database, recovered } = opened;
        let Recovered { index, latest, oldest, .. } = recovered;
        Shared {
            options,
            database: RwLock::new(Some(database)),
            state: RwLock::new(State { index, latest, oldest, watchers: Watchers::default() }),
            published: AtomicU64::new(latest.get()),
            failure: Mutex::new(None),
            closing: AtomicBool::new(false),
            tasks: Tasks::new(),
            lock: Mutex::new(Some(lock)),
        }
    }

    /// Calls `work` with the database unless the store is closed.
    pub(crate) fn with_database<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        match &*self.database.read() {
            Some(database) => work(database),
            None => Err(self.failure().map_or(StoreError::Closed, StoreError::from)),
        }
    }

    /// The latest revision of which every event is in the queues.
    pub(crate) fn published(&self) -> Revision {
        Revision::new(self.published.load(Ordering::Acquire)).expect("it began with a revision")
    }

    pub(crate) fn publish(&self, revision: Revision) {
        self.published.store(revision.get(), Ordering::Release);
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().clone()
    }

    /// No writes are accepted from now on. After a failed write redb refuses reads, too, until the file is
    /// opened again.
    pub(crate) fn fail(&self, failure: Failure) {
        tracing::error!(
            error = failure.text,
            "the store cannot write any more; restart when this is repaired"
        );
        *self.failure.lock() = Some(failure);
        let mut database = self.database.write();
        // The file must be closed before it is opened again.
        drop(database.take());
        match open::open_for_reading(&self.options) {
            Ok(reopened) => *database = Some(reopened),
            Err(error) => tracing::error!(%error, "the store cannot read any more"),
        }
    }

    /// Closes the file and releases the lock, after the writer has ended.
    pub(crate) fn release(&self) {
        drop(self.database.write().take());
        drop(self.lock.lock().take());
    }
}

impl State {
    /// Whether the state at a revision can be read.
    pub(crate) fn check_kept(&self, asked: Revision) -> Result<()> {
        let (latest, oldest) = (self.latest, self.oldest);
        if asked > latest {
            return Err(StoreError::Future { asked, latest });
        }
        if asked < oldest {
            return Err(StoreError::Compacted { asked, oldest });
        }
        Ok(())
    }

    pub(crate) fn tip(&self, prefix: &Key) -> Tip {
        let watched = self.watchers.changed(prefix);
        Tip { latest: self.latest, changed: watched.unwrap_or_else(|| self.changed(prefix)) }
    }

    /// The last change of a prefix without watches. A deletion before `oldest` may have been compacted, but a
    /// watch from before `oldest` is refused anyway.
    pub(crate) fn changed(&self, prefix: &Key) -> Revision {
        self.index.last_change(prefix).map_or(self.oldest, |changed| changed.max(self.oldest))
    }
}

impl From<redb::Error> for Failure {
    fn from(error: redb::Error) -> Failure {
        match store_error(error) {
            StoreError::Unavailable(error) => Failure { kind: error.kind(), text: format!("{error}") },
            other => Failure { kind: io::ErrorKind::Other, text: format!("{other}") },
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> StoreError {
        StoreError::Unavailable(io::Error::new(failure.kind, failure.text))
    }
}
