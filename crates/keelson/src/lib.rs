//! The Keelson server, from its command line to a running process.
//!
//! [`command`] parses the command line, [`config`] decides what it means, [`start`] prepares keys,
//! certificates and the data folder. Only this crate reads flags, the environment and files; all others take
//! values.

#![warn(missing_docs)]

pub mod access;
mod admission_manifests;
pub mod assemble;
mod auditing;
pub mod authentication;
pub mod authentication_config;
pub mod banner;
pub mod certificates;
pub mod command;
pub mod config;
pub mod conversion_metrics;
pub mod data_folder;
pub mod encryption;
mod endpoint;
pub mod error;
pub mod flags;
mod go_file;
mod identity;
pub mod kubeconfig_file;
pub mod logging;
pub mod machine;
pub mod pki;
pub mod preflight;
pub mod reload;
pub mod service_accounts;
pub mod signals;
pub mod start;
mod storage;
pub mod store_command;
pub mod token_metrics;
pub mod webhook_metrics;

/// The version of Kubernetes that is served.
pub const KUBERNETES_VERSION: &str = "v1.36.4";
/// Our own version.
pub const KEELSON_VERSION: &str = env!("CARGO_PKG_VERSION");
