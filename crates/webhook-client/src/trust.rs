//! Trust: who vouches for the other side.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::Error;
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
        Ok(verifier)
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
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "x509: certificate has expired or is not yet valid".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "x509: certificate has expired or is not yet valid".to_owned()
            }
            CertificateError::NotValidForNameContext { expected, presented } => {
                let valid_for: Vec<String> = presented.iter().map(|name| plain_name(name)).collect();
                let valid_for = valid_for.join(", ");
                format!("x509: certificate is valid for {valid_for}, not {}", expected.to_str())
            }
            other => format!("x509: {other}"),
        },
        other => return format!("tls: {other}"),
    };
    format!("tls: failed to verify certificate: {reason}")
}

/// The verifier prints names as Rust values, `DnsName("a")`.
fn plain_name(name: &str) -> String {
    match (name.find('('), name.strip_suffix(')')) {
        (Some(start), Some(inner)) => inner[start + 1..].trim_matches('"').to_owned(),
        _ => name.to_owned(),
    }
}
