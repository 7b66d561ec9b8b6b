//! External signer: a plugin that keeps the keys of service account tokens (`--service-account-signing-endpoint`).
//!
//! ```text
//!            Metadata  once, at start: how long its tokens may live
//! server ──▶ FetchKeys at start, when its hint says so, and for a token with an unknown key
//!            Sign      claims ─▶ header and signature
//! ```
//!
//! The server never sees a private key. Keys that the plugin excludes from discovery verify old tokens and must not
//! sign new ones.

mod keys;
mod messages;
mod sign;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use keelson_grpc::{Failure, UnixService};
use keelson_stdx::clock::Clock;
use prost::Message;
use tracing::{error, warn};

use self::keys::Fetched;
use self::messages::{FetchKeysRequest, FetchKeysResponse, MetadataRequest, MetadataResponse};
use super::KeySet;
use crate::jws::PublicKey;

const FETCH_KEYS: &str = "/v1.ExternalJWTSigner/FetchKeys";
const METADATA: &str = "/v1.ExternalJWTSigner/Metadata";
const SIGN: &str = "/v1.ExternalJWTSigner/Sign";

/// Upstream: pkg/controlplane/apiserver/options/options.go, completeServiceAccountOptions (v1.36.4).
const KEYS_TIMEOUT: Duration = Duration::from_secs(60);
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// Requests have deadlines of their own, which are shorter.
const SIGN_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause after a failed fetch of keys.
///
/// Upstream: pkg/serviceaccount/externaljwt/plugin/keycache.go, fallbackRefreshDuration (v1.36.4).
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// Signs tokens elsewhere, and knows the keys that verify them.
///
/// Upstream: pkg/serviceaccount/externaljwt/plugin/plugin.go, keycache.go (v1.36.4).
pub struct ExternalSigner {
    service: UnixService,
    clock: Clock,
    meter: Arc<dyn SignerMeter>,
    fetched: ArcSwap<Fetched>,
    /// The number of completed fetches. Callers that wait for a running fetch share its result.
    fetches: AtomicU64,
    last_fetch: tokio::sync::Mutex<Result<(), SignerError>>,
    on_change: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// Gets the numbers.
pub trait SignerMeter: Send + Sync {
    /// The signer was called; `code` is `OK` or what gRPC calls the failure.
    fn called(&self, method: &'static str, code: &'static str, took: Duration);
    /// Keys were fetched, or not.
    fn fetched(&self, code: &'static str);
    /// A token was signed, or not.
    fn signed(&self, code: &'static str);
    /// The signer's data timestamp of the keys, in seconds since 1970.
    fn keys_are_of(&self, seconds: f64);
}

/// Why an external signer cannot be used, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerError {
    /// The call failed, or the signer returned an error.
    #[error("{doing}: {failure}")]
    Call {
        /// The action that failed.
        doing: &'static str,
        /// The result of the call.
        failure: Failure,
    },
    /// The signer's answer is invalid.
    #[error("{0}")]
    Answer(String),
}

impl SignerError {
    /// The label of the metric.
    ///
    /// Upstream: pkg/serviceaccount/externaljwt/metrics/metrics.go, getErrorCode (v1.36.4).
    fn code(&self) -> &'static str {
        match self {
            SignerError::Call { failure, .. } => failure.code,
            SignerError::Answer(_) => "unknown-non-grpc",
        }
    }
}

fn code<T>(outcome: &Result<T, SignerError>) -> &'static str {
    outcome.as_ref().err().map_or("OK", SignerError::code)
}

impl ExternalSigner {
    /// Waits for the signer at `socket` (a path, or `@name`) and fetches its keys.
    pub async fn connect(
        socket: &str,
        clock: Clock,
        meter: Arc<dyn SignerMeter>,
    ) -> Result<ExternalSigner, SignerError> {
        let service = UnixService::new(socket, KEYS_TIMEOUT, clock.clone()).map_err(SignerError::Answer)?;
        let signer = ExternalSigner {
            service,
            clock,
            meter,
            fetched: ArcSwap::from_pointee(Fetched::default()),
            fetches: AtomicU64::new(0),
            last_fetch: tokio::sync::Mutex::new(Ok(())),
            on_change: OnceLock::new(),
        };
        signer.fetch().await?;
        Ok(signer)
    }

