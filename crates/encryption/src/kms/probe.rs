//! Is the plugin well, and has its key changed?

use std::sync::{Arc, Weak};
use std::time::Duration;

use keelson_object::scalar::Time;
use uuid::Uuid;

use super::envelope;
use super::messages::StatusResponse;
use super::service::{Heart, State};

/// The interval of status requests to a healthy plugin.
const WELL: Duration = Duration::from_secs(60);
/// The interval of status requests to an unhealthy plugin.
const UNWELL: Duration = Duration::from_secs(10);
/// How long a good health result is cached.
const GOOD_FOR: Duration = Duration::from_secs(20);
/// How long a bad health result is cached.
const BAD_FOR: Duration = Duration::from_secs(3);
/// How long a seed may be used for writes after the plugin was last healthy.
const WRITABLE: Duration = Duration::from_secs(3 * 60);

/// The last answer of a plugin.
#[derive(Default)]
pub(crate) struct Probe {
    last: Option<Last>,
    /// The version of its first answer; it must not change.
    version: String,
}

struct Last {
    at: Duration,
    problem: Option<String>,
}

impl Heart {
    /// Polls the status, more often while the plugin is unhealthy, until the service is dropped.
    pub(super) async fn poll(heart: Weak<Heart>, mut is_well: bool) {
        loop {
            let Some(clock) = heart.upgrade().map(|heart| heart.clock.clone()) else { return };
            clock.sleep(if is_well { WELL } else { UNWELL }).await;
            let Some(heart) = heart.upgrade() else { return };
            is_well = heart.check_and_log().await;
        }
    }

    pub(super) async fn check_and_log(&self) -> bool {
        let checked = self.check().await;
        if let Err(error) = &checked {
            tracing::warn!(name = self.name, %error, "kms plugin failed health check probe");
        }
        checked.is_ok()
    }

    /// Upstream: server/options/encryptionconfig/config.go, kmsv2PluginProbe.check (v1.36.4).
    pub(super) async fn check(&self) -> Result<(), String> {
        let mut probe = self.probe.lock().await;
        let now = self.clock.monotonic();
        if let Some(Last { at, problem }) = &probe.last
            && now.saturating_sub(*at) < if problem.is_none() { GOOD_FOR } else { BAD_FOR }
        {
            return problem.clone().map_or(Ok(()), Err);
        }
        let checked = match self.plugin.status().await {
            Ok(status) => self.accept(&mut probe, &status).await,
            Err(error) => Err(format!(
                "failed to perform status section of the healthz check for KMS Provider {}, error: {error}",
                self.name
            )),
        };
        probe.last = Some(Last { at: self.clock.monotonic(), problem: checked.clone().err() });
        checked
    }

    /// Upstream: isKMSv2ProviderHealthyAndMaybeRotateDEK (v1.36.4).
    async fn accept(&self, probe: &mut Probe, status: &StatusResponse) -> Result<(), String> {
        let mut problems = Vec::new();
        let StatusResponse { version, healthz, key_id } = status;
        if healthz != "ok" {
            problems.push(format!("got unexpected healthz status: {healthz}"));
        }
        if !matches!(&**version, "v2" | "v2beta1") {
            problems.push(format!("expected KMSv2 API version v2, got {version}"));
        } else if probe.version.is_empty() {
            probe.version.clone_from(version);
        } else if probe.version != *version {
            problems.push(format!(
                "KMSv2 API version should not change after the initial status response version {}, got {version}",
                probe.version
            ));
        }
        match envelope::check_key_id(key_id) {
            Err((label, problem)) => {
                self.meter.key_refused(&self.name, label);
                problems
                    .push(format!("got invalid KMSv2 KeyID hash {:?}: {problem}", envelope::hash(key_id)));
            }
            Ok(()) => {
                self.meter.key_announced(&self.name, key_id);
                problems.extend(self.follow_key(key_id).await.err());
            }
        }
        let text = match problems.len() {
            0 => return Ok(()),
            1 => problems.remove(0),
            _ => format!("[{}]", problems.join(", ")),
        };
        Err(format!("kmsv2 Provider {} is not healthy, error: {text}", self.name))
    }

    /// Keeps the current seed for writes if it belongs to this key, and generates a new one if not.
    ///
    /// Upstream: rotateDEKOnKeyIDChange (v1.36.4).
    async fn follow_key(&self, key_id: &str) -> Result<(), String> {
        let expires = self.clock.monotonic() + WRITABLE;
        let expires_at = self.clock.unix_seconds() + WRITABLE.as_secs();
        let expires_at = Time::from_unix(i64::try_from(expires_at).unwrap_or(i64::MAX));
        let old = self.state.load_full();
        if let Some(old) = &old
            && old.envelope.key_id == key_id
        {
            let (key, envelope, cache_key) = (old.key.clone(), old.envelope.clone(), old.cache_key);
            self.state.store(Some(Arc::new(State { key, envelope, cache_key, expires, expires_at })));
            return Ok(());
        }
        let uid = Uuid::new_v4().to_string();
        let made = self.new_state(&uid, (expires, expires_at)).await;
        let (problem, made_id) = match made {
            Ok(state) if state.envelope.key_id == key_id => {
                tracing::info!(name = self.name, uid, key = envelope::hash(key_id), "rotated the data key");
                self.state.store(Some(Arc::new(state)));
                return Ok(());
            }
            Ok(state) => ("<nil>".to_owned(), state.envelope.key_id),
            Err(error) => (error.to_string(), String::new()),
        };
        let state_problem = if old.is_some() { "<nil>" } else { "got unexpected nil transformer" };
        let (old_id, expired) = match &old {
            Some(old) => (old.envelope.key_id.as_str(), old.expires_at.to_string()),
            None => ("", "0001-01-01T00:00:00Z".to_owned()),
        };
        Err(format!(
            "failed to rotate DEK uid={uid:?}, useSeed=true, errState={state_problem}, errGen={problem}, \
             statusKeyIDHash={:?}, encryptKeyIDHash={:?}, stateKeyIDHash={:?}, expirationTimestamp={expired}",
            envelope::hash(key_id),
            envelope::hash(&made_id),
            envelope::hash(old_id),
        ))
    }
}
