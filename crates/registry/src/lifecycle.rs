//! Metadata: what happens to the metadata of every object, whatever its kind.

pub mod field_managers;
pub mod finalizers;
pub mod generation;
pub mod manager_rules;
pub mod meta_rules;
pub mod naming;
pub mod owners;
pub mod system_fields;
