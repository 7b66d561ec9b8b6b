//! Key management services, version 2: a plugin behind a unix socket keeps the key that encrypts our keys.
//!
//! The server makes a seed, has it encrypted once, and derives a key from it for every value it writes. The encrypted
//! seed lies beside every value, so a reader asks the plugin to decrypt the seed, once for all values that
//! have it. A status that is asked for every minute says whether the key of the plugin has changed; then a new seed is
//! made, and what was written with the old one is stale.

mod call;
mod envelope;
mod messages;
mod old;
mod probe;
mod service;

pub(crate) use old::OldService;
pub(crate) use service::{Service, ServiceSettings};
