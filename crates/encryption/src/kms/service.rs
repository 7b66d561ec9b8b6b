//! Service: a plugin, the seed that it encrypted for us, and the data keys that it decrypted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use keelson_grpc::Failure;
use keelson_object::scalar::Time;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::Opened;
use parking_lot::Mutex;
use prost::Message as _;
use tokio::task::AbortHandle;
use uuid::Uuid;

use super::call::Plugin;
use super::envelope::{self, DataKey};
use super::messages::{DecryptRequest, EncryptRequest, EncryptedObject, HKDF_SHA256_XNONCE_AES_GCM_SEED};
use super::probe::Probe;
use crate::chain::Purpose;
use crate::cipher::{SEED, random};
use crate::error::{Error, Result};
use crate::meter::Meter;

/// How long a data key is cached after its last use.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// The settings of a service.
pub(crate) struct ServiceSettings<'s> {
    pub(crate) name: &'s str,
    pub(crate) endpoint: &'s str,
    pub(crate) timeout: Duration,
    pub(crate) clock: Clock,
    pub(crate) meter: Arc<dyn Meter>,
}

/// One plugin of the configuration. Its background task ends when it is dropped.
pub(crate) struct Service {
    prefix: String,
    pub(super) heart: Arc<Heart>,
    poll: AbortHandle,
}

/// The state shared by the background task and the service.
pub(super) struct Heart {
    pub(super) name: String,
    pub(super) plugin: Plugin,
    pub(super) clock: Clock,
    pub(super) meter: Arc<dyn Meter>,
    pub(super) state: ArcSwapOption<State>,
    pub(super) probe: tokio::sync::Mutex<Probe>,
    keys: Mutex<HashMap<[u8; 32], Remembered>>,
    /// One request for a data key at a time: concurrent callers mostly want the same one.
    asking: tokio::sync::Mutex<()>,
}

struct Remembered {
    key: Arc<DataKey>,
    until: Duration,
}

/// The key for writes.
pub(super) struct State {
    pub(super) key: Arc<DataKey>,
    /// Everything but the data.
    pub(super) envelope: EncryptedObject,
    pub(super) cache_key: [u8; 32],
    /// On the monotonic clock, when the plugin must have been well again.
    pub(super) expires: Duration,
    /// The same as wall-clock time, for messages.
    pub(super) expires_at: Time,
}

impl Service {
    /// Asks the plugin once, and then again and again. It need not be there yet.
    pub(crate) async fn start(settings: ServiceSettings<'_>) -> std::result::Result<Arc<Service>, String> {
        let ServiceSettings { name, endpoint, timeout, clock, meter } = settings;
        let plugin = Plugin::new((name, endpoint), timeout, clock.clone(), meter.clone())?;
        let heart = Arc::new(Heart {
            name: name.to_owned(),
            plugin,
            clock,
            meter,
            state: ArcSwapOption::empty(),
            probe: tokio::sync::Mutex::default(),
            keys: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        });
        let is_well = heart.check_and_log().await;
        let poll = task::spawn("kms status", Heart::poll(Arc::downgrade(&heart), is_well)).abort_handle();
        Ok(Arc::new(Service { prefix: format!("k8s:enc:kms:v2:{name}:"), heart, poll }))
    }

    /// `k8s:enc:kms:v2:name:`
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Checks the health of the plugin; sends a status request unless one was sent just now.
    pub(crate) async fn check(&self) -> std::result::Result<(), String> {
        self.heart.check().await
    }

