//! Keys in PEM files.

use aws_lc_rs::signature::{EcdsaKeyPair, RsaKeyPair};
use rustls_pki_types::pem::{PemObject, SectionKind};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::key::{Curve, PublicKey, SigningKey, bad};
use crate::AuthError;

/// The first private key of a file.
///
/// Upstream: client-go/util/keyutil/key.go, ParsePrivateKeyPEM (v1.36.4).
pub fn signing_key(pem: &[u8]) -> Result<SigningKey, AuthError> {
    let mut reason = None;
    for (kind, der) in sections(pem) {
        match private(kind, &der) {
            Some(Ok(key)) => return Ok(key),
            Some(Err(error)) => reason = Some(error),
            None => {}
        }
    }
    Err(reason.unwrap_or_else(|| bad("data does not contain a valid RSA or ECDSA private key")))
}

/// All public keys of a file, those of certificates and of private keys as well.
///
/// Upstream: client-go/util/keyutil/key.go, ParsePublicKeysPEM (v1.36.4).
pub fn public_keys(pem: &[u8]) -> Result<Vec<PublicKey>, AuthError> {
    let (mut keys, mut reason) = (Vec::new(), None);
    for (kind, der) in sections(pem) {
        let key = match kind {
            SectionKind::PublicKey => Some(PublicKey::from_spki(&der)),
            SectionKind::Certificate => X509Certificate::from_der(&der)
                .ok()
                .map(|(_, it)| PublicKey::from_spki(it.tbs_certificate.subject_pki.raw)),
            _ => private(kind, &der).map(|key| Ok(key?.public_key().clone())),
        };
        match key {
            Some(Ok(key)) => keys.push(key),
            Some(Err(error)) => reason = Some(error),
            None => {}
        }
    }
    match (keys.is_empty(), reason) {
        (false, _) => Ok(keys),
        (true, Some(reason)) => Err(reason),
        (true, None) => Err(bad("data does not contain any valid RSA or ECDSA public keys")),
    }
}

/// Blocks of other kinds are skipped: `EC PARAMETERS` often comes before a key.
fn sections(pem: &[u8]) -> impl Iterator<Item = (SectionKind, Vec<u8>)> {
    <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).filter_map(Result::ok)
}

/// `None` if the section is not a private key.
fn private(kind: SectionKind, der: &[u8]) -> Option<Result<SigningKey, AuthError>> {
    let of_curve = |read: &dyn Fn(Curve) -> Option<EcdsaKeyPair>| Curve::ALL.into_iter().find_map(read);
    let (rsa, ec) = match kind {
        SectionKind::RsaPrivateKey => (RsaKeyPair::from_der(der).ok(), None),
        SectionKind::EcPrivateKey => {
            let read = |it: Curve| EcdsaKeyPair::from_private_key_der(it.signing(), der).ok();
            (None, of_curve(&read))
        }
        SectionKind::PrivateKey => {
            let read = |it: Curve| EcdsaKeyPair::from_pkcs8(it.signing(), der).ok();
            (RsaKeyPair::from_pkcs8(der).ok(), of_curve(&read))
        }
        _ => return None,
    };
    Some(match (rsa, ec) {
        (Some(pair), _) => SigningKey::rsa(pair),
        (None, Some(pair)) => SigningKey::ec(pair),
        (None, None) => Err(bad("data does not contain a valid RSA or ECDSA private key")),
    })
}
