//! What the standard library lacks: clocks, named tasks, backoff.

#![warn(missing_docs)]

pub mod backoff;
pub mod clock;
pub mod task;
