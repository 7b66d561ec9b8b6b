//! KMS v1: every value has its own key, which the plugin encrypts when the value is written.
//!
//! ```text
//! k8s:enc:kms:v1:name:<length u16><encrypted key><AES-GCM, or AES-CBC of long ago>
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_grpc::Failure;
use keelson_stdx::clock::Clock;
use keelson_store::Opened;
use parking_lot::Mutex;

use super::call::Plugin;
use super::messages::{OldDecryptRequest, OldEncryptRequest};
use super::service::ServiceSettings;
use crate::chain::Purpose;
use crate::cipher::{AesCbc, AesGcm, random};
use crate::error::{Error, Result};
use crate::meter::Meter;

/// How long a good and a bad health result are cached.
const GOOD_FOR: Duration = Duration::from_secs(20);
const BAD_FOR: Duration = Duration::from_secs(3);
const KEY: usize = 32;
const VERSION: &str = "v1beta1";

/// Upstream: apiserver/pkg/storage/value/encrypt/envelope/envelope.go (v1.36.4).
pub(crate) struct OldService {
    name: String,
    prefix: String,
    plugin: Plugin,
    clock: Clock,
    meter: Arc<dyn Meter>,
    /// Whether the plugin is known to use our version of the protocol.
    is_known: tokio::sync::Mutex<bool>,
    last: tokio::sync::Mutex<Option<(Duration, std::result::Result<(), String>)>>,
    keys: Mutex<Recent>,
}

/// The keys that were used last, the newest at the end. There are few, and they are long.
struct Recent {
    keys: Vec<(Vec<u8>, Arc<DataKey>)>,
    most: usize,
}

struct DataKey {
    gcm: AesGcm,
    cbc: AesCbc,
}

impl OldService {
    /// `cache_size` keys are remembered; none if it is negative.
    pub(crate) fn new(
        settings: ServiceSettings<'_>,
        cache_size: i64,
    ) -> std::result::Result<OldService, String> {
        let ServiceSettings { name, endpoint, timeout, clock, meter } = settings;
        let plugin = Plugin::new((name, endpoint), timeout, clock.clone(), meter.clone())?;
        Ok(OldService {
            name: name.to_owned(),
            prefix: format!("k8s:enc:kms:v1:{name}:"),
            plugin,
            clock,
            meter,
            is_known: tokio::sync::Mutex::default(),
            last: tokio::sync::Mutex::default(),
            keys: Mutex::new(Recent { keys: Vec::new(), most: usize::try_from(cache_size).unwrap_or(0) }),
        })
    }

    /// `k8s:enc:kms:v1:name:`
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Checks the health by encrypting and decrypting a value, unless that was done just now.
    pub(crate) async fn check(&self) -> std::result::Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, outcome)) = &*last {
            let holds = if outcome.is_ok() { GOOD_FOR } else { BAD_FOR };
            if self.clock.monotonic().saturating_sub(*at) < holds {
                return outcome.clone();
            }
        }
        let outcome = self.ping().await;
        *last = Some((self.clock.monotonic(), outcome.clone()));
        outcome
    }

    async fn ping(&self) -> std::result::Result<(), String> {
        let failed = |section: &str, error: Failure| {
            let name = &self.name;
            format!(
                "failed to perform {section} section of the healthz check for KMS Provider {name}, error: {error}"
            )
        };
        let sealed = self.encrypt(b"ping".to_vec()).await.map_err(|error| failed("encrypt", error))?;
        self.decrypt(sealed).await.map_err(|error| failed("decrypt", error))?;
        Ok(())
    }

    pub(crate) async fn open(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Opened> {
        self.meter.arrived("from_storage");
        let (key, sealed) = split(data).ok_or_else(|| {
            Error::Envelope(
                "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data".to_owned(),
            )
        })?;
        let data_key = match self.remembered(key) {
            Some(known) => known,
            None => {
                self.meter.key_missed();
                let plain = self.decrypt(key.to_vec()).await.map_err(Error::Call)?;
                self.remember(key, &plain)?
            }
        };
        let place = purpose.place.as_bytes();
        let by_gcm = match data_key.gcm.open(sealed, place) {
            Ok(value) => return Ok(Opened { value: value.into(), stale: false }),
            Err(error) => error,
        };
        // What was written before v1.25.
        match data_key.cbc.open(sealed) {
            Ok(value) => Ok(Opened { value: value.into(), stale: true }),
            Err(by_cbc) => Err(Error::reduce(vec![by_gcm, by_cbc]).unwrap_or(Error::Forged)),
        }
    }

    pub(crate) async fn seal(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Bytes> {
        self.meter.arrived("to_storage");
        let begun = self.clock.monotonic();
        let plain: [u8; KEY] = random().inspect_err(|_| self.meter.key_not_made())?;
        self.meter.key_made(self.clock.monotonic().saturating_sub(begun));
        let key = self.encrypt(plain.to_vec()).await.map_err(Error::Call)?;
        let length = u16::try_from(key.len()).map_err(|_| Error::Cipher)?;
        let sealed = self.remember(&key, &plain)?.gcm.seal(data, purpose.place.as_bytes())?;
        Ok([self.prefix.as_bytes(), &length.to_be_bytes(), &key, &sealed].concat().into())
    }

    fn remembered(&self, key: &[u8]) -> Option<Arc<DataKey>> {
        let mut recent = self.keys.lock();
        let position = recent.keys.iter().position(|(known, _)| known == key)?;
        let found = recent.keys.remove(position);
        let data_key = found.1.clone();
        recent.keys.push(found);
        Some(data_key)
    }

    fn remember(&self, key: &[u8], plain: &[u8]) -> Result<Arc<DataKey>> {
        let wrong = || Error::Envelope(format!("crypto/aes: invalid key size {}", plain.len()));
        let data_key = Arc::new(DataKey {
            gcm: AesGcm::new(plain).ok_or_else(wrong)?,
            cbc: AesCbc::new(plain).ok_or_else(wrong)?,
        });
        let mut recent = self.keys.lock();
        recent.keys.push((key.to_vec(), data_key.clone()));
        while recent.keys.len() > recent.most {
            recent.keys.remove(0);
        }
        if recent.most > 0 {
            self.meter.cache_filled(recent.keys.len() as f64 / recent.most as f64);
        }
        Ok(data_key)
    }

    async fn encrypt(&self, plain: Vec<u8>) -> std::result::Result<Vec<u8>, Failure> {
        self.check_version().await?;
        let request = OldEncryptRequest { version: VERSION.to_owned(), plain };
        Ok(self.plugin.old_encrypt(request).await?.cipher)
    }

    async fn decrypt(&self, cipher: Vec<u8>) -> std::result::Result<Vec<u8>, Failure> {
        self.check_version().await?;
        let request = OldDecryptRequest { version: VERSION.to_owned(), cipher };
        Ok(self.plugin.old_decrypt(request).await?.plain)
    }

    async fn check_version(&self) -> std::result::Result<(), Failure> {
        let mut is_known = self.is_known.lock().await;
        if !*is_known {
            let version = self.plugin.version(VERSION).await?.version;
            if version != VERSION {
                let message = format!(
                    "KMS provider api version {version} is not supported, only {VERSION} is supported now"
                );
                return Err(Failure {
                    code: "unknown-non-grpc",
                    message,
                    passing: false,
                    unreachable: false,
                });
            }
            *is_known = true;
        }
        Ok(())
    }
}

fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}
