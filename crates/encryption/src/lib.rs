//! Encryption at rest, in upstream's format: both servers read each other's values.
//!
//! ```text
//! k8s:enc:aescbc:v1:key1:<iv 16><ciphertext, padded>
//! k8s:enc:aesgcm:v1:key1:<nonce 12><ciphertext><tag 16>            the key of the entry is authenticated
//! k8s:enc:secretbox:v1:key1:<nonce 24><tag 16><ciphertext>
//! k8s:enc:kms:v2:name:<EncryptedObject>                             a protobuf message, see kms/messages.rs
//! ```
//!
//! A [`Configuration`] is read from a file and validated; [`Vault::load`] builds the [`Vault`] from it, which
//! has a transform for every resource and can load another configuration while the server runs.

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
