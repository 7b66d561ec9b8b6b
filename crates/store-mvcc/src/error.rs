//! Errors of opening a store, and the mapping of redb's errors to ours.

use std::io;
use std::path::PathBuf;

use keelson_store::StoreError;

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has it open.
    #[error("{} is in use by {}", path.display(), process(*pid))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds it, as it wrote itself into the file.
        pid: Option<u32>,
    },
    /// It was written by a later version of this program.
    #[error("{} has format {found}, this version knows formats up to {supported}", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The latest format that can be read.
        supported: u64,
    },
    /// It is not a store, or not whole. It is left as it is.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: Damage,
    },
    /// A store exists already where a new one was to be created.
    #[error("{} is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system returned an error.
    #[error("cannot open {}", path.display())]
    Io {
        /// The path that could not be opened.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// The kinds of damage to the file of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// The database under the store does not accept it.
    #[error("{0}")]
    Database(String),
    /// A value that every store has is not there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A record cannot be read.
    #[error("the record of revision {0} cannot be read")]
    Record(u64),
    /// A revision that must be there is not.
    #[error("revision {0} is missing")]
    Gap(u64),
    /// The table of live keys contradicts the history.
    #[error("the live entry of {0} does not agree with the history")]
    Disagreement(String),
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
}

/// The error of redb as a store error.
pub(crate) fn store_error(error: redb::Error) -> StoreError {
    match error {
        redb::Error::Io(error) => StoreError::Unavailable(error),
        redb::Error::DatabaseClosed => StoreError::Closed,
        other => StoreError::Unavailable(io::Error::other(other)),
    }
}
