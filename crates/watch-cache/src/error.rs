//! Error: the errors of the cache.

use keelson_store::{Revision, StoreError};

/// The result type of the cache.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a stored value is not an object. Only logged: the cache leaves the value out.
pub type DecodeError = Box<dyn std::error::Error + Send + Sync>;

/// Errors of the cache. How a client is answered is decided elsewhere.
///
/// Deliberately exhaustive: code that answers clients must handle every case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The history before `oldest` has been dropped: the reader has to list again.
    #[error("revision {asked} is too old, the oldest is {oldest}")]
    Compacted {
        /// The requested revision.
        asked: Revision,
        /// The oldest revision after which a watch can start.
        oldest: Revision,
    },
    /// The cache did not get there in time.
    #[error("revision {asked} is too large, the cache is at {current}")]
    TooLarge {
        /// The requested revision.
        asked: Revision,
        /// The revision of the cache when the wait ended.
        current: Revision,
    },
    /// A watcher was so slow that the history went on without it. Its client resumes or lists again.
    #[error("watcher is too slow: the history after revision {seen} is gone")]
    Lagged {
        /// The last revision that the watcher has seen.
        seen: Revision,
    },
    /// The cache was closed.
    #[error("cache is closed")]
    Closed,
    /// The store returned an error.
    #[error("the store failed")]
    Store(#[from] StoreError),
}
