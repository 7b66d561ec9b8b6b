//! Trust: who vouches for the other side.

use std::path::PathBuf;
use std::sync::Arc;

use keelson_object::scalar::Time;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use crate::Error;
use crate::certificate;
use crate::identity::read_file;

/// Who vouches for the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities of the system, from the usual files.
    System,
    /// The authorities in this PEM text, and nobody else.
    Bundle(Vec<u8>),
    /// The authorities in this file, and nobody else.
    File(PathBuf),
    /// Anybody will do. Only for who asked for it in so many words.
    Anybody,
}

/// Where distributions keep their authorities, in the order in which Go looks.
const SYSTEM_FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

impl Trust {
    /// Who decides in handshakes whether a certificate will do.
    pub fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let anchors = match self {
            Trust::Anybody => return Ok(Arc::new(Credulous(provider.clone()))),
            Trust::Bundle(pem) => anchors(pem)?,
            Trust::File(path) => anchors(&read_file(path)?)?,
            Trust::System => system_anchors(),
        };
        if anchors.is_empty() {
            return Ok(Arc::new(Distrustful(provider.clone())));
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(anchors), provider.clone());
        let verifier = verifier.build().map_err(|error| bad(error.to_string()))?;
        Ok(Arc::new(Explaining(verifier)))
    }
}

fn anchors(pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        store.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(bad("it holds no certificate".to_owned()));
    }
    Ok(store)
}

/// What the system has; odd certificates between good ones are left out, as by everybody.
fn system_anchors() -> RootCertStore {
    let mut store = RootCertStore::empty();
    let pem = system_authorities();
    store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    store
}

/// The authorities of the system in PEM; nothing where it has none.
#[must_use]
pub fn system_authorities() -> Vec<u8> {
    let chosen = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let mut files = chosen.into_iter().chain(SYSTEM_FILES.iter().map(PathBuf::from));
    files.find_map(|path| std::fs::read(path).ok()).unwrap_or_default()
}

fn bad(reason: String) -> Error {
    Error::BadTarget { field: "certificate-authority", reason }
}

/// Knows why it does not trust somebody.
#[derive(Debug)]
struct Explaining(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Explaining {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = self.0.verify_server_cert(leaf, others, name, ocsp, now);
        verdict.map_err(|error| {
            let chain: Vec<&CertificateDer<'_>> = std::iter::once(leaf).chain(others).collect();
            certificate::explained(error, &chain, name)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Trusts anybody who holds the key of the certificate that they show.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

/// A system without authorities trusts nobody.
#[derive(Debug)]
struct Distrustful(Arc<CryptoProvider>);

macro_rules! verifies_signatures {
    ($verifier:ty, $verdict:expr) => {
        impl ServerCertVerifier for $verifier {
            fn verify_server_cert(
                &self,
                _: &CertificateDer<'_>,
                _: &[CertificateDer<'_>],
                _: &ServerName<'_>,
                _: &[u8],
                _: UnixTime,
            ) -> Result<ServerCertVerified, rustls::Error> {
                $verdict
            }

            fn verify_tls12_signature(
                &self,
                message: &[u8],
                certificate: &CertificateDer<'_>,
                signature: &DigitallySignedStruct,
            ) -> Result<HandshakeSignatureValid, rustls::Error> {
                let algorithms = &self.0.signature_verification_algorithms;
                verify_tls12_signature(message, certificate, signature, algorithms)
            }

            fn verify_tls13_signature(
                &self,
                message: &[u8],
                certificate: &CertificateDer<'_>,
                signature: &DigitallySignedStruct,
            ) -> Result<HandshakeSignatureValid, rustls::Error> {
                let algorithms = &self.0.signature_verification_algorithms;
                verify_tls13_signature(message, certificate, signature, algorithms)
            }

            fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
                self.0.signature_verification_algorithms.supported_schemes()
            }
        }
    };
}

verifies_signatures!(Credulous, Ok(ServerCertVerified::assertion()));
verifies_signatures!(Distrustful, Err(CertificateError::UnknownIssuer.into()));

/// What a handshake says, in the words of Go.
pub(crate) fn in_words(error: &rustls::Error) -> String {
    let reason = match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "x509: certificate signed by unknown authority".to_owned()
            }
            CertificateError::ExpiredContext { time, not_after } => {
                format!("{OUT_OF_TIME}: current time {} is after {}", shown(*time), shown(*not_after))
            }
            CertificateError::NotValidYetContext { time, not_before } => {
                format!("{OUT_OF_TIME}: current time {} is before {}", shown(*time), shown(*not_before))
            }
            CertificateError::Expired | CertificateError::NotValidYet => OUT_OF_TIME.to_owned(),
            CertificateError::Other(OtherError(why)) => why.to_string(),
            other => format!("x509: {other}"),
        },
        rustls::Error::AlertReceived(alert) => return remote_alert(&format!("{alert:?}")),
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: {reason}")
}

const OUT_OF_TIME: &str = "x509: certificate has expired or is not yet valid";

fn shown(time: UnixTime) -> Time {
    Time::from_unix(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

/// What the other side complains of; `name` is what the alert is called here.
///
/// Origin: Go, crypto/tls/alert.go, alertText.
pub(crate) fn remote_alert(name: &str) -> String {
    let text = match name {
        "CertificateRevoked" => "revoked certificate",
        "CertificateExpired" => "expired certificate",
        "CertificateUnknown" => "unknown certificate",
        "BadRecordMac" => "bad record MAC",
        "UnknownCA" => "unknown certificate authority",
        "DecodeError" => "error decoding message",
        "DecryptError" => "error decrypting message",
        "ProtocolVersion" => "protocol version not supported",
        "InsufficientSecurity" => "insufficient security level",
        "UnrecognisedName" => "unrecognized name",
        "UnknownPSKIdentity" => "unknown PSK identity",
        "EncryptedClientHelloRequired" => "encrypted client hello required",
        // The others are called by their names.
        _ => return format!("remote error: tls: {}", in_small_words(name)),
    };
    format!("remote error: tls: {text}")
}

/// `HandshakeFailure` as `handshake failure`.
fn in_small_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
