//! Errors of auditing.

use std::io;
use std::path::PathBuf;

/// Why an event cannot be recorded, or auditing cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy cannot be used; the text is upstream's.
    #[error("{0}")]
    Policy(String),
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is longer than a file may be.
    #[error("write length {length} exceeds maximum file size {limit}")]
    TooLong {
        /// The length of the line.
        length: u64,
        /// The size limit of a file.
        limit: u64,
    },
    /// The webhook did not accept the events.
    #[error("{0}")]
    Remote(String),
}
