//! What the standard library lacks: clocks, named tasks, backoff, bounded maps.

#![warn(missing_docs)]

pub mod backoff;
pub mod clock;
pub mod lru;
pub mod task;
