//! Rules and helpers that several kinds share.

pub(crate) mod addresses;
pub(crate) mod amounts;
pub(crate) mod cells;
pub(crate) mod claim;
pub(crate) mod claim_rules;
pub(crate) mod conditions;
pub(crate) mod data_keys;
pub(crate) mod default_columns;
pub(crate) mod edit;
pub(crate) mod gated;
pub(crate) mod go_form;
pub(crate) mod immutable;
pub(crate) mod name_warning;
pub(crate) mod node_labels;
pub(crate) mod node_selector;
pub(crate) mod pem;
pub(crate) mod pod_template;
pub(crate) mod resource_list;
pub(crate) mod resource_names;
pub(crate) mod service_reference;
pub(crate) mod signer_name;
pub(crate) mod spec_and_status;
pub(crate) mod status;
pub(crate) mod strings;
pub(crate) mod template_meta;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod url;
pub(crate) mod user_info;
pub(crate) mod volume_sources;
pub(crate) mod webhook_client;
pub(crate) mod workload_columns;
pub(crate) mod workload_rules;
