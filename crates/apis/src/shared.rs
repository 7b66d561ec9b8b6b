//! Rules and helpers that several kinds share.

pub(crate) mod claim;
pub(crate) mod data_keys;
pub(crate) mod edit;
pub(crate) mod plain_columns;
pub(crate) mod pod_template;
pub(crate) mod resource_list;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod workload_columns;
pub(crate) mod workload_rules;
