//! Metrics of token issuers and of the authentication configuration, with upstream's names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::oidc::{OidcMetrics, hash};
use keelson_server::metrics::{Computed, Counter, Family, Gauge, Histogram, Kind, Registry, Sample};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use crate::machine::host_name;

/// Upstream: plugin/pkg/authenticator/token/oidc/metrics.go and pkg/server/options/authenticationconfig/metrics/metrics.go
/// in staging/src/k8s.io/apiserver (v1.36.4).
pub struct Numbers {
    latency: Arc<Family<Histogram>>,
    fetched_at: Arc<Family<Gauge>>,
    /// The hash of the last keys, by the hash of the issuer.
    key_sets: Arc<Mutex<BTreeMap<String, String>>>,
    reloads: Arc<Family<Counter>>,
    reloaded_at: Arc<Family<Gauge>>,
    /// The hash of the configuration in use.
    config: Arc<Mutex<Option<String>>>,
    server: String,
    clock: Clock,
}

const BUCKETS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Numbers {
    /// All metrics at zero.
    #[must_use]
    pub fn new(clock: Clock) -> Numbers {
        let reload: &[&str] = &["status", "apiserver_id_hash"];
        Numbers {
            latency: Arc::new(Family::with_buckets(
                "apiserver_authentication_jwt_authenticator_latency_seconds",
                "[ALPHA] Seconds it took to judge a token that was not remembered.",
                &["result", "jwt_issuer_hash"],
                BUCKETS,
            )),
            fetched_at: Arc::new(Family::new(
                "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
                "[ALPHA] When keys of issuers were fetched last, by result.",
                &["result", "jwt_issuer_hash", "apiserver_id_hash"],
            )),
            key_sets: Arc::default(),
            reloads: Arc::new(Family::new(
                "apiserver_authentication_config_controller_automatic_reloads_total",
                "[BETA] How often the authentication configuration was read again, by status.",
                reload,
            )),
            reloaded_at: Arc::new(Family::new(
                "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
                "[BETA] When the authentication configuration was read again last, by status.",
                reload,
            )),
            config: Arc::default(),
            server: hash(host_name().unwrap_or_default().as_bytes()),
            clock,
        }
    }

    /// Adds the metrics to `registry`.
    pub fn add_to(&self, registry: &Registry) {
        registry.add(self.latency.clone());
        registry.add(self.fetched_at.clone());
        registry.add(self.reloads.clone());
        registry.add(self.reloaded_at.clone());
        let (server, config) = (self.server.clone(), self.config.clone());
        let in_force = move || {
            let config = config.lock().clone();
            config.map(|hash| Sample { labels: vec![server.clone(), hash], value: 1.0 }).into_iter().collect()
        };
        let name = "apiserver_authentication_config_controller_last_config_info";
        let help = "[ALPHA] The hash of the authentication configuration in force.";
        let labels = &["apiserver_id_hash", "hash"];
        registry.add(Arc::new(Computed::new(name, help, Kind::Gauge, in_force).labels(labels)));
        let (server, key_sets) = (self.server.clone(), self.key_sets.clone());
        let last_keys = move || {
            let sample = |(issuer, keys): (&String, &String)| Sample {
                labels: vec![issuer.clone(), server.clone(), keys.clone()],
                value: 1.0,
            };
            key_sets.lock().iter().map(sample).collect()
        };
        let name = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info";
        let help = "[ALPHA] The hash of the keys that were fetched last, by issuer.";
        let labels = &["jwt_issuer_hash", "apiserver_id_hash", "hash"];
        registry.add(Arc::new(Computed::new(name, help, Kind::Gauge, last_keys).labels(labels)));
    }

    /// Counts a reload of the configuration; `status` is `success` or `failure`.
    pub(super) fn reloaded(&self, status: &'static str) {
        let labels = [status, self.server.as_str()];
        self.reloads.with(&labels).inc();
        self.reloaded_at.with(&labels).set(self.now());
    }

    /// Records the configuration in use.
    pub(super) fn in_force(&self, data: &[u8]) {
        *self.config.lock() = Some(hash(data));
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX)
    }
}

impl OidcMetrics for Numbers {
    fn judged(&self, result: &'static str, issuer_hash: &str, took: Duration) {
        self.latency.with(&[result, issuer_hash]).observe(took.as_secs_f64());
    }

    fn fetched(&self, result: &'static str, issuer_hash: &str, keys: Option<&[u8]>) {
        self.fetched_at.with(&[result, issuer_hash, &self.server]).set(self.now());
        if let Some(keys) = keys {
            self.key_sets.lock().insert(issuer_hash.to_owned(), hash(keys));
        }
    }
}