    pub(crate) async fn open(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Opened> {
        let heart = &self.heart;
        let object = envelope::decode(data)?;
        let state = heart.state()?;
        let key = heart.data_key(&object).await?;
        heart.meter.key_used("from_storage", &heart.name, &object.key_id);
        let value = key.open(&object.encrypted_data, purpose.place.as_bytes())?;
        let ours = &state.envelope;
        let stale = object.key_id != ours.key_id
            || object.encrypted_dek_source_type != ours.encrypted_dek_source_type;
        Ok(Opened { value: value.into(), stale })
    }

    pub(crate) async fn seal(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Bytes> {
        let heart = &self.heart;
        let state = heart.state()?;
        heart.check_expiry(&state)?;
        heart.remember(state.cache_key, state.key.clone());
        let encrypted_data = state.key.seal(data, purpose.place.as_bytes())?;
        heart.meter.key_used("to_storage", &heart.name, &state.envelope.key_id);
        let object = EncryptedObject { encrypted_data, ..state.envelope.clone() };
        envelope::check(&object)?;
        let mut sealed = Vec::with_capacity(self.prefix.len() + object.encoded_len());
        sealed.extend_from_slice(self.prefix.as_bytes());
        sealed.extend_from_slice(&object.encode_to_vec());
        Ok(sealed.into())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.poll.abort();
    }
}

impl Heart {
    /// The current state; an expired one can still be used for reads.
    fn state(&self) -> Result<Arc<State>> {
        self.state.load_full().ok_or_else(|| Error::NotReady("got unexpected nil transformer".to_owned()))
    }

    /// Upstream: envelope/kmsv2/envelope.go, ValidateEncryptCapability (v1.36.4).
    fn check_expiry(&self, state: &State) -> Result<()> {
        if self.clock.monotonic() <= state.expires {
            return Ok(());
        }
        let now = Time::from_unix(i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX));
        let (id, then) = (envelope::hash(&state.envelope.key_id), state.expires_at);
        Err(Error::NotReady(format!(
            "encryptedDEKSource with keyID hash {id:?} expired at {then} (current time is {now})"
        )))
    }

    /// The data key of a stored value: remembered, or decrypted by the plugin.
    async fn data_key(&self, object: &EncryptedObject) -> Result<Arc<DataKey>> {
        let cache_key = envelope::cache_key(object);
        if let Some(known) = self.remembered(&cache_key) {
            return Ok(known);
        }
        let _asking = self.asking.lock().await;
        if let Some(known) = self.remembered(&cache_key) {
            return Ok(known);
        }
        self.meter.key_missed();
        let request = DecryptRequest {
            ciphertext: object.encrypted_dek_source.clone(),
            uid: Uuid::new_v4().to_string(),
            key_id: object.key_id.clone(),
            annotations: object.annotations.clone(),
        };
        let answer = self.plugin.decrypt(request).await;
        let answer = answer.map_err(|status| Error::Service { doing: "failed to decrypt DEK", status })?;
        let key = Arc::new(DataKey::new(object.encrypted_dek_source_type, &answer.plaintext)?);
        self.remember(cache_key, key.clone());
        Ok(key)
    }

    fn remembered(&self, cache_key: &[u8; 32]) -> Option<Arc<DataKey>> {
        self.keys.lock().get(cache_key).map(|known| known.key.clone())
    }

    fn remember(&self, cache_key: [u8; 32], key: Arc<DataKey>) {
        let now = self.clock.monotonic();
        let mut keys = self.keys.lock();
        keys.insert(cache_key, Remembered { key, until: now + REMEMBERED });
        keys.retain(|_, it| it.until > now);
        let count = keys.len();
        drop(keys);
        self.meter.keys_cached(&self.name, count);
    }

    /// A new seed, encrypted by the plugin.
    ///
    /// Upstream: envelope/kmsv2/envelope.go, GenerateTransformer (v1.36.4).
    pub(super) async fn new_state(
        &self,
        uid: &str,
        (expires, expires_at): (Duration, Time),
    ) -> Result<State> {
        let begun = self.clock.monotonic();
        let seed: [u8; SEED] = random().inspect_err(|_| self.meter.key_not_made())?;
        let key = Arc::new(DataKey::new(HKDF_SHA256_XNONCE_AES_GCM_SEED, &seed)?);
        self.meter.key_made(self.clock.monotonic().saturating_sub(begun));
        let request = EncryptRequest { plaintext: seed.to_vec(), uid: uid.to_owned() };
        let answer = self.plugin.encrypt(request).await;
        let answer =
            answer.map_err(|status: Failure| Error::Service { doing: "failed to encrypt DEK", status })?;
        let mut envelope = EncryptedObject {
            // Anything: it is checked, but not yet filled in.
            encrypted_data: vec![0],
            key_id: answer.key_id,
            encrypted_dek_source: answer.ciphertext,
            annotations: answer.annotations,
            encrypted_dek_source_type: HKDF_SHA256_XNONCE_AES_GCM_SEED,
        };
        envelope::check(&envelope)?;
        envelope.encrypted_data.clear();
        let cache_key = envelope::cache_key(&envelope);
        Ok(State { key, envelope, cache_key, expires, expires_at })
    }
}
