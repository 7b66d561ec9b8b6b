//! Encryption metrics, with the names that dashboards know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use keelson_encryption::{Meter, Transformation};
use keelson_server::metrics::{Collect, Computed, Counter, Family, Gauge, Histogram, Kind, Registry, Sample};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use super::sha256;
use crate::machine;

/// `N` bounds, each twice the one before.
const fn doubled<const N: usize>(first: f64) -> [f64; N] {
    let mut bounds = [first; N];
    let mut position = 1;
    while position < N {
        bounds[position] = bounds[position - 1] * 2.0;
        position += 1;
    }
    bounds
}

static TRANSFORMATION: [f64; 25] = doubled(5e-6);
static KEY_GENERATION: [f64; 14] = doubled(5e-6);
static SERVICE: [f64; 20] = doubled(0.0001);
static ARRIVAL: [f64; 10] = doubled(60.0);

/// Upstream: storage/value/metrics.go, envelope/metrics/metrics.go, encryptionconfig/metrics/metrics.go (v1.36.4).
pub(super) struct Numbers {
    clock: Clock,
    /// The hash of the identity of this server.
    server: String,
    /// The hash of the file in use.
    config: Arc<Mutex<String>>,
    transformations: Arc<Family<Counter>>,
    durations: Arc<Family<Histogram>>,
    misses: Arc<Family<Counter>>,
    key_generation: Arc<Family<Histogram>>,
    key_failures: Arc<Family<Counter>>,
    /// The bits of an `f64`.
    filled: Arc<AtomicU64>,
    arrivals: Arc<Family<Histogram>>,
    /// The time of the last operation: reading from the store, writing to it.
    last_arrivals: Mutex<[Option<Duration>; 2]>,
    cached: Arc<Family<Gauge>>,
    calls: Arc<Family<Histogram>>,
    used: Arc<Family<Counter>>,
    used_at: Arc<Family<Gauge>>,
    announced_at: Arc<Family<Gauge>>,
    refused: Arc<Family<Counter>>,
    reloads: Arc<Family<Counter>>,
    reloaded_at: Arc<Family<Gauge>>,
}

const KEY_LABELS: &[&str] = &["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];

impl Numbers {
    /// All metrics at zero.
    pub(super) fn new(clock: Clock) -> Numbers {
        Numbers {
            clock,
            server: sha256(server_id(&machine::host_name().unwrap_or_default()).as_bytes()),
            config: Arc::default(),
            transformations: family(
                "apiserver_storage_transformation_operations_total",
                "[ALPHA] Values that were encrypted or decrypted, or not, by resource, direction, prefix and status.",
                &["resource", "transformation_type", "transformer_prefix", "status"],
            ),
            durations: histogram(
                "apiserver_storage_transformation_duration_seconds",
                "[ALPHA] Seconds it took to encrypt or decrypt a value.",
                &["transformation_type", "transformer_prefix"],
                &TRANSFORMATION,
            ),
            misses: family(
                "apiserver_storage_envelope_transformation_cache_misses_total",
                "[ALPHA] Data keys that had to be decrypted by a key management service.",
                &[],
            ),
            key_generation: histogram(
                "apiserver_storage_data_key_generation_duration_seconds",
                "[ALPHA] Seconds it took to make a data key.",
                &[],
                &KEY_GENERATION,
            ),
            key_failures: family(
                "apiserver_storage_data_key_generation_failures_total",
                "[ALPHA] Data keys that could not be made.",
                &[],
            ),
            filled: Arc::default(),
            arrivals: histogram(
                "apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds",
                "[ALPHA] Seconds between two values for a key management service of the old protocol.",
                &["transformation_type"],
                &ARRIVAL,
            ),
            last_arrivals: Mutex::default(),
            cached: family(
                "apiserver_envelope_encryption_dek_source_cache_size",
                "[ALPHA] Data keys at hand: about as many have to be decrypted after a restart.",
                &["provider_name"],
            ),
            calls: histogram(
                "apiserver_envelope_encryption_kms_operations_latency_seconds",
                "[ALPHA] Seconds that calls of key management services took, by method and status.",
                &["provider_name", "method_name", "grpc_status_code"],
                &SERVICE,
            ),
            used: family(
                "apiserver_envelope_encryption_key_id_hash_total",
                "[ALPHA] How often a key of a service was used.",
                KEY_LABELS,
            ),
            used_at: family(
                "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
                "[ALPHA] When a key of a service was used last.",
                KEY_LABELS,
            ),
            announced_at: family(
                "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
                "[ALPHA] When a service named this key last.",
                &["provider_name", "key_id_hash", "apiserver_id_hash"],
            ),
            refused: family(
                "apiserver_envelope_encryption_invalid_key_id_from_status_total",
                "[ALPHA] How often a service named something that is no key.",
                &["provider_name", "error"],
            ),
            reloads: family(
                "apiserver_encryption_config_controller_automatic_reloads_total",
                "[ALPHA] How often the encryption configuration was read again, well or not.",
                &["status", "apiserver_id_hash"],
            ),
            reloaded_at: family(
                "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
                "[ALPHA] When the encryption configuration was read again last, well or not.",
                &["status", "apiserver_id_hash"],
            ),
        }
    }

    /// Adds the metrics to `registry`.
    pub(super) fn add_to(&self, registry: &Registry) {
        let (server, config) = (self.server.clone(), self.config.clone());
        let info = move || {
            let config = config.lock().clone();
            let sample = Sample { labels: vec![server.clone(), config], value: 1.0 };
            Some(sample).into_iter().filter(|it| !it.labels[1].is_empty()).collect()
        };
        registry.add(Arc::new(
            Computed::new(
                "apiserver_encryption_config_controller_last_config_info",
                "[ALPHA] The encryption configuration in use, by its hash.",
                Kind::Gauge,
                info,
            )
            .labels(&["apiserver_id_hash", "hash"]),
        ));
        let filled = self.filled.clone();
        registry.add(Arc::new(Computed::number(
            "apiserver_envelope_encryption_dek_cache_fill_percent",
            "[ALPHA] The part of the places for data keys of the old protocol that is taken.",
            Kind::Gauge,
            move || Some(f64::from_bits(filled.load(Relaxed))),
        )));
        // Metrics without labels exist from the beginning.
        self.misses.with(&[]);
        self.key_generation.with(&[]);
        self.key_failures.with(&[]);
        let families: [Arc<dyn Collect>; 14] = [
            self.transformations.clone(),
            self.durations.clone(),
            self.misses.clone(),
            self.key_generation.clone(),
            self.key_failures.clone(),
            self.arrivals.clone(),
            self.cached.clone(),
            self.calls.clone(),
            self.used.clone(),
            self.used_at.clone(),
            self.announced_at.clone(),
            self.refused.clone(),
            self.reloads.clone(),
            self.reloaded_at.clone(),
        ];
        families.into_iter().for_each(|family| registry.add(family));
    }

    /// Records that the file with this hash is in use.
    pub(super) fn in_use(&self, hash: &str) {
        hash.clone_into(&mut self.config.lock());
    }

    /// Counts a successful reload.
    pub(super) fn reloaded(&self, hash: &str) {
        self.count_reload("success");
        self.in_use(hash);
    }

    /// Counts a failed reload.
    pub(super) fn not_reloaded(&self) {
        self.count_reload("failure");
    }

    fn count_reload(&self, status: &str) {
        self.reloads.with(&[status, &self.server]).inc();
        self.reloaded_at.with(&[status, &self.server]).set(self.now());
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX)
    }
}

