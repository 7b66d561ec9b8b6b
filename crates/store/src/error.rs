//! StoreError: the errors of stores.

use crate::{Entry, Key, Revision};

/// The result type of stores.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Errors of a store. How a client is answered is decided elsewhere.
///
/// Deliberately exhaustive: code that answers clients must handle every case.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The write expected the key to be absent.
    #[error("key {0} already exists")]
    Exists(Key),
    /// The write expected another revision; `current` is the current entry (`None` if there is none).
    #[error("key {key} was changed by someone else")]
    Changed {
        /// The key of the write.
        key: Key,
        /// The current entry.
        current: Option<Box<Entry>>,
    },
    /// The history before `oldest` has been compacted.
    #[error("revision {asked} is compacted, the oldest is {oldest}")]
    Compacted {
        /// The requested revision.
        asked: Revision,
        /// The oldest revision that can be read.
        oldest: Revision,
    },
    /// The store has not got there yet.
    #[error("revision {asked} is in the future, the latest is {latest}")]
    Future {
        /// The requested revision.
        asked: Revision,
        /// The latest revision that can be read.
        latest: Revision,
    },
    /// The value is larger than the store accepts.
    #[error("value of {size} bytes is over the limit of {limit}")]
    TooLarge {
        /// The size of the value.
        size: usize,
        /// The largest accepted size.
        limit: usize,
    },
    /// Another store behind this one rejects the write; this is its message.
    #[error("{0}")]
    Refused(String),
    /// The record of this revision cannot be read any more.
    #[error("the record of revision {revision} is damaged")]
    Corrupt {
        /// The revision whose record is damaged.
        revision: Revision,
    },
    /// The value of the key cannot be read: it may be encrypted with a key that is missing.
    #[error("the value of {key} cannot be read: {problem}")]
    Unreadable {
        /// The key.
        key: Key,
        /// The revision at which it was written.
        revision: Revision,
        /// The reason.
        problem: String,
    },
    /// The value cannot be converted to its stored form.
    #[error("the value of {key} cannot be written: {problem}")]
    Unwritable {
        /// The key.
        key: Key,
        /// The reason.
        problem: String,
    },
    /// The store cannot do it now; it may later. A write may or may not have happened.
    #[error("store is unavailable")]
    Unavailable(#[source] std::io::Error),
    /// The store was closed by its owner.
    #[error("store is closed")]
    Closed,
}
