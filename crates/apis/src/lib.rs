//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod apps;
mod autoscaling;
mod batch;
mod coordination;
mod core;
mod discovery;
mod events;
mod internal;
mod networking;
mod node;
mod policy;
mod resource_k8s;
mod scheduling;
mod shared;
mod storage;
mod storagemigration;

pub use catalog::{Settings, groups};
