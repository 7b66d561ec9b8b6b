//! YAML as Kubernetes has always read and written it: version 1.1, with the scalars of go-yaml v2.
//!
//! [`read`] reads a body into the tree that upstream would get by way of JSON; [`to_text`] and [`Writer`]
//! write the YAML that users of `kubectl -o yaml` know. `saphyr-parser` does the parsing; the meaning of its
//! events is decided here.

mod anchors;
mod error;
mod float;
mod key_order;
mod read;
mod repair;
mod resolve;
mod style;
mod timestamp;
mod write;

pub use error::Error;
pub use read::{Document, Duplicate, read};
pub use write::{Writer, to_text};
