//! Rules and helpers that several kinds share.

pub(crate) mod data_keys;
pub(crate) mod workload_columns;
