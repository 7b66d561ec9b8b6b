//! The embedded durable store.
//!
//! One file, one writer thread, one fsync for everything that waits:
//!
//! ```text
//! commit ──▶ queue ──▶ writer thread ──▶ redb transaction, fsync
//!                        │                      │
//!                        │  index, latest ◀─────┤ only then
//!                        │  acknowledge   ◀─────┤
//!                        ▼                      ▼
//!                     watchers' queues     history on disk
//! get, list ──▶ index (which revision) ──▶ redb snapshot (its value)
//! watch ──▶ history up to the present, then its queue, then history again if the queue ran over
//! ```
//!
//! The parts: [`MvccStore`] is the public type, `writer` decides and commits, `tables` is the file format,
//! `index` is the state in memory, `open` builds the index from the file.

#![warn(missing_docs)]

mod compaction;
mod disk;
mod error;
mod index;
mod lease;
mod open;
mod read;
mod restore;
mod shared;
mod store;
mod tables;
mod watch;
mod watchers;
mod writer;

pub use error::{Damage, Error};
pub use open::Options;
pub use restore::{RestoreError, Restored};
pub use store::MvccStore;
