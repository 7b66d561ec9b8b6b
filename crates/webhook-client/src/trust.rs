//! Trust: the CAs by which server certificates are verified.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keelson_x509::{Authorities, Certificate, Purpose, Verification, handshake};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};

use crate::Error;
use crate::identity::read_file;

/// The CAs by which server certificates are verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The CAs of the system, from the usual files.
    System,
    /// The CAs in this PEM text, and no others.
    Bundle(Vec<u8>),
    /// The CAs in this file, and no others.
    File(PathBuf),
    /// Any certificate. Only if the configuration says so explicitly.
    Anybody,
}

/// The CA files of distributions, in the order in which Go looks for them.
const SYSTEM_FILES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

impl Trust {
    /// The verifier of server certificates for handshakes.
    pub fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let authorities = match self {
            Trust::Anybody => None,
            Trust::Bundle(pem) => Some(authorities(pem)?),
            Trust::File(path) => Some(authorities(&read_file(path)?)?),
            Trust::System => Some(readable(&system_authorities())),
        };
        Ok(Arc::new(Verifier { authorities, algorithms: provider.signature_verification_algorithms }))
    }
}

fn authorities(pem: &[u8]) -> Result<Authorities, Error> {
    let found = readable(pem);
    if found.is_empty() {
        let reason = "it holds no certificate".to_owned();
        return Err(Error::BadTarget { field: "certificate-authority", reason });
    }
    Ok(found)
}

/// Unreadable certificates between good ones are left out, as Go does.
fn readable(pem: &[u8]) -> Authorities {
    let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
    Authorities::new(certificates.filter_map(|it| Certificate::parse(&it).ok()))
}

/// The CAs of the system in PEM; empty if it has none.
#[must_use]
pub fn system_authorities() -> Vec<u8> {
    let chosen = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let mut files = chosen.into_iter().chain(SYSTEM_FILES.iter().map(PathBuf::from));
    files.find_map(|path| std::fs::read(path).ok()).unwrap_or_default()
}

/// Verifies certificates in handshakes, by the rules of Go.
#[derive(Debug)]
struct Verifier {
    /// `None` trusts any server that holds the key of its certificate.
    authorities: Option<Authorities>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let unreadable = |_| CertificateError::BadEncoding;
        let leaf = Certificate::parse(leaf).map_err(unreadable)?;
        let others: Result<Vec<_>, _> = others.iter().map(|it| Certificate::parse(it)).collect();
        let intermediates = Authorities::new(others.map_err(unreadable)?);
        if let Some(authorities) = &self.authorities {
            let verification = Verification {
                authorities,
                intermediates: &intermediates,
                now: Duration::from_secs(now.as_secs()),
                purpose: Purpose::Server,
                host: Some(&name.to_str()),
            };
            let verdict = verification.verify(&leaf);
            verdict.map_err(|error| CertificateError::Other(OtherError(Arc::new(error))))?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        handshake::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        handshake::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The error of a handshake, in the words of Go.
pub(crate) fn in_words(error: &rustls::Error) -> String {
    let reason = match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Other(OtherError(why)) => why.to_string(),
            CertificateError::BadEncoding => {
                return "tls: failed to parse certificate from server: x509: malformed certificate"
                    .to_owned();
            }
            other => format!("x509: {other}"),
        },
        rustls::Error::AlertReceived(alert) => return remote_alert(&format!("{alert:?}")),
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: {reason}")
}

/// The alert that the server sent; `name` is its name here.
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
