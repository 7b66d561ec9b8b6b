//! TLS handshakes with certificates of any version.
//!
//! rustls reads certificates with webpki, which knows version 3 alone. What a handshake needs is the key.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, InconsistentKeys};
use webpki::RawPublicKeyEntity;

use crate::certificate::Certificate;

/// Whether the holder of the certificate's key signed `message` in a handshake of TLS 1.2.
pub fn verify_tls12_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    supported: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let certificate = parse(certificate)?;
    let info = SubjectPublicKeyInfoDer::from(certificate.public_key_info());
    let key = RawPublicKeyEntity::try_from(&info).map_err(|_| CertificateError::BadEncoding)?;
    let fitting = supported.mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
    let mut algorithms = fitting.into_iter().flat_map(|(_, algorithms)| algorithms.iter());
    if algorithms.any(|it| key.verify_signature(*it, message, signature.signature()).is_ok()) {
        Ok(HandshakeSignatureValid::assertion())
    } else {
        Err(CertificateError::BadSignature.into())
    }
}

/// Whether the holder of the certificate's key signed `message` in a handshake of TLS 1.3.
pub fn verify_tls13_signature(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    supported: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let certificate = parse(certificate)?;
    let info = SubjectPublicKeyInfoDer::from(certificate.public_key_info());
    verify_tls13_signature_with_raw_key(message, &info, signature, supported)
}

/// A certificate, those that lead to an authority, and the key that belongs to the first.
pub fn key_pair(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, rustls::Error> {
    let key = provider.key_provider.load_private_key(key)?;
    let leaf = parse(chain.first().ok_or(rustls::Error::NoCertificatesPresented)?)?;
    if key.public_key().is_some_and(|it| it.as_ref() != leaf.public_key_info()) {
        return Err(InconsistentKeys::KeyMismatch.into());
    }
    Ok(CertifiedKey::new(chain, key))
}

fn parse(certificate: &CertificateDer<'_>) -> Result<Certificate, rustls::Error> {
    Certificate::parse(certificate).map_err(|_| CertificateError::BadEncoding.into())
}
