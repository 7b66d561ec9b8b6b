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
mod certificates;
mod core;
mod flowcontrol;
mod rbac;
mod shared;

pub use access::Access;
pub use catalog::{Settings, groups};
