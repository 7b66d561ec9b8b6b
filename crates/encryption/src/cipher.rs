//! The ciphers: bytes in, bytes out, with a key of the configuration.

mod aes_cbc;
mod aes_gcm;
mod extended_nonce;
mod secretbox;

pub(crate) use aes_cbc::AesCbc;
pub(crate) use aes_gcm::AesGcm;
pub(crate) use extended_nonce::{SEED, Seed};
pub(crate) use secretbox::Secretbox;

use crate::error::{Error, Result};

/// A cipher with its key.
pub(crate) enum Cipher {
    AesCbc(Box<AesCbc>),
    AesGcm(AesGcm),
    Secretbox(Box<Secretbox>),
}

impl Cipher {
    /// `place` is authenticated by those ciphers that can.
    pub(crate) fn open(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        match self {
            Cipher::AesCbc(cipher) => cipher.open(data),
            Cipher::AesGcm(cipher) => cipher.open(data, place),
            Cipher::Secretbox(cipher) => cipher.open(data),
        }
    }

    pub(crate) fn seal(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        match self {
            Cipher::AesCbc(cipher) => cipher.seal(data),
            Cipher::AesGcm(cipher) => cipher.seal(data, place),
            Cipher::Secretbox(cipher) => cipher.seal(data),
        }
    }
}

/// Cryptographically random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Cipher)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
