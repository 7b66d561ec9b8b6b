//! The storage contract: the trait, its reference model and the suite that every store must pass.

#![warn(missing_docs)]

pub mod conformance;
mod error;
mod history;
mod key;
mod memory;
mod revision;
mod routed;
mod store;
mod transform;

pub use error::{Result, StoreError};
pub use history::History;
pub use key::{Form, Key, Layout, ResourceKeys};
pub use memory::MemoryStore;
pub use revision::Revision;
pub use routed::RoutedStore;
pub use store::{At, ETCD_REQUEST_LIMIT, Entry, Event, Expect, Page, Store, Tip, VALUE_LIMIT, Write};
pub use transform::{Opened, Transform, TransformError, Transformed, Transforming, Transforms};
