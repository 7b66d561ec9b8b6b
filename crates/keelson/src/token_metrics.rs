//! Token cache metrics, with upstream's names.

use std::sync::Arc;
use std::time::Duration;

use keelson_authn::TokenCacheMetrics;
use keelson_server::metrics::{Counter, Family, Gauge, Histogram, Registry};

/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/cache/stats.go (v1.36.4).
pub struct TokenMetrics {
    requests: Arc<Family<Counter>>,
    durations: Arc<Family<Histogram>>,
    fetches: Arc<Family<Counter>>,
    active: Arc<Family<Gauge>>,
}

const BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl TokenMetrics {
    /// All metrics at zero.
    #[must_use]
    pub fn new() -> TokenMetrics {
        let labels: &[&str] = &["status"];
        TokenMetrics {
            requests: Arc::new(Family::new(
                "authentication_token_cache_request_total",
                "[ALPHA] Tokens that were asked about, by whether the answer was known.",
                labels,
            )),
            durations: Arc::new(Family::with_buckets(
                "authentication_token_cache_request_duration_seconds",
                "[ALPHA] Seconds it took to say whose token it is, by whether that was known.",
                labels,
                BUCKETS,
            )),
            fetches: Arc::new(Family::new(
                "authentication_token_cache_fetch_total",
                "[ALPHA] Tokens that were looked up, by result.",
                labels,
            )),
            active: Arc::new(Family::new(
                "authentication_token_cache_active_fetch_count",
                "[ALPHA] Tokens that are being looked up, and requests that wait for it.",
                labels,
            )),
        }
    }

    /// Adds the metrics to `registry`.
    pub fn add_to(&self, registry: &Registry) {
        registry.add(self.requests.clone());
        registry.add(self.durations.clone());
        registry.add(self.fetches.clone());
        registry.add(self.active.clone());
    }
}

impl Default for TokenMetrics {
    fn default() -> TokenMetrics {
        TokenMetrics::new()
    }
}

impl TokenCacheMetrics for TokenMetrics {
    fn asked(&self, status: &'static str, took: Duration) {
        self.requests.with(&[status]).inc();
        self.durations.with(&[status]).observe(took.as_secs_f64());
    }

    fn fetched(&self, status: &'static str) {
        self.fetches.with(&[status]).inc();
    }

    fn active(&self, status: &'static str, change: i64) {
        let gauge = self.active.with(&[status]);
        if change > 0 { gauge.inc() } else { gauge.dec() }
    }
}
