//! YAML as Kubernetes has always read and written it: version 1.1, with the scalars of go-yaml v2.
//!
//! A body is read by [`read`] into the tree that upstream would get by way of JSON; [`to_text`] and [`Writer`]
//! write what `kubectl -o yaml` users know. Parsing itself is `saphyr-parser`'s; what its events mean is decided here.

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
