//! AES-CBC with PKCS #7 padding. Nothing is authenticated: it is here because upstream has it.

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::{FixedLength, IV_LEN_128_BIT};

use super::random;
use crate::error::{Error, Result};

const BLOCK: usize = IV_LEN_128_BIT;

/// A key of 16, 24 or 32 bytes.
///
/// Upstream: apiserver/pkg/storage/value/encrypt/aes/aes.go, cbc (v1.36.4).
pub(crate) struct AesCbc {
    open: DecryptingKey,
    seal: EncryptingKey,
}

impl AesCbc {
    /// `None` for keys of another length.
    pub(crate) fn new(key: &[u8]) -> Option<AesCbc> {
        let algorithm = match key.len() {
            16 => &AES_128,
            24 => &AES_192,
            32 => &AES_256,
            _ => return None,
        };
        let open = DecryptingKey::cbc(UnboundCipherKey::new(algorithm, key).ok()?).ok()?;
        let seal = EncryptingKey::cbc(UnboundCipherKey::new(algorithm, key).ok()?).ok()?;
        Some(AesCbc { open, seal })
    }

    pub(crate) fn open(&self, data: &[u8]) -> Result<Vec<u8>> {
        let (iv, sealed) = data.split_first_chunk::<BLOCK>().ok_or(Error::TooShort)?;
        if sealed.len() % BLOCK != 0 {
            return Err(Error::NotBlocks);
        }
        let mut plain = sealed.to_vec();
        let context = DecryptionContext::Iv128(FixedLength::from(iv));
        self.open.decrypt(&mut plain, context).map_err(|_| Error::Cipher)?;
        let padding = usize::from(plain.last().copied().unwrap_or_default());
        if padding == 0 || padding > plain.len() {
            return Err(Error::NotPadded);
        }
        let length = plain.len() - padding;
        if plain[length..].iter().any(|byte| usize::from(*byte) != padding) {
            return Err(Error::Padding);
        }
        plain.truncate(length);
        Ok(plain)
    }

    pub(crate) fn seal(&self, data: &[u8]) -> Result<Vec<u8>> {
        let iv: [u8; BLOCK] = random()?;
        let padding = BLOCK - data.len() % BLOCK;
        let mut sealed = Vec::with_capacity(BLOCK + data.len() + padding);
        sealed.extend_from_slice(&iv);
        sealed.extend_from_slice(data);
        sealed.resize(sealed.len() + padding, padding as u8);
        let context = EncryptionContext::Iv128(FixedLength::from(&iv));
        self.seal.less_safe_encrypt(&mut sealed[BLOCK..], context).map_err(|_| Error::Cipher)?;
        Ok(sealed)
    }
}
