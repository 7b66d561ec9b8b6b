//! Admission webhook metrics, with upstream's names.

use std::fmt;
use std::sync::Arc;

use keelson_kube_admission::webhook::{Asked, CircuitState, Observer, Verdict};
use keelson_server::metrics::{Collect, Computed, Counter, Family, Gauge, Histogram, Kind, Registry};

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/metrics/metrics.go (v1.36.4).
pub struct WebhookMetrics {
    durations: Arc<Family<Histogram>>,
    requests: Arc<Family<Counter>>,
    rejections: Arc<Family<Counter>>,
    fail_open: Arc<Family<Counter>>,
    circuits: Arc<Family<Gauge>>,
    /// Reloads of the manifests folder, by result and plugin.
    pub reloads: Arc<Family<Counter>>,
}

const BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];

impl WebhookMetrics {
    /// All metrics at zero.
    #[must_use]
    pub fn new() -> WebhookMetrics {
        WebhookMetrics {
            durations: Arc::new(Family::with_buckets(
                "apiserver_admission_webhook_admission_duration_seconds",
                "[STABLE] Seconds that admission webhooks took, by name, type, operation and whether the request failed.",
                &["name", "type", "operation", "rejected"],
                BUCKETS,
            )),
            requests: Arc::new(Family::new(
                "apiserver_admission_webhook_request_total",
                "[ALPHA] Questions to admission webhooks, by name, type, operation, code and whether the request failed; \
                 codes above 600 count as 600.",
                &["name", "type", "operation", "code", "rejected"],
            )),
            rejections: Arc::new(Family::new(
                "apiserver_admission_webhook_rejection_count",
                "[ALPHA] Requests that failed because of an admission webhook, by name, type, operation, what kind of \
                 error it was, and code; codes above 600 count as 600.",
                &["name", "type", "operation", "error_type", "rejection_code"],
            )),
            fail_open: Arc::new(Family::new(
                "apiserver_admission_webhook_fail_open_count",
                "[ALPHA] Admission webhooks that failed and are to be ignored then, by name and type.",
                &["name", "type"],
            )),
            circuits: Arc::new(Family::new(
                "keelson_admission_webhook_circuit_state",
                "[ALPHA] What the circuit breaker of an admission webhook lets through: 0 everything, 1 one question, 2 \
                 nothing.",
                &["configuration", "name"],
            )),
            reloads: Arc::new(Family::new(
                "apiserver_manifest_admission_config_controller_automatic_reloads_total",
                "[ALPHA] Folders of admission manifests that were read again because they changed, by status and plugin.",
                &["status", "plugin", "apiserver_id_hash"],
            )),
        }
    }

    /// Adds the metrics to `registry`.
    pub fn add_to(&self, registry: &Registry) {
        let families: [Arc<dyn Collect>; 6] = [
            self.durations.clone(),
            self.requests.clone(),
            self.rejections.clone(),
            self.fail_open.clone(),
            self.circuits.clone(),
            self.reloads.clone(),
        ];
        families.into_iter().for_each(|it| registry.add(it));
        certificates().into_iter().for_each(|it| registry.add(Arc::new(it)));
    }
}

/// The certificate metrics of all webhooks, not of admission alone.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/metrics.go (v1.36.4).
fn certificates() -> [Computed; 2] {
    #[expect(clippy::cast_precision_loss, reason = "nobody counts that far")]
    let number = |count: fn() -> u64| move || Some(count() as f64);
    [
        Computed::number(
            "apiserver_webhooks_x509_missing_san_total",
            "[ALPHA] Calls of webhooks whose certificate has no subject alternative name, or that failed because of that.",
            Kind::Counter,
            number(keelson_webhook_client::missing_san_total),
        ),
        Computed::number(
            "apiserver_webhooks_x509_insecure_sha1_total",
            "[ALPHA] Calls of webhooks whose certificate was signed with SHA-1, or that failed because of that.",
            Kind::Counter,
            number(keelson_webhook_client::insecure_sha1_total),
        ),
    ]
}

