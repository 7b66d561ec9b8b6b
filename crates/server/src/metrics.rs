//! Metrics of the server, with the names that dashboards know.
//!
//! Counting is an atomic addition: handles are looked up once per resource and verb, not once per request.
//! Labels come from the catalog and from fixed lists, never from what a client sends, so the number of series
//! is bounded.

pub mod admission;
pub mod audit;
pub mod family;
pub mod filters;
pub mod health;
pub mod process;
mod registered;
pub mod request;
mod restrict;
pub mod value;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;

pub use family::{Collect, Computed, Family, Gathered, Kind, Sample};
pub use filters::{Filters, Users};
pub use health::HealthMetrics;
pub use keelson_stdx::histogram::Histogram;
pub use request::{Answered, FieldValidation, RequestMetrics, Series, SeriesLabels};
pub use restrict::Restrictions;
pub use value::{Counter, Gauge, Summary};

use crate::endpoint::version::Version;
use crate::listen::tls::Reload;

/// All metrics; `/metrics` prints them.
#[derive(Default)]
pub struct Registry {
    collectors: Arc<Collectors>,
    restrictions: Arc<OnceLock<Restrictions>>,
    /// The number of observations with label values that are not allowed, when the metrics were last printed.
    unexpected: Arc<AtomicU64>,
}

type Collectors = RwLock<Vec<Arc<dyn Collect>>>;

impl Registry {
    /// Adds a collector.
    pub fn add(&self, collector: Arc<dyn Collect>) {
        self.collectors.write().push(collector);
    }

    /// Adds a family and returns it.
    pub fn family<M: value::Metric>(&self, family: Family<M>) -> Arc<Family<M>> {
        let family = Arc::new(family);
        self.add(Arc::clone(&family) as Arc<dyn Collect>);
        family
    }

    /// Sets the operator's restrictions. Only the first call has an effect.
    pub fn restrict(&self, restrictions: Restrictions) {
        if self.restrictions.set(restrictions).is_err() {
            tracing::warn!("the metrics are restricted already");
        }
    }

    /// All metrics in the format of Prometheus, sorted by name.
    pub fn text(&self) -> String {
        let mut collectors = self.collectors.read().clone();
        collectors.sort_by(|a, b| a.name().cmp(b.name()));
        let mut out = String::with_capacity(64 << 10);
        let Some(restrictions) = self.restrictions.get() else {
            collectors.iter().for_each(|it| it.write(&mut out));
            return out;
        };
        collectors.retain(|it| !restrictions.disabled.contains(it.name()));
        // The count of unexpected values is sorted among the families.
        let limited = self.limited(restrictions, &collectors);
        for collector in &collectors {
            match limited.get(collector.name()) {
                Some(text) => out.push_str(text),
                None => collector.write(&mut out),
            }
        }
        out
    }

    fn limited(
        &self,
        restrictions: &Restrictions,
        collectors: &[Arc<dyn Collect>],
    ) -> HashMap<&'static str, String> {
        let mut texts = HashMap::new();
        let mut unexpected = 0.0;
        for collector in collectors.iter().filter(|it| restrictions.allowed.contains_key(it.name())) {
            let mut printed = String::new();
            collector.write(&mut printed);
            if let Some(limited) = restrictions.limit(collector.name(), &printed) {
                unexpected += limited.unexpected;
                texts.insert(collector.name(), limited.text);
            }
        }
        self.unexpected.store(unexpected as u64, Ordering::Relaxed);
        texts
    }
}

