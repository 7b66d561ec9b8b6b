//! What can go wrong with an operation, in the engine's words; the server turns it into an answer.

use keelson_object::{FieldErrors, GroupKind, GroupResource};
use keelson_status::Status;
use keelson_store::StoreError;

/// What an operation answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation failed.
///
/// Deliberately exhaustive: code that answers clients must handle every case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such object.
    #[error("{resource} {name:?} not found")]
    NotFound {
        /// Of what.
        resource: GroupResource,
        /// Which.
        name: String,
    },
    /// There is one already.
    #[error("{resource} {name:?} already exists")]
    AlreadyExists {
        /// Of what.
        resource: GroupResource,
        /// Which.
        name: String,
        /// Whether the one that is there is on its way out.
        being_deleted: bool,
    },
    /// Every generated name was taken.
    #[error("no free name for {resource} {name:?}")]
    NoFreeName {
        /// Of what.
        resource: GroupResource,
        /// The last name tried.
        name: String,
    },
    /// Somebody else was faster, or a precondition does not hold.
    #[error("conflict on {resource} {name:?}: {reason}")]
    Conflict {
        /// Of what.
        resource: GroupResource,
        /// Which.
        name: String,
        /// What does not fit, in upstream's words.
        reason: String,
    },
    /// The object is wrong.
    #[error("{kind} {name:?} is invalid")]
    Invalid {
        /// Of what.
        kind: GroupKind,
        /// Which.
        name: String,
        /// What is wrong with it.
        errors: FieldErrors,
    },
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// No client may do this.
    #[error("{resource} {name:?} is forbidden: {reason}")]
    Forbidden {
        /// Of what.
        resource: GroupResource,
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
    /// The revision is no longer there.
    #[error("too old resource version: {asked} ({oldest})")]
    Expired {
        /// What was asked for.
        asked: u64,
        /// The oldest that could be.
        oldest: u64,
    },
    /// The list that the token continues is no longer there; `token` continues with what is there now.
    #[error("the list can no longer be continued")]
    ContinueExpired {
        /// Continues inconsistently.
        token: String,
    },
    /// The revision is not there yet.
    #[error("too large resource version: {asked}, current: {current}")]
    TooLargeRevision {
        /// What was asked for.
        asked: u64,
        /// What there is.
        current: u64,
        /// When it is worth another try: a cache may still get there. 0 for never.
        retry_seconds: u32,
    },
    /// The work could not be finished in time.
    #[error("timed out")]
    Timeout,
    /// What is stored cannot be read. Lists and watches leave it out.
    #[error("the object at {key} cannot be read: {problem}")]
    Unreadable {
        /// Where, without the prefix of the store.
        key: String,
        /// Since when.
        revision: u64,
        /// Why.
        problem: String,
    },
    /// What is stored cannot be decrypted. Lists and watches leave it out.
    #[error("an object cannot be decrypted: {problem}")]
    Undecryptable {
        /// Where, without the prefix of the store, if that is told.
        key: Option<String>,
        /// Why.
        problem: String,
    },
    /// Refused by someone who words the answer themselves.
    #[error("rejected")]
    Rejected(Box<Status>),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// What upstream answers with a bare text and 500.
    #[error("{0}")]
    Unclassified(String),
    /// Our own mistake.
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
