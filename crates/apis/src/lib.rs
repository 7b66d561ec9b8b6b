//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod apps;
mod core;
mod discovery;
mod internal;
mod networking;
mod resource_k8s;
mod shared;
mod storage;
mod storagemigration;

pub use catalog::{Settings, groups};
