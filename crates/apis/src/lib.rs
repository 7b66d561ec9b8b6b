//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod apps;
mod core;
mod shared;

pub use catalog::{Settings, groups};
