//! The admission plugins of Kubernetes: one file per plugin, and the list that defines their order.
#![warn(missing_docs)]

mod aggregate;
mod always;
mod always_pull_images;
mod amounts;
mod certificate_approval;
mod certificate_request;
mod certificate_signing;
mod certificate_subject_restriction;
mod claims;
mod cluster_trust_bundle_attest;
mod configuration;
mod default_class;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_service_external_ips;
mod event_rate_limit;
mod extended_resource_toleration;
mod gated;
mod image_policy_webhook;
mod job_validation;
mod limit_pod_hard_anti_affinity_topology;
mod limit_ranger;
mod namespace_auto_provision;
mod namespace_exists;
mod namespace_lifecycle;
mod namespaces;
mod node_declared_feature_validator;
mod node_restriction;
mod nodes;
mod owner_references_permission_enforcement;
mod persistent_volume_claim_resize;
mod plugins;
mod pod_group_workload_exists;
mod pod_node_selector;
mod pod_resize_validator;
mod pod_security;
mod pod_toleration_restriction;
mod pod_topology_labels;
mod pods;
mod priority;
mod protection;
mod resource_quota;
mod runtime_class;
mod service_account;
mod signers;
mod taint_nodes_by_condition;
#[cfg(test)]
mod testing;
pub mod webhook;

pub use plugins::{Configurations, FEATURES, Selection, Settings, is_known, names};
pub use pod_security::{Counts as PodSecurityCounts, Sample as PodSecuritySample};
pub use resource_quota::{Census, Ledger, Promises};
pub use webhook::{Proxies, Route, Services};
