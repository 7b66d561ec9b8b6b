//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod apps;
mod autoscaling;
mod batch;
mod coordination;
mod core;
mod events;
mod node;
mod policy;
mod scheduling;
mod shared;

pub use catalog::{Settings, groups};
