//! Encryption at rest, in the bytes of upstream: what one server wrote the other reads.
//!
//! ```text
//! k8s:enc:aescbc:v1:key1:<iv 16><ciphertext, padded>
//! k8s:enc:aesgcm:v1:key1:<nonce 12><ciphertext><tag 16>            the key of the entry is authenticated
//! k8s:enc:secretbox:v1:key1:<nonce 24><tag 16><ciphertext>
//! k8s:enc:kms:v2:name:<EncryptedObject>                             a protobuf message, see kms/messages.rs
//! ```
//!
//! A [`Configuration`] is read from a file and checked; [`Vault::load`] makes the [`Vault`] of it, which gives every
//! resource its transform and can be given another configuration while the server runs.

#![warn(missing_docs)]

mod chain;
mod cipher;
mod config;
mod error;
mod kms;
mod meter;
mod vault;

pub use config::{Configuration, Problem};
pub use error::Error;
pub use meter::{Meter, Transformation, Unmetered};
pub use vault::{Settings, Vault};
