//! Client certificate.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_x509::handshake::key_pair;
use parking_lot::Mutex;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, crypto::aws_lc_rs};

use crate::Error;
use crate::error::in_words;

/// The client certificate that we present, with its key, in PEM.
#[derive(Clone)]
pub enum Identity {
    /// As text.
    Pem {
        /// The certificate, then the intermediate certificates.
        certificate: Vec<u8>,
        /// Its key.
        key: Vec<u8>,
    },
    /// As files, which may change; they are read again from time to time.
    Files {
        /// The certificate, then the intermediate certificates.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
}

/// How long a pair is used before its files are read again.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Provides the pair to handshakes.
pub(crate) struct Shown {
    identity: Identity,
    clock: Clock,
    read: Mutex<(Duration, Arc<CertifiedKey>)>,
}

impl Shown {
    pub(crate) fn new(identity: Identity, clock: Clock) -> Result<Shown, Error> {
        let pair = Arc::new(read(&identity)?);
        let read = Mutex::new((clock.monotonic(), pair));
        Ok(Shown { identity, clock, read })
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let now = self.clock.monotonic();
        let mut known = self.read.lock();
        if matches!(self.identity, Identity::Files { .. }) && now >= known.0 + REMEMBERED {
            known.0 = now;
            // An incomplete pair, while the other file is being written, leaves the old one in use.
            if let Ok(pair) = read(&self.identity) {
                known.1 = Arc::new(pair);
            }
        }
        Some(known.1.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

fn read(identity: &Identity) -> Result<CertifiedKey, Error> {
    let (certificate, key) = match identity {
        Identity::Pem { certificate, key } => (certificate.clone(), key.clone()),
        Identity::Files { certificate, key } => (read_file(certificate)?, read_file(key)?),
    };
    let bad = |field, reason: String| Error::BadTarget { field, reason };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
    let chain = chain.map_err(|error| bad("client-certificate", error.to_string()))?;
    if chain.is_empty() {
        return Err(bad("client-certificate", "it holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| bad("client-key", error.to_string()))?;
    let provider: CryptoProvider = aws_lc_rs::default_provider();
    key_pair(chain, key, &provider).map_err(|error| bad("client-key", error.to_string()))
}

/// Reads a file that a target names.
pub(crate) fn read_file(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::Read { path: path.to_owned(), reason: in_words(&error) })
}
