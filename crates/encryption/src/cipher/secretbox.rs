//! XSalsa20 and Poly1305, as NaCl puts them together.

use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Key, Nonce, Tag, XSalsa20Poly1305};

use super::random;
use crate::error::{Error, Result};

const NONCE: usize = 24;
const TAG: usize = 16;

/// A key of 32 bytes.
///
/// Upstream: apiserver/pkg/storage/value/encrypt/secretbox/secretbox.go (v1.36.4).
pub(crate) struct Secretbox(XSalsa20Poly1305);

impl Secretbox {
    /// `None` for keys of another length.
    pub(crate) fn new(key: &[u8]) -> Option<Secretbox> {
        let key: [u8; 32] = key.try_into().ok()?;
        Some(Secretbox(XSalsa20Poly1305::new(&Key::from(key))))
    }

    pub(crate) fn open(&self, data: &[u8]) -> Result<Vec<u8>> {
        let (nonce, sealed) = data.split_first_chunk::<NONCE>().ok_or(Error::TooShort)?;
        let (tag, sealed) = sealed.split_first_chunk::<TAG>().ok_or(Error::TooShort)?;
        let mut plain = sealed.to_vec();
        let opened =
            self.0.decrypt_in_place_detached(&Nonce::from(*nonce), b"", &mut plain, &Tag::from(*tag));
        opened.map_err(|_| Error::ForgedBox)?;
        Ok(plain)
    }

    pub(crate) fn seal(&self, data: &[u8]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE] = random()?;
        let mut sealed = Vec::with_capacity(NONCE + TAG + data.len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&[0; TAG]);
        sealed.extend_from_slice(data);
        let (head, body) = sealed.split_at_mut(NONCE + TAG);
        let tag = self.0.encrypt_in_place_detached(&Nonce::from(nonce), b"", body);
        head[NONCE..].copy_from_slice(&tag.map_err(|_| Error::Cipher)?);
        Ok(sealed)
    }
}
