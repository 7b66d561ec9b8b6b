//! KMS v2: a plugin behind a unix socket holds the key that encrypts our keys.
//!
//! The server generates a seed, has it encrypted once, and derives a key from it for every value it writes.
//! The encrypted seed is stored beside every value, so a reader has the plugin decrypt the seed once for all
//! values that have it. A status request every minute shows whether the key of the plugin has changed; then a
//! new seed is generated, and values written with the old one are stale.

mod call;
mod envelope;
mod messages;
mod old;
mod probe;
mod service;

pub(crate) use old::OldService;
pub(crate) use service::{Service, ServiceSettings};
