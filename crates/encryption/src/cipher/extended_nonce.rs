//! AES-GCM with a separate key for every value, derived from a seed: the number of values is not limited.
//!
//! ```text
//! <info 32><nonce 12><ciphertext><tag 16>        key = HKDF-Expand(SHA-256, seed, info)
//! ```

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk};

use super::{AesGcm, random};
use crate::error::{Error, Result};

/// The length of a seed, of the derived keys, and of `info`.
pub(crate) const SEED: usize = 32;

/// A seed.
///
/// Upstream: apiserver/pkg/storage/value/encrypt/aes/aes_extended_nonce.go (v1.36.4).
pub(crate) struct Seed(Prk);

impl Seed {
    /// `None` if it is too short.
    pub(crate) fn new(seed: &[u8]) -> Option<Seed> {
        (seed.len() >= SEED).then(|| Seed(Prk::new_less_safe(HKDF_SHA256, seed)))
    }

    pub(crate) fn open(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        let (info, sealed) = data.split_first_chunk::<SEED>().ok_or(Error::TooShort)?;
        self.derived(info)?.open(sealed, place)
    }

    pub(crate) fn seal(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        let info: [u8; SEED] = random()?;
        let sealed = self.derived(&info)?.seal(data, place)?;
        Ok([info.as_slice(), &sealed].concat())
    }

    fn derived(&self, info: &[u8; SEED]) -> Result<AesGcm> {
        let mut key = [0; SEED];
        let info = [info.as_slice()];
        let stream = self.0.expand(&info, Length).map_err(|_| Error::Cipher)?;
        stream.fill(&mut key).map_err(|_| Error::Cipher)?;
        AesGcm::new(&key).ok_or(Error::Cipher)
    }
}

struct Length;

impl KeyType for Length {
    fn len(&self) -> usize {
        SEED
    }
}