    /// The longest lifetime of its tokens, in seconds.
    pub async fn max_seconds(&self) -> Result<i64, SignerError> {
        let answer = self.call(METADATA, MetadataRequest {}, METADATA_TIMEOUT).await;
        let answer: MetadataResponse = answer.map_err(|failure| SignerError::Answer(failure.to_string()))?;
        Ok(answer.max_token_expiration_seconds)
    }

    /// Registers `tell`, which is called whenever the keys change.
    pub fn on_change(&self, tell: impl Fn() + Send + Sync + 'static) {
        if self.on_change.set(Box::new(tell)).is_err() {
            warn!("somebody else is told already about keys that change");
        }
    }

    /// The keys that discovery publishes.
    #[must_use]
    pub fn discoverable(&self) -> KeySet {
        let fetched = self.fetched.load();
        KeySet::new(fetched.keys.iter().filter(|it| !it.is_hidden).map(|it| it.key.clone()).collect())
    }

    /// How long the published keys are valid, in seconds.
    #[must_use]
    pub fn max_age(&self) -> u64 {
        self.fetched.load().refresh_at.saturating_sub(self.clock.monotonic()).as_secs()
    }

    /// Fetches keys again when it is time. Runs for ever.
    pub async fn follow(&self) {
        let mut pause = self.fetched.load().refresh_at.saturating_sub(self.clock.monotonic());
        loop {
            self.clock.sleep(pause).await;
            pause = match self.fetch().await {
                Ok(()) => self.fetched.load().refresh_at.saturating_sub(self.clock.monotonic()),
                Err(error) => {
                    error!(%error, "keys of the external signer could not be fetched, the old ones stay");
                    AFTER_FAILURE
                }
            };
        }
    }

    /// The keys with this id, or all keys if the token does not name one; an unknown id triggers a fetch.
    pub(super) async fn find(&self, id: Option<&str>) -> Vec<PublicKey> {
        let known =
            || -> Vec<PublicKey> { self.fetched.load().called(id).map(|it| it.key.clone()).collect() };
        let found = known();
        if !found.is_empty() {
            return found;
        }
        match self.fetch().await {
            Ok(()) => known(),
            Err(error) => {
                error!(%error, "keys of the external signer could not be fetched");
                Vec::new()
            }
        }
    }

    /// Replaces the keys. Concurrent callers share one fetch.
    async fn fetch(&self) -> Result<(), SignerError> {
        let seen = self.fetches.load(Ordering::Acquire);
        let mut last = self.last_fetch.lock().await;
        if self.fetches.load(Ordering::Acquire) != seen {
            return last.clone();
        }
        let outcome = self.fetch_now().await;
        self.meter.fetched(code(&outcome));
        *last = outcome;
        self.fetches.fetch_add(1, Ordering::Release);
        last.clone()
    }

    async fn fetch_now(&self) -> Result<(), SignerError> {
        let answer = self.call(FETCH_KEYS, FetchKeysRequest {}, KEYS_TIMEOUT).await;
        let answer: FetchKeysResponse = answer.map_err(|failure| SignerError::Call {
            doing: "while fetching token verification keys: while getting externally supported jwt signing keys",
            failure,
        })?;
        let fetched = Fetched::read(&answer, self.clock.monotonic())
            .map_err(|why| SignerError::Answer(format!("while fetching token verification keys: {why}")))?;
        self.meter.keys_are_of(fetched.timestamp_seconds());
        let is_changed = fetched.differs_from(&self.fetched.load());
        self.fetched.store(fetched.into());
        if let Some(tell) = self.on_change.get().filter(|_| is_changed) {
            tell();
        }
        Ok(())
    }

    async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, Failure>
    where
        Q: Message + Clone + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let begun = self.clock.monotonic();
        let answer = self.service.call_when_ready(method, request, timeout).await;
        let code = answer.as_ref().err().map_or("OK", |failure: &Failure| failure.code);
        self.meter.called(method, code, self.clock.monotonic().saturating_sub(begun));
        answer
    }
}

impl std::fmt::Debug for ExternalSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExternalSigner")
    }
}
