//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod access;
mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod internal;
mod lifecycle;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource_k8s;
mod scheduling;
mod shared;
mod storage;
mod storagemigration;

pub use access::Access;
pub use catalog::{Settings, groups};