/// The metrics of the server itself.
pub struct Metrics {
    /// All families; other components may add theirs.
    pub registry: Registry,
    /// Request metrics.
    pub requests: RequestMetrics,
    /// Deprecated versions that clients requested: group, version, resource, subresource, the release that
    /// removes them.
    pub deprecated: Arc<Family<Gauge>>,
    /// Failed handshakes.
    pub tls_handshake_errors: Arc<Counter>,
    /// `files`, `result`: reloads of certificates because a file changed.
    pub certificate_reloads: Arc<Family<Counter>>,
    /// The remaining lifetime of client certificates at the time of a request, in seconds.
    pub client_certificate_expiration: Arc<Histogram>,
    /// Authentication metrics.
    pub authentication: AuthenticationMetrics,
    /// Requests by user.
    pub users: Users,
    /// The durations of the steps before the handler.
    pub filters: Filters,
    /// Authorization metrics.
    pub authorization: AuthorizationMetrics,
    /// Events that were sent to watchers.
    pub watch_events: Arc<Family<Counter>>,
    /// The sizes of those events.
    pub watch_event_sizes: Arc<Family<Histogram>>,
    /// The duration from the arrival of a watch to the end of its initial events: group, version, resource,
    /// scope.
    pub watch_lists: Arc<Family<Histogram>>,
    /// Panics that were caught.
    pub panics: Arc<Counter>,
    /// Health checks; printed apart from the others.
    pub health_checks: HealthMetrics,
}

