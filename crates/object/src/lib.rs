//! API objects: the editable tree, the frozen encoding, names, paths, selectors, scalars.
//!
//! Nothing here does IO and nothing is `async`. Writers edit an [`Object`], readers share a [`Frozen`].

#![deny(missing_docs)]

pub mod cell;
pub mod condition;
pub mod domain_path;
pub mod field_error;
pub mod frozen;
pub mod meta;
pub mod names;
pub mod object;
pub mod path;
pub mod reader;
pub mod scalar;
pub mod selector;
pub mod value;

pub use cell::Cell;
pub use condition::Condition;
pub use field_error::{FieldError, FieldErrors};
pub use frozen::{Frozen, Index, SelectableField};
pub use meta::{ObjectMeta, OwnerReference};
pub use names::{ApiVersion, GroupKind, GroupResource};
pub use object::{Object, ShapeError};
pub use path::Path;
pub use reader::{Follower, Reader, Readers};
pub use smol_str::SmolStr;
pub use value::{Map, Value};
