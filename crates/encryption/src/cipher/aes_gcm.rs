//! AES-GCM with a random nonce, and the place of the value authenticated.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};

use super::random;
use crate::error::{Error, Result};

/// A key of 16, 24 or 32 bytes.
///
/// Upstream: apiserver/pkg/storage/value/encrypt/aes/aes.go, gcm (v1.36.4).
pub(crate) struct AesGcm(LessSafeKey);

impl AesGcm {
    /// `None` for keys of another length.
    pub(crate) fn new(key: &[u8]) -> Option<AesGcm> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            24 => &AES_192_GCM,
            32 => &AES_256_GCM,
            _ => return None,
        };
        Some(AesGcm(LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?)))
    }

    pub(crate) fn open(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        let (nonce, sealed) = data.split_at_checked(NONCE_LEN).ok_or(Error::TooShort)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Error::TooShort)?;
        let mut plain = sealed.to_vec();
        let length =
            self.0.open_in_place(nonce, Aad::from(place), &mut plain).map_err(|_| Error::Forged)?.len();
        plain.truncate(length);
        Ok(plain)
    }

    pub(crate) fn seal(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + data.len() + self.0.algorithm().tag_len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(data);
        let tag = self.0.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place),
            &mut sealed[NONCE_LEN..],
        );
        sealed.extend_from_slice(tag.map_err(|_| Error::Cipher)?.as_ref());
        Ok(sealed)
    }
}
