//! Metrics of certificate signing requests.
//!
//! Upstream: pkg/registry/certificates/certificates/storage/metrics.go (v1.36.4).

use std::sync::Arc;

use keelson_housekeeping::certificate_durations::{CertificateDurations, Counts};
use keelson_server::metrics::{Computed, Kind, Registry, Sample};

/// Adds the metrics to `registry`.
pub(super) fn add(registry: &Registry, durations: &Arc<CertificateDurations>) {
    let add = |name: &'static str, help: &'static str, of: fn(&Counts) -> u64| {
        let durations = durations.clone();
        let samples = move || -> Vec<Sample> {
            let counts = durations.counts().into_iter().filter(|(_, it)| of(it) > 0);
            counts.map(|(signer, it)| Sample { labels: vec![signer], value: of(&it) as f64 }).collect()
        };
        registry.add(Arc::new(Computed::new(name, help, Kind::Counter, samples).labels(&["signerName"])));
    };
    add(
        "apiserver_certificates_registry_csr_requested_duration_total",
        "[ALPHA] Certificates that were issued for requests with a lifetime, by signer.",
        |it| it.requested,
    );
    add(
        "apiserver_certificates_registry_csr_honored_duration_total",
        "[ALPHA] Those that live about as long as was asked for, by signer.",
        |it| it.honored,
    );
}
