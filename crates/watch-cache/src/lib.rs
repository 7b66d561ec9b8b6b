//! Watch cache: the live objects of one resource, and their watchers.
//!
//! A [`Cache`] follows one prefix of a store with one list and one watch, whatever the number of its readers:
//!
//! ```text
//!              ┌──────────────── Cache ────────────────┐
//! store.list ─▶│ snapshot   persistent map at revision │──▶ GET, LIST: a Snapshot, O(1), no lock while read
//! store.watch ▶│ history    ring of recent events      │──▶ WATCH from a revision, and slow watchers
//!              │ fan-out    indexes of watchers        │──▶ WATCH live: a bounded queue for each
//!              └───────────────────────────────────────┘
//! ```
//!
//! - The publisher never waits for a watcher. A watcher whose queue is full continues from the history, where
//!   it is only a number; when the history no longer has its position, it ends with [`Error::Lagged`].
//! - Only watchers whose [`Scope`] holds the old or the new state of an object are woken.
//! - Everything is shared: an object's bytes by all readers, an event's frame by all watchers.
//!
//! Nothing here knows HTTP, selectors or kinds: the code that answers clients filters with
//! [`Event::transition`].

#![deny(missing_docs)]

mod backfill;
mod bookmark;
mod cache;
mod error;
mod event;
mod fan_out;
mod feed;
mod freshness;
mod history;
mod kept;
mod metrics;
mod page;
mod revise;
mod scope;
mod self_check;
mod shared;
mod snapshot;
#[cfg(test)]
mod tests;
mod verify;
mod watcher;

pub use bookmark::Bookmarks;
pub use cache::{Cache, CacheOptions, MAX_HISTORY, QUEUE};
pub use error::{DecodeError, Error, Result};
pub use event::{Event, EventKind};
pub use feed::Decode;
pub use freshness::BLOCK_TIMEOUT;
pub use metrics::{ListStats, Stats};
pub use page::{Page, PageRequest};
pub use scope::Scope;
pub use snapshot::{Objects, Snapshot};
pub use verify::Difference;
pub use watcher::{Signal, Start, WatchRequest, Watcher};
