//! Health check metrics: `/metrics/slis`.
//!
//! Upstream: staging/src/k8s.io/component-base/metrics/prometheus/slis/metrics.go (v1.36.4).

use std::sync::Arc;

use super::{Counter, Family, Gauge, Registry, process};

/// The results of health checks.
#[derive(Clone)]
pub struct HealthMetrics {
    registry: Arc<Registry>,
    last: Arc<Family<Gauge>>,
    total: Arc<Family<Counter>>,
}

impl HealthMetrics {
    /// No results yet.
    pub fn new() -> HealthMetrics {
        let registry = Registry::default();
        process::add_start_time_to(&registry, "[ALPHA] When the process started, in Unix time.");
        HealthMetrics {
            last: registry.family(Family::new(
                "kubernetes_healthcheck",
                "[STABLE] What a health check said last: 1 is well.",
                &["name", "type"],
            )),
            total: registry.family(Family::new(
                "kubernetes_healthchecks_total",
                "[STABLE] Health checks made, by name, endpoint and status.",
                &["name", "type", "status"],
            )),
            registry: Arc::new(registry),
        }
    }

    /// Counts a check of an endpoint.
    pub(crate) fn count(&self, name: &str, endpoint: &str, outcome: &Result<(), String>) {
        let (value, status) = if outcome.is_ok() { (1, "success") } else { (0, "error") };
        self.last.with(&[name, endpoint]).set(value);
        self.total.with(&[name, endpoint, status]).inc();
    }

    /// The metrics to print.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }
}

impl Default for HealthMetrics {
    fn default() -> HealthMetrics {
        HealthMetrics::new()
    }
}

#[cfg(test)]
mod tests {
    use super::HealthMetrics;

    #[test]
    fn the_last_outcome_is_shown_and_all_are_counted() {
        let metrics = HealthMetrics::new();
        metrics.count("ping", "readyz", &Ok(()));
        metrics.count("ping", "readyz", &Err(String::from("broken")));
        let text = metrics.registry().text();
        for line in [
            "kubernetes_healthcheck{name=\"ping\",type=\"readyz\"} 0\n",
            "kubernetes_healthchecks_total{name=\"ping\",type=\"readyz\",status=\"error\"} 1\n",
            "kubernetes_healthchecks_total{name=\"ping\",type=\"readyz\",status=\"success\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
