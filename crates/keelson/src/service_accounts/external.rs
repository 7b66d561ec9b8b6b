//! External signer of service account tokens: connects to it, applies its limits, counts its calls.

use std::sync::Arc;
use std::time::Duration;

use keelson_authn::service_account::{EXTENDED_SECONDS, ExternalSigner, SignerMeter, WARN_ONLY_SECONDS};
use keelson_object::scalar::Duration as GoDuration;
use keelson_server::metrics::{Collect, Computed, Counter, Family, Histogram, Kind, Registry};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use tracing::warn;

use crate::config::ServiceAccounts as Config;
use crate::error::Error;

/// A signer that responds, and the maximum lifetime of tokens.
pub(super) struct Connected {
    pub(super) signer: Arc<ExternalSigner>,
    pub(super) max_seconds: i64,
    pub(super) extended_seconds: i64,
}

/// The smallest maximum lifetime that a signer may have.
///
/// Upstream: pkg/apis/authentication/validation/validation.go, MinTokenAgeSec (v1.36.4).
const LEAST_MAX_SECONDS: i64 = 10 * 60;

/// Waits for the signer, and gets its keys and its limits.
///
/// Upstream: pkg/controlplane/apiserver/options/options.go, completeServiceAccountOptions (v1.36.4).
pub(super) async fn connect(
    config: &Config,
    socket: &str,
    clock: &Clock,
    numbers: &Arc<Numbers>,
) -> Result<Connected, Error> {
    let failed = |reason: String| Error::ExternalSigner { reason };
    let signer = ExternalSigner::connect(socket, clock.clone(), numbers.clone()).await;
    let signer = signer.map_err(|error| {
        failed(format!(
            "while setting up external-jwt-signer: while initially filling key cache: while performing initial cache \
             fill: {error}"
        ))
    })?;
    let most = signer.max_seconds().await;
    let most = most.map_err(|error| failed(format!("while setting up external-jwt-signer: {error}")))?;
    if most < LEAST_MAX_SECONDS {
        return Err(failed(format!(
            "max token life supported by external-jwt-signer ({most}s) is less than acceptable (min \
             {LEAST_MAX_SECONDS}s)"
        )));
    }
    if let Some(wanted) = config.max_seconds.filter(|it| *it > most) {
        return Err(failed(format!(
            "service-account-max-token-expiration cannot be set longer than the token expiration supported by \
             service-account-signing-endpoint: {} > {}",
            shown(wanted),
            shown(most)
        )));
    }
    let max_seconds = config.max_seconds.unwrap_or(most);
    if config.extended {
        warn_of_short_lives(max_seconds);
    }
    let extended_seconds = EXTENDED_SECONDS.min(most);
    Ok(Connected { signer: Arc::new(signer), max_seconds, extended_seconds })
}

fn warn_of_short_lives(max_seconds: i64) {
    if max_seconds < WARN_ONLY_SECONDS {
        warn!(
            "service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, token \
             lifetime supported by external-jwt-signer must be longer than {WARN_ONLY_SECONDS} seconds (currently {})",
            shown(max_seconds)
        );
    }
    if max_seconds < EXTENDED_SECONDS {
        warn!(
            "service-account-extend-token-expiration is true, tokens validity will be caped at the smaller of \
             {EXTENDED_SECONDS} seconds and maximum token lifetime supported by external-jwt-signer ({})",
            shown(max_seconds)
        );
    }
}

/// `1h0m0s`
fn shown(seconds: i64) -> GoDuration {
    GoDuration::from_nanos(seconds.saturating_mul(1_000_000_000))
}

/// Upstream: pkg/serviceaccount/externaljwt/metrics/metrics.go (v1.36.4).
const CALL_SECONDS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// The metrics of a signer.
pub(super) struct Numbers {
    clock: Clock,
    calls: Arc<Family<Histogram>>,
    fetches: Arc<Family<Counter>>,
    signed: Arc<Family<Counter>>,
    fetched_at: Arc<Mutex<Option<f64>>>,
    keys_are_of: Arc<Mutex<Option<f64>>>,
}

impl Numbers {
    pub(super) fn new(clock: Clock) -> Numbers {
        let counter = |name: &'static str, help: &'static str| Arc::new(Family::new(name, help, &["code"]));
        Numbers {
            clock,
            calls: Arc::new(Family::with_buckets(
                "apiserver_externaljwt_request_duration_seconds",
                "[ALPHA] Seconds that calls of the external signer took.",
                &["code", "method"],
                &CALL_SECONDS,
            )),
            fetches: counter(
                "apiserver_externaljwt_fetch_keys_request_total",
                "[ALPHA] How often keys were fetched from the external signer, well or not.",
            ),
            signed: counter(
                "apiserver_externaljwt_sign_request_total",
                "[ALPHA] How often the external signer was asked for a token, with success or without.",
            ),
            fetched_at: Arc::default(),
            keys_are_of: Arc::default(),
        }
    }

    /// Adds the metrics to `registry`.
    pub(super) fn add_to(&self, registry: &Registry) {
        let families: [Arc<dyn Collect>; 3] = [self.calls.clone(), self.fetches.clone(), self.signed.clone()];
        families.into_iter().for_each(|it| registry.add(it));
        for (name, help, value) in [
            (
                "apiserver_externaljwt_fetch_keys_success_timestamp",
                "[ALPHA] When keys were fetched from the external signer with success.",
                &self.fetched_at,
            ),
            (
                "apiserver_externaljwt_fetch_keys_data_timestamp",
                "[ALPHA] From when the keys of the external signer are.",
                &self.keys_are_of,
            ),
        ] {
            let value = value.clone();
            registry.add(Arc::new(Computed::number(name, help, Kind::Gauge, move || *value.lock())));
        }
    }
}

impl SignerMeter for Numbers {
    fn called(&self, method: &'static str, code: &'static str, took: Duration) {
        self.calls.with(&[code, method]).observe(took.as_secs_f64());
    }

    fn fetched(&self, code: &'static str) {
        self.fetches.with(&[code]).inc();
        if code == "OK" {
            *self.fetched_at.lock() = Some(self.clock.since_epoch().as_secs_f64());
        }
    }

    fn signed(&self, code: &'static str) {
        self.signed.with(&[code]).inc();
    }

    fn keys_are_of(&self, seconds: f64) {
        *self.keys_are_of.lock() = Some(seconds);
    }
}
