//! Why something cannot be recorded.

use std::io;
use std::path::PathBuf;

/// Why something cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy cannot be used; the text is upstream's.
    #[error("{0}")]
    Policy(String),
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is longer than a file may be.
    #[error("write length {length} exceeds maximum file size {limit}")]
    TooLong {
        /// Of the line.
        length: u64,
        /// Of a file.
        limit: u64,
    },
    /// Who is told of events does not take them.
    #[error("{0}")]
    Remote(String),
}
