//! Metrics of conversion webhooks of custom resources, in upstream's names.

use std::fmt;
use std::sync::Arc;

use keelson_extensions::conversion::webhook::{Asked, Observer};
use keelson_server::metrics::{Collect, Counter, Family, Histogram, Registry};

/// Upstream: apiextensions-apiserver/pkg/apiserver/conversion/metrics.go (v1.36.4).
pub struct ConversionMetrics {
    by_definition: Arc<Family<Histogram>>,
    requests: Arc<Family<Counter>>,
    durations: Arc<Family<Histogram>>,
}

/// From one millisecond on, each twice as long as the one before.
const DEFINITION_BUCKETS: &[f64] = &[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

const BUCKETS: &[f64] =
    &[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];

impl ConversionMetrics {
    /// All metrics at zero.
    #[must_use]
    pub fn new() -> ConversionMetrics {
        ConversionMetrics {
            by_definition: Arc::new(Family::with_buckets(
                "apiserver_crd_conversion_webhook_duration_seconds",
                "[ALPHA] Seconds that conversion webhooks took, by definition, versions and success.",
                &["crd_name", "from_version", "to_version", "succeeded"],
                DEFINITION_BUCKETS,
            )),
            requests: Arc::new(Family::new(
                "apiserver_conversion_webhook_request_total",
                "[ALPHA] Calls of conversion webhooks, by result and why they failed.",
                &["result", "failure_type"],
            )),
            durations: Arc::new(Family::with_buckets(
                "apiserver_conversion_webhook_duration_seconds",
                "[ALPHA] Seconds that calls of conversion webhooks took, by result and why they failed.",
                &["result", "failure_type"],
                BUCKETS,
            )),
        }
    }

    /// Adds the metrics to `registry`.
    pub fn add_to(&self, registry: &Registry) {
        let families: [Arc<dyn Collect>; 3] =
            [self.by_definition.clone(), self.requests.clone(), self.durations.clone()];
        families.into_iter().for_each(|it| registry.add(it));
    }
}

impl Default for ConversionMetrics {
    fn default() -> ConversionMetrics {
        ConversionMetrics::new()
    }
}

impl fmt::Debug for ConversionMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConversionMetrics")
    }
}

impl Observer for ConversionMetrics {
    fn asked(&self, asked: &Asked<'_>) {
        let Asked { definition, from, to, elapsed, failure } = *asked;
        let seconds = elapsed.as_secs_f64();
        let (result, succeeded) = if failure.is_none() { ("success", "true") } else { ("failure", "false") };
        let failure_type = failure.map(|it| it.as_str()).unwrap_or_default();
        self.requests.with(&[result, failure_type]).inc();
        self.durations.with(&[result, failure_type]).observe(seconds);
        for from in from {
            self.by_definition.with(&[definition, from, to, succeeded]).observe(seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_extensions::conversion::webhook::{Asked, FailureType, Observer as _};
    use keelson_server::metrics::Registry;

    use super::ConversionMetrics;

    #[track_caller]
    fn check(failure: Option<FailureType>, expected: &[&str]) {
        let (metrics, registry) = (ConversionMetrics::new(), Registry::default());
        metrics.add_to(&registry);
        let elapsed = Duration::from_millis(30);
        metrics.asked(&Asked { definition: "foos.example.com", from: &["v1"], to: "v2", elapsed, failure });
        let text = registry.text();
        let counted = text.lines().filter(|it| it.ends_with(" 1") && !it.contains("_bucket"));
        assert_eq!(counted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_call_is_counted_with_what_came_of_it() {
        check(
            None,
            &[
                r#"apiserver_conversion_webhook_duration_seconds_count{result="success",failure_type=""} 1"#,
                r#"apiserver_conversion_webhook_request_total{result="success",failure_type=""} 1"#,
                r#"apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="foos.example.com",from_version="v1",to_version="v2",succeeded="true"} 1"#,
            ],
        );
        let name = "conversion_webhook_partial_response_failure";
        check(
            Some(FailureType::PartialResponse),
            &[
                &format!(
                    r#"apiserver_conversion_webhook_duration_seconds_count{{result="failure",failure_type="{name}"}} 1"#
                ),
                &format!(
                    r#"apiserver_conversion_webhook_request_total{{result="failure",failure_type="{name}"}} 1"#
                ),
                r#"apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="foos.example.com",from_version="v1",to_version="v2",succeeded="false"} 1"#,
            ],
        );
    }
}
