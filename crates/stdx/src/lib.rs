//! What the standard library lacks: clocks, named tasks, backoff, bounded maps, histograms, CPU-bound work.

#![warn(missing_docs)]

pub mod backoff;
pub mod clock;
pub mod histogram;
pub mod lru;
pub mod offload;
pub mod task;
