//! Errors of operations, in the engine's words; the server turns them into responses.

use keelson_object::{FieldErrors, GroupKind, GroupResource};
use keelson_status::Status;
use keelson_store::StoreError;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
///
/// Deliberately exhaustive: code that answers clients must handle every case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object does not exist.
    #[error("{resource} {name:?} not found")]
    NotFound {
        /// The resource.
        resource: GroupResource,
        /// The name.
        name: String,
    },
    /// The object exists already.
    #[error("{resource} {name:?} already exists")]
    AlreadyExists {
        /// The resource.
        resource: GroupResource,
        /// The name.
        name: String,
        /// Whether the existing object is being deleted.
        being_deleted: bool,
    },
    /// Every generated name was taken.
    #[error("no free name for {resource} {name:?}")]
    NoFreeName {
        /// The resource.
        resource: GroupResource,
        /// The last name tried.
        name: String,
    },
    /// Another writer was faster, or a precondition does not hold.
    #[error("conflict on {resource} {name:?}: {reason}")]
    Conflict {
        /// The resource.
        resource: GroupResource,
        /// The name.
        name: String,
        /// The reason, in upstream's words.
        reason: String,
    },
    /// The object is invalid.
    #[error("{kind} {name:?} is invalid")]
    Invalid {
        /// The kind.
        kind: GroupKind,
        /// The name.
        name: String,
        /// The field errors.
        errors: FieldErrors,
    },
    /// The request is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// No client may do this.
    #[error("{resource} {name:?} is forbidden: {reason}")]
    Forbidden {
        /// The resource.
        resource: GroupResource,
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The revision is no longer available.
    #[error("too old resource version: {asked} ({oldest})")]
    Expired {
        /// The requested revision.
        asked: u64,
        /// The oldest revision that is available.
        oldest: u64,
    },
    /// The list that the token continues is no longer available; `token` continues with the current objects.
    #[error("the list can no longer be continued")]
    ContinueExpired {
        /// A token that continues inconsistently.
        token: String,
    },
    /// The revision does not exist yet.
    #[error("too large resource version: {asked}, current: {current}")]
    TooLargeRevision {
        /// The requested revision.
        asked: u64,
        /// The current revision.
        current: u64,
        /// After how many seconds a retry makes sense, because a cache may reach the revision. 0 for never.
        retry_seconds: u32,
    },
    /// The operation did not finish in time.
    #[error("timed out")]
    Timeout,
    /// A stored object cannot be read. Lists and watches leave it out.
    #[error("the object at {key} cannot be read: {problem}")]
    Unreadable {
        /// The key, without the prefix of the store.
        key: String,
        /// The revision at which it was written.
        revision: u64,
        /// The reason.
        problem: String,
    },
    /// A stored object cannot be decrypted. Lists and watches leave it out.
    #[error("an object cannot be decrypted: {problem}")]
    Undecryptable {
        /// The key, without the prefix of the store, if errors may contain it.
        key: Option<String>,
        /// The reason.
        problem: String,
    },
    /// Refused with a ready-made Status.
    #[error("rejected")]
    Rejected(Box<Status>),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// An error that upstream returns as a bare text and 500.
    #[error("{0}")]
    Unclassified(String),
    /// A bug in Keelson.
    #[error("bug: {0}")]
    Bug(String),
}

impl From<keelson_watch_cache::Error> for Error {
    fn from(error: keelson_watch_cache::Error) -> Error {
        use keelson_watch_cache::Error as Cache;
        match error {
            Cache::TooLarge { asked, current } => {
                Error::TooLargeRevision { asked: asked.get(), current: current.get(), retry_seconds: 1 }
            }
            Cache::Compacted { asked, oldest } => Error::Expired { asked: asked.get(), oldest: oldest.get() },
            Cache::Store(error) => Error::Store(error),
            Cache::Lagged { seen } => Error::Expired { asked: seen.get(), oldest: seen.get() },
            Cache::Closed => Error::Store(StoreError::Closed),
        }
    }
}