/// 1 ms, doubled fourteen times.
pub(crate) const AUTH_BUCKETS: &[f64] = &[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

/// 1 KiB, doubled seven times.
const EVENT_BUCKETS: &[f64] = &[1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0];

const WATCH_LIST_BUCKETS: &[f64] =
    &[0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0];

/// From half an hour to a year.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go (v1.36.4).
const EXPIRATION_BUCKETS: &[f64] = &[
    0.0,
    1800.0,
    3600.0,
    7200.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
];

impl Metrics {
    /// Counts a reload of certificates.
    pub fn count_reload(&self, files: &str, reload: Reload) {
        let result = match reload {
            Reload::Done => "success",
            Reload::Failed => "failure",
        };
        self.certificate_reloads.with(&[files, result]).inc();
    }

    /// All families, all zero.
    pub fn new(version: &Version) -> Metrics {
        let registry = Registry::default();
        let counter = |name, help, labels| registry.family(Family::<Counter>::new(name, help, labels));
        let histogram = |name, help, labels, buckets| {
            registry.family(Family::<Histogram>::with_buckets(name, help, labels, buckets))
        };
        registry.add(Arc::new(build_info(version)));
        registry.add(Arc::new(version_info(version)));
        process::add_to(&registry);
        registered::add_to(&registry);
        let watched = &["group", "version", "resource"];
        Metrics {
            requests: RequestMetrics::new(&registry),
            deprecated: registry.family(Family::new(
                "apiserver_requested_deprecated_apis",
                "[STABLE] Deprecated APIs that were asked for, by group, version, resource, subresource and the \
                 release that does not serve them any more.",
                &["group", "version", "resource", "subresource", "removed_release"],
            )),
            tls_handshake_errors: counter(
                "apiserver_tls_handshake_errors_total",
                "[ALPHA] Connections that failed in the TLS handshake.",
                &[],
            )
            .with(&[]),
            certificate_reloads: counter(
                "keelson_certificate_reloads_total",
                "[ALPHA] Files of certificates that were read again because they changed, by result: success, failure.",
                &["files", "result"],
            ),
            client_certificate_expiration: histogram(
                "apiserver_client_certificate_expiration_seconds",
                "[ALPHA] Seconds that the certificate of a client is still valid, by request.",
                &[],
                EXPIRATION_BUCKETS,
            )
            .with(&[]),
            authentication: AuthenticationMetrics::new(
                &counter(
                    "authentication_attempts",
                    "[ALPHA] Attempts to find out who asks, by result.",
                    &["result"],
                ),
                &histogram(
                    "authentication_duration_seconds",
                    "[ALPHA] Seconds it took to find out who asks, by result.",
                    &["result"],
                    AUTH_BUCKETS,
                ),
            ),
            users: Users::new(&registry),
            filters: Filters::new(&registry),
            authorization: AuthorizationMetrics::new(
                &counter(
                    "authorization_attempts_total",
                    "[ALPHA] Decisions whether somebody may, by result: allowed, denied, no-opinion, error.",
                    &["result"],
                ),
                &histogram(
                    "authorization_duration_seconds",
                    "[ALPHA] Seconds it took to decide whether somebody may, by result.",
                    &["result"],
                    AUTH_BUCKETS,
                ),
            ),
            watch_events: counter(
                "apiserver_watch_events_total",
                "[ALPHA] Events sent to watchers.",
                watched,
            ),
            watch_event_sizes: histogram(
                "apiserver_watch_events_sizes",
                "[ALPHA] Bytes of the events sent to watchers.",
                watched,
                EVENT_BUCKETS,
            ),
            watch_lists: histogram(
                "apiserver_watch_list_duration_seconds",
                "[BETA] Seconds until a watch that begins with what is there had sent it.",
                &["group", "version", "resource", "scope"],
                WATCH_LIST_BUCKETS,
            ),
            panics: counter("keelson_panics_total", "[ALPHA] Panics in handlers that were caught.", &[])
                .with(&[]),
            health_checks: HealthMetrics::new(),
            registry,
        }
    }
}

/// A counter of one outcome, and its durations.
pub struct Outcome {
    attempts: Arc<Counter>,
    duration: Arc<Histogram>,
}

impl Outcome {
    fn new(attempts: &Family<Counter>, duration: &Family<Histogram>, result: &str) -> Outcome {
        Outcome { attempts: attempts.with(&[result]), duration: duration.with(&[result]) }
    }

    /// Counts one more.
    pub fn count(&self, elapsed: Duration) {
        self.attempts.inc();
        self.duration.observe(elapsed.as_secs_f64());
    }
}

/// Authentication metrics.
#[allow(missing_docs)]
pub struct AuthenticationMetrics {
    pub success: Outcome,
    pub failure: Outcome,
    pub error: Outcome,
}

impl AuthenticationMetrics {
    fn new(attempts: &Family<Counter>, duration: &Family<Histogram>) -> AuthenticationMetrics {
        let outcome = |result| Outcome::new(attempts, duration, result);
        AuthenticationMetrics {
            success: outcome("success"),
            failure: outcome("failure"),
            error: outcome("error"),
        }
    }
}

/// Authorization metrics.
#[allow(missing_docs)]
pub struct AuthorizationMetrics {
    pub allowed: Outcome,
    pub denied: Outcome,
    pub no_opinion: Outcome,
    pub error: Outcome,
}

impl AuthorizationMetrics {
    fn new(attempts: &Family<Counter>, duration: &Family<Histogram>) -> AuthorizationMetrics {
        let outcome = |result| Outcome::new(attempts, duration, result);
        AuthorizationMetrics {
            allowed: outcome("allowed"),
            denied: outcome("denied"),
            no_opinion: outcome("no-opinion"),
            error: outcome("error"),
        }
    }
}

fn build_info(version: &Version) -> Computed {
    let values: Vec<String> = [
        version.build_date,
        version.compiler,
        version.git_commit,
        version.git_tree_state,
        &version.git_version,
        version.go_version,
        version.major,
        version.minor,
        version.platform,
    ]
    .map(str::to_owned)
    .to_vec();
    Computed::new(
        "kubernetes_build_info",
        "[BETA] Which version this is; always 1.",
        Kind::Gauge,
        move || vec![Sample { labels: values.clone(), value: 1.0 }],
    )
    .labels(&[
        "build_date",
        "compiler",
        "git_commit",
        "git_tree_state",
        "git_version",
        "go_version",
        "major",
        "minor",
        "platform",
    ])
}

/// The version of the server, and the version that it emulates.
fn version_info(version: &Version) -> Computed {
    let oldest = format!("{}.{}", version.min_compatibility_major, version.min_compatibility_minor);
    let emulation = format!("{}.{}", version.emulation_major, version.emulation_minor);
    let own = version.git_version.trim_start_matches('v');
    let binary = own.split(['-', '+']).next().unwrap_or(own).to_owned();
    let values = vec![String::from("kube"), binary, emulation, oldest];
    Computed::new(
        "version_info",
        "[ALPHA] Which versions of Kubernetes the server is compatible with; always 1.",
        Kind::Gauge,
        move || vec![Sample { labels: values.clone(), value: 1.0 }],
    )
    .labels(&["component", "binary", "emulation", "min_compat"])
}
