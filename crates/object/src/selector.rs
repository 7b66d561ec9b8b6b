//! Selectors: select objects by labels, fields or shards.

mod error;
pub mod field;
pub mod label;
pub mod name_rules;
mod rules;
pub mod shard;

pub use error::{RequirementError, SelectorError};
pub use rules::{validate_label_selector, validate_label_selector_keys, validate_labels};
