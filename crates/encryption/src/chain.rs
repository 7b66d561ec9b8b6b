//! The providers of a resource: the first writes, all read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_stdx::clock::Clock;
use keelson_store::Opened;

use crate::cipher::Cipher;
use crate::error::{Error, Result};
use crate::kms::{OldService, Service};
use crate::meter::{Meter, Transformation};

/// The prefix of all encrypted data.
const ENCRYPTED: &[u8] = b"k8s:enc:";

/// The providers in the order of the configuration; never empty.
pub(crate) struct Chain(pub(crate) Vec<Provider>);

/// One element of `providers`.
#[derive(Clone)]
pub(crate) enum Provider {
    /// No encryption.
    Identity,
    /// Named keys of one cipher.
    Keys(Arc<Keys>),
    /// A key management service has the keys.
    Service(Arc<Service>),
    /// The same, with version 1 of the protocol.
    OldService(Arc<OldService>),
}

/// The keys of a provider: the first writes, all read.
pub(crate) struct Keys {
    /// `k8s:enc:aescbc:v1:`
    pub(crate) prefix: &'static str,
    /// Its name in errors: `AES`.
    pub(crate) provider: &'static str,
    /// `key1:`, and the key; never empty.
    pub(crate) keys: Vec<(String, Cipher)>,
}

/// The object for which data is encrypted or decrypted.
pub(crate) struct Purpose<'p> {
    /// `secrets`
    pub(crate) resource: &'p str,
    /// The key of the entry.
    pub(crate) place: &'p str,
    pub(crate) meter: &'p dyn Meter,
    pub(crate) clock: &'p Clock,
}

const READ: &str = "from_storage";
const WRITE: &str = "to_storage";

impl Purpose<'_> {
    fn done<T>(&self, direction: &'static str, prefix: &str, since: Duration, outcome: &Result<T>) {
        let status = outcome.as_ref().err().map_or("OK", Error::code);
        let took = self.clock.monotonic().saturating_sub(since);
        let resource = self.resource;
        self.meter.transformed(&Transformation { resource, direction, prefix, status, took });
    }
}

impl Chain {
    /// Asks every provider that could have written `data`. What the first would not write so is stale.
    ///
    /// Upstream: apiserver/pkg/storage/value/transformer.go, TransformFromStorage (v1.36.4).
    pub(crate) async fn open(&self, data: &Bytes, purpose: &Purpose<'_>) -> Result<Opened> {
        let begun = purpose.clock.monotonic();
        let mut errors = Vec::new();
        for (position, provider) in self.0.iter().enumerate() {
            let Some(rest) = data.strip_prefix(provider.prefix().as_bytes()) else { continue };
            let opened = match provider {
                // Encrypted values belong to one of the other providers.
                Provider::Identity if data.starts_with(ENCRYPTED) => continue,
                Provider::Identity => Ok(Opened { value: data.clone(), stale: false }),
                Provider::Keys(keys) => keys.open(rest, purpose),
                Provider::Service(service) => service.open(rest, purpose).await,
                Provider::OldService(service) => service.open(rest, purpose).await,
            };
            purpose.done(READ, provider.label(), begun, &opened);
            match opened {
                Ok(opened) => return Ok(Opened { stale: opened.stale || position > 0, ..opened }),
                // Two providers may have the same prefix and different keys.
                Err(error) => errors.push(error),
            }
        }
        if let Some(error) = Error::reduce(errors) {
            return Err(error);
        }
        let missing = Err(Error::NoProvider);
        purpose.done(READ, "unknown", begun, &missing);
        missing
    }

    pub(crate) async fn seal(&self, data: &Bytes, purpose: &Purpose<'_>) -> Result<Bytes> {
        let begun = purpose.clock.monotonic();
        let Some(first) = self.0.first() else { return Ok(data.clone()) };
        let sealed = match first {
            Provider::Identity => Ok(data.clone()),
            Provider::Keys(keys) => keys.seal(data, purpose),
            Provider::Service(service) => service.seal(data, purpose).await,
            Provider::OldService(service) => service.seal(data, purpose).await,
        };
        purpose.done(WRITE, first.prefix(), begun, &sealed);
        sealed
    }
}

impl Provider {
    fn prefix(&self) -> &str {
        match self {
            Provider::Identity => "",
            Provider::Keys(keys) => keys.prefix,
            Provider::Service(service) => service.prefix(),
            Provider::OldService(service) => service.prefix(),
        }
    }

    fn label(&self) -> &str {
        if matches!(self, Provider::Identity) { "identity" } else { self.prefix() }
    }
}

impl Keys {
    fn open(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Opened> {
        let begun = purpose.clock.monotonic();
        let mut errors = Vec::new();
        for (position, (name, cipher)) in self.keys.iter().enumerate() {
            let Some(rest) = data.strip_prefix(name.as_bytes()) else { continue };
            let opened = cipher.open(rest, purpose.place.as_bytes());
            purpose.done(READ, name, begun, &opened);
            match opened {
                Ok(value) => return Ok(Opened { value: value.into(), stale: position > 0 }),
                Err(error) => errors.push(error),
            }
        }
        if let Some(error) = Error::reduce(errors) {
            return Err(error);
        }
        let missing = Err(Error::NoKey { provider: self.provider });
        purpose.done(READ, "unknown", begun, &missing);
        missing
    }

    fn seal(&self, data: &[u8], purpose: &Purpose<'_>) -> Result<Bytes> {
        let begun = purpose.clock.monotonic();
        let (name, cipher) = self.keys.first().ok_or(Error::NoKey { provider: self.provider })?;
        let sealed = cipher.seal(data, purpose.place.as_bytes());
        purpose.done(WRITE, name, begun, &sealed);
        Ok([self.prefix.as_bytes(), name.as_bytes(), &sealed?].concat().into())
    }
}

/// For resources that the configuration does not name: values are plain, and encrypted ones are an error.
pub(crate) fn open_plain(data: &Bytes) -> Result<Opened> {
    if data.starts_with(ENCRYPTED) {
        return Err(Error::Encrypted);
    }
    Ok(Opened { value: data.clone(), stale: false })
}
