//! etcd store: etcd's gRPC API with messages written by hand.
//!
//! ```text
//! kv.rs     get, list, commit      one Range or one Txn each
//! watch.rs  watch                  one Watch stream each, opened again where it broke
//! lease.rs  TTL of entries         one lease for many of them
//! client.rs members, failover
//! endpoint.rs  the forms of their addresses
//! tls.rs    certificates, which may change
//! ```

#![warn(missing_docs)]

mod client;
mod compact;
mod endpoint;
mod error;
mod kv;
mod lease;
mod messages;
mod store;
#[cfg(test)]
mod tests;
mod tls;
mod watch;

pub use compact::{follow_compactions, keep_compacting};
pub use error::Error;
pub use lease::Filled;
pub use store::{EtcdStore, Options};
pub use tls::{Identity, Tls};
