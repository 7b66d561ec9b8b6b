//! Authorization metrics.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_authz::{Attributes, Authorizer, Decision, RuleSet, Subject, Verdict, WebhookObserver};
use keelson_server::metrics::{Collect, Computed, Counter, Family, Gauge, Histogram, Kind, Sample};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use crate::config::AuthorizationMode;
use crate::machine;

/// An authorizer that counts its decisions.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authorization/metrics/metrics.go (v1.36.4).
pub(super) struct Counted {
    decides: Arc<dyn Authorizer>,
    who: (AuthorizationMode, String),
    numbers: Arc<Numbers>,
    /// Looked up once, because every request counts here.
    allowed: OnceLock<Arc<Counter>>,
    denied: OnceLock<Arc<Counter>>,
}

impl Counted {
    pub(super) fn new(
        decides: Arc<dyn Authorizer>,
        who: (AuthorizationMode, String),
        numbers: Arc<Numbers>,
    ) -> Counted {
        Counted { decides, who, numbers, allowed: OnceLock::new(), denied: OnceLock::new() }
    }

    fn count(&self, decision: &Decision) {
        let (counter, word) = match decision {
            Decision::Allow { .. } => (&self.allowed, "allowed"),
            Decision::Deny { .. } => (&self.denied, "denied"),
            Decision::NoOpinion { .. } => return,
        };
        let labels = [self.who.0.name(), self.who.1.as_str(), word];
        counter.get_or_init(|| self.numbers.decisions.with(&labels)).inc();
    }
}

impl Authorizer for Counted {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let decided = self.decides.authorize(attributes);
        decided.inspect(|verdict| self.count(&verdict.decision)).boxed()
    }

    fn rules(&self, user: &Subject<'_>, namespace: &str) -> Option<RuleSet> {
        self.decides.rules(user, namespace)
    }
}

/// The families, under upstream's names.
pub(super) struct Numbers {
    decisions: Arc<Family<Counter>>,
    asked: Arc<Family<Counter>>,
    durations: Arc<Family<Histogram>>,
    failed_open: Arc<Family<Counter>>,
    reloads: Arc<Family<Counter>>,
    reloaded_at: Arc<Family<Gauge>>,
    /// The hash of the file in use.
    hash: Arc<Mutex<Option<String>>>,
    server: String,
}

/// The default buckets of Prometheus.
const BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

fn hash(data: &[u8]) -> String {
    let digest = digest(&SHA256, data);
    digest.as_ref().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

impl Numbers {
    pub(super) fn new() -> Numbers {
        let counter = |name, help, labels| Arc::new(Family::<Counter>::new(name, help, labels));
        Numbers {
            decisions: counter(
                "apiserver_authorization_decisions_total",
                "[ALPHA] Decisions that others are not asked after, by type and name of the authorizer.",
                &["type", "name", "decision"],
            ),
            asked: counter(
                "apiserver_authorization_webhook_evaluations_total",
                "[ALPHA] Calls of authorization webhooks, by name and result.",
                &["name", "result"],
            ),
            durations: Arc::new(Family::with_buckets(
                "apiserver_authorization_webhook_duration_seconds",
                "[ALPHA] Seconds that calls of authorization webhooks took.",
                &["name", "result"],
                BUCKETS,
            )),
            failed_open: counter(
                "apiserver_authorization_webhook_evaluations_fail_open_total",
                "[ALPHA] Failures of authorization webhooks that were taken for no opinion.",
                &["name", "result"],
            ),
            reloads: counter(
                "apiserver_authorization_config_controller_automatic_reloads_total",
                "[BETA] Reloads of the authorization configuration, by status.",
                &["status", "apiserver_id_hash"],
            ),
            reloaded_at: Arc::new(Family::new(
                "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
                "[BETA] When the authorization configuration was reloaded last, by status.",
                &["status", "apiserver_id_hash"],
            )),
            hash: Arc::default(),
            server: hash(machine::host_name().unwrap_or_default().as_bytes()),
        }
    }

    pub(super) fn families(&self) -> Vec<Arc<dyn Collect>> {
        let (current, server) = (self.hash.clone(), self.server.clone());
        let samples = move || {
            let hash = current.lock().clone();
            hash.into_iter().map(|it| Sample { labels: vec![server.clone(), it], value: 1.0 }).collect()
        };
        let last = Computed::new(
            "apiserver_authorization_config_controller_last_config_info",
            "[ALPHA] The hash of the authorization configuration that is in force.",
            Kind::Gauge,
            samples,
        );
        vec![
            self.decisions.clone(),
            self.asked.clone(),
            self.durations.clone(),
            self.failed_open.clone(),
            self.reloads.clone(),
            self.reloaded_at.clone(),
            Arc::new(last.labels(&["apiserver_id_hash", "hash"])),
        ]
    }

    /// Records that a file is in use.
    pub(super) fn loaded(&self, data: &[u8]) {
        *self.hash.lock() = Some(hash(data));
    }

    /// Records that another file is in use.
    pub(super) fn reloaded(&self, data: &[u8], clock: &Clock) {
        self.loaded(data);
        self.reload("success", clock);
    }

    /// Records that a file is invalid.
    pub(super) fn reload_failed(&self, clock: &Clock) {
        self.reload("failure", clock);
    }

    fn reload(&self, status: &str, clock: &Clock) {
        let labels = [status, &self.server];
        self.reloads.with(&labels).inc();
        self.reloaded_at.with(&labels).set(i64::try_from(clock.unix_seconds()).unwrap_or(i64::MAX));
    }
}

impl WebhookObserver for Numbers {
    fn asked(&self, webhook: &str, result: &'static str, elapsed: Duration) {
        self.asked.with(&[webhook, result]).inc();
        self.durations.with(&[webhook, result]).observe(elapsed.as_secs_f64());
    }

    fn failed_open(&self, webhook: &str, result: &'static str) {
        self.failed_open.with(&[webhook, result]).inc();
    }
}
