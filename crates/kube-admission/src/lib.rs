//! The admission plugins of Kubernetes: one file per plugin, and the list that says in which order they are asked.
#![warn(missing_docs)]

mod namespace_lifecycle;
mod plugins;

pub use plugins::{Selection, is_known};