impl Default for WebhookMetrics {
    fn default() -> WebhookMetrics {
        WebhookMetrics::new()
    }
}

impl fmt::Debug for WebhookMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookMetrics")
    }
}

impl Observer for WebhookMetrics {
    fn asked(&self, asked: &Asked<'_>) {
        let Asked { webhook, step, operation, elapsed, verdict } = *asked;
        let rejection = verdict.rejection();
        let rejected = if rejection.is_some() { "true" } else { "false" };
        let code = verdict.code().to_string();
        self.requests.with(&[webhook, step, operation, &code, rejected]).inc();
        self.durations.with(&[webhook, step, operation, rejected]).observe(elapsed.as_secs_f64());
        if let Some(kind) = rejection {
            self.rejections.with(&[webhook, step, operation, kind, &code]).inc();
        }
        if let Verdict::FailedOpen(_) = verdict {
            self.fail_open.with(&[webhook, step]).inc();
        }
    }

    fn circuit(&self, configuration: &str, webhook: &str, state: CircuitState) {
        let number = match state {
            CircuitState::Closed => 0,
            CircuitState::HalfOpen => 1,
            CircuitState::Open => 2,
        };
        self.circuits.with(&[configuration, webhook]).set(number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_kube_admission::webhook::{Asked, CircuitState, Observer as _, Verdict};
    use keelson_server::metrics::Registry;

    use super::WebhookMetrics;

    #[track_caller]
    fn check(verdict: Verdict, expected: &[&str]) {
        let (metrics, registry) = (WebhookMetrics::new(), Registry::default());
        metrics.add_to(&registry);
        let elapsed = Duration::from_millis(30);
        metrics.asked(&Asked { webhook: "w", step: "admit", operation: "CREATE", elapsed, verdict });
        let text = registry.text();
        let counted = text.lines().filter(|it| it.ends_with(" 1") && !it.contains("_bucket"));
        assert_eq!(counted.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_question_is_counted_with_what_came_of_it() {
        check(
            Verdict::Allowed,
            &[
                r#"apiserver_admission_webhook_admission_duration_seconds_count{name="w",type="admit",operation="CREATE",rejected="false"} 1"#,
                r#"apiserver_admission_webhook_request_total{name="w",type="admit",operation="CREATE",code="200",rejected="false"} 1"#,
            ],
        );
        check(
            Verdict::Denied(1000),
            &[
                r#"apiserver_admission_webhook_admission_duration_seconds_count{name="w",type="admit",operation="CREATE",rejected="true"} 1"#,
                r#"apiserver_admission_webhook_rejection_count{name="w",type="admit",operation="CREATE",error_type="no_error",rejection_code="600"} 1"#,
                r#"apiserver_admission_webhook_request_total{name="w",type="admit",operation="CREATE",code="600",rejected="true"} 1"#,
            ],
        );
        check(
            Verdict::FailedOpen(503),
            &[
                r#"apiserver_admission_webhook_admission_duration_seconds_count{name="w",type="admit",operation="CREATE",rejected="false"} 1"#,
                r#"apiserver_admission_webhook_fail_open_count{name="w",type="admit"} 1"#,
                r#"apiserver_admission_webhook_request_total{name="w",type="admit",operation="CREATE",code="503",rejected="false"} 1"#,
            ],
        );
    }

    #[test]
    fn the_state_of_a_circuit_is_a_number() {
        let (metrics, registry) = (WebhookMetrics::new(), Registry::default());
        metrics.add_to(&registry);
        metrics.circuit("c", "w", CircuitState::Open);
        let text = registry.text();
        assert!(
            text.ends_with("keelson_admission_webhook_circuit_state{configuration=\"c\",name=\"w\"} 2\n"),
            "{text}"
        );
        for name in
            ["apiserver_webhooks_x509_missing_san_total", "apiserver_webhooks_x509_insecure_sha1_total"]
        {
            assert!(text.lines().any(|it| it == format!("{name} 0")), "{text}");
        }
    }
}
