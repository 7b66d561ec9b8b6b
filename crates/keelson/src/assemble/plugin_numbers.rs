//! Metrics of admission plugins.
//!
//! Upstream: staging/src/k8s.io/pod-security-admission/metrics/metrics.go (v1.36.4).

use std::sync::Arc;

use keelson_kube_admission::{PodSecurityCounts, PodSecuritySample, Settings};
use keelson_server::metrics::{Computed, Kind, Registry, Sample};

/// Adds the metrics of plugins that were created with these settings.
pub(super) fn add(registry: &Registry, plugins: &Settings) {
    let add = |name, help, read: fn(&PodSecurityCounts) -> Vec<PodSecuritySample>, labels| {
        let counts = Arc::clone(&plugins.pod_security);
        let sample = |(labels, count): PodSecuritySample| Sample { labels, value: count as f64 };
        let compute = move || read(&counts).into_iter().map(sample).collect();
        registry.add(Arc::new(Computed::new(name, help, Kind::Counter, compute).labels(labels)));
    };
    add(
        "pod_security_evaluations_total",
        "[ALPHA] Policies that were held against pods, without requests that are ignored or exempt.",
        PodSecurityCounts::evaluations,
        &[
            "decision",
            "policy_level",
            "policy_version",
            "mode",
            "request_operation",
            "resource",
            "subresource",
        ],
    );
    add(
        "pod_security_exemptions_total",
        "[ALPHA] Requests that are exempt, without those that are ignored.",
        PodSecurityCounts::exemptions,
        &["request_operation", "resource", "subresource"],
    );
    add(
        "pod_security_errors_total",
        "[ALPHA] Errors that kept a policy from being held against pods as it should be.",
        PodSecurityCounts::errors,
        &["fatal", "request_operation", "resource", "subresource"],
    );
}
