//! Patches: pure functions on trees.

#![deny(missing_docs)]

pub mod apply;
pub mod json_patch;
pub mod merge_patch;
pub mod strategic;

mod pointer;

pub use json_patch::JsonPatch;
pub use merge_patch::merge;

/// Why a patch cannot be read or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The patch itself is wrong.
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object.
    #[error("{0}")]
    DoesNotApply(String),
    /// Upstream gives up with this text, and its server answers 500.
    #[error("{0}")]
    Failed(String),
    /// The patch asks for too much.
    #[error("{0}")]
    TooLarge(String),
}