impl Meter for Numbers {
    fn transformed(&self, it: &Transformation<'_>) {
        self.transformations.with(&[it.resource, it.direction, it.prefix, it.status]).inc();
        if it.status == "OK" {
            self.durations.with(&[it.direction, it.prefix]).observe(it.took.as_secs_f64());
        }
    }

    fn key_missed(&self) {
        self.misses.with(&[]).inc();
    }

    fn key_made(&self, took: Duration) {
        self.key_generation.with(&[]).observe(took.as_secs_f64());
    }

    fn key_not_made(&self) {
        self.key_failures.with(&[]).inc();
    }

    fn arrived(&self, direction: &'static str) {
        let now = self.clock.monotonic();
        let last = self.last_arrivals.lock()[usize::from(direction == "to_storage")].replace(now);
        let between = now.saturating_sub(last.unwrap_or(now));
        self.arrivals.with(&[direction]).observe(between.as_secs_f64());
    }

    fn cache_filled(&self, part: f64) {
        self.filled.store(part.to_bits(), Relaxed);
    }

    fn keys_cached(&self, service: &str, count: usize) {
        self.cached.with(&[service]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    fn called(&self, service: &str, method: &str, code: &str, took: Duration) {
        self.calls.with(&[service, method, code]).observe(took.as_secs_f64());
    }

    fn key_used(&self, direction: &str, service: &str, key_id: &str) {
        let key = sha256(key_id.as_bytes());
        let labels = [direction, service, &key, &self.server];
        self.used.with(&labels).inc();
        self.used_at.with(&labels).set(self.now());
    }

    fn key_announced(&self, service: &str, key_id: &str) {
        self.announced_at.with(&[service, &sha256(key_id.as_bytes()), &self.server]).set(self.now());
    }

    fn key_refused(&self, service: &str, why: &str) {
        self.refused.with(&[service, why]).inc();
    }
}

fn family<M: keelson_server::metrics::value::Metric>(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
) -> Arc<Family<M>> {
    Arc::new(Family::new(name, help, labels))
}

fn histogram(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
) -> Arc<Family<Histogram>> {
    Arc::new(Family::with_buckets(name, help, labels, buckets))
}

/// The identity of a server among all that share a cluster.
///
/// Upstream: apiserver/pkg/server/config.go, NewConfig: sixteen bytes of the hash of the host name in base 32 (v1.36.4).
fn server_id(host: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = digest(&SHA256, host.as_bytes());
    let bits = |at: usize| hash.as_ref()[..16].get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let letter = |position: usize| {
        let number = (0..5).fold(0, |number, bit| number << 1 | usize::from(bits(position * 5 + bit)));
        char::from(LETTERS[number])
    };
    format!("apiserver-{}", (0..26).map(letter).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::server_id;

    #[test]
    fn servers_have_the_names_that_upstream_gives_them() {
        assert_eq!(server_id("localhost"), "apiserver-jgla3zmib2ggq5buc4hwi5talm");
        assert_eq!(server_id("").len(), "apiserver-".len() + 26);
    }
}
