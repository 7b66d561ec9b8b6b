//! Certificate: what is wrong with the one that the other side shows, in the words of Go.
//!
//! Go looks at the time first, then at the name, then at who signed; webpki at the name last. What it says of a
//! certificate that has several flaws is therefore said anew here.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keelson_object::scalar::quote;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, OtherError};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::Failure;

/// Why a certificate will not do.
#[derive(Debug)]
pub(crate) struct Unfit(String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfit {}

/// What a verifier said of `chain`, whose first certificate is that of the server, with the reason that Go would give.
pub(crate) fn explained(
    error: rustls::Error,
    chain: &[&CertificateDer<'_>],
    name: &ServerName<'_>,
) -> rustls::Error {
    let rustls::Error::InvalidCertificate(problem) = &error else { return error };
    let is_out_of_time = matches!(
        problem,
        CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. }
    );
    let Some(leaf) = chain.first().filter(|_| !is_out_of_time) else { return error };
    let words = other_name(leaf, name).or_else(|| other_authority(problem, chain));
    match words {
        Some(words) => CertificateError::Other(OtherError(Arc::new(Unfit(words)))).into(),
        None => error,
    }
}

fn other_name(leaf: &CertificateDer<'_>, name: &ServerName<'_>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(leaf).ok()?;
    verify_server_name(&parsed, name).err()?;
    let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
    Some(mismatch(&certificate, &name.to_str()))
}

/// So many names are listed.
const MOST_NAMES: usize = 100;

/// What the certificate of another name is told.
///
/// Origin: Go, crypto/x509/verify.go, HostnameError.Error.
fn mismatch(certificate: &X509Certificate<'_>, host: &str) -> String {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let common_name = certificate.subject().iter_common_name().find_map(|it| it.as_str().ok());
    if extension.is_none() && common_name.is_some_and(|it| is_same_host(it, host)) {
        return LEGACY_COMMON_NAME.to_owned();
    }
    let others = extension.iter().flat_map(|it| it.value.general_names.iter());
    let is_address = host.parse::<IpAddr>().is_ok();
    let valid_for: Vec<String> = others
        .filter_map(|it| match it {
            GeneralName::DNSName(name) if !is_address => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) if is_address => address(bytes),
            _ => None,
        })
        .collect();
    match (valid_for.len(), is_address) {
        (0, true) => {
            format!("x509: cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        (0, false) => {
            format!("x509: certificate is not valid for any names, but wanted to match {host}")
        }
        (count @ MOST_NAMES.., true) => {
            format!("x509: certificate is valid for {count} IP SANs, but none matched {host}")
        }
        (count @ MOST_NAMES.., false) => {
            format!("x509: certificate is valid for {count} names, but none matched {host}")
        }
        _ => format!("x509: certificate is valid for {}, not {host}", valid_for.join(", ")),
    }
}

const LEGACY_COMMON_NAME: &str = "x509: certificate relies on legacy Common Name field, use SANs instead";

fn is_same_host(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_ascii_lowercase(), host.trim_end_matches('.').to_ascii_lowercase());
    match (pattern.strip_prefix("*."), host.split_once('.')) {
        (Some(parent), Some((_, domain))) => parent == domain,
        _ => !host.is_empty() && pattern == host,
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.ok().map(|it| it.to_string())
}

/// What the certificate of a stranger is told, and why somebody who is trusted does not vouch for it.
///
/// Origin: Go, crypto/x509/verify.go, UnknownAuthorityError.Error.
fn other_authority(problem: &CertificateError, chain: &[&CertificateDer<'_>]) -> Option<String> {
    let parsed = chain.iter().filter_map(|it| X509Certificate::from_der(it).ok());
    let mut certificates = parsed.map(|(_, certificate)| certificate);
    let (certificate, why) = match problem {
        // With one certificate it is clear whose signature it is about.
        CertificateError::BadSignature if chain.len() == 1 => {
            let certificate = certificates.next()?;
            let why = bad_signature(&certificate)?;
            (certificate, why.to_owned())
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. } => {
            let (certificate, name) = certificates.find_map(|it| sha1(&it).map(|name| (it, name)))?;
            (certificate, format!("{INSECURE} {name}"))
        }
        _ => return None,
    };
    let issuer = certificate.issuer();
    let names = issuer.iter_common_name().chain(issuer.iter_organization());
    let issuer = names.filter_map(|it| it.as_str().ok()).next()?;
    Some(format!(
        "x509: certificate signed by unknown authority (possibly because of {} while trying to verify candidate \
         authority certificate {})",
        quote(&why),
        quote(issuer)
    ))
}

const INSECURE: &str = "x509: cannot verify signature: insecure algorithm";

fn bad_signature(certificate: &X509Certificate<'_>) -> Option<&'static str> {
    let algorithm = certificate.signature_algorithm.algorithm.to_id_string();
    match algorithm.as_str() {
        "1.3.101.112" => Some("x509: Ed25519 verification failure"),
        it if it.starts_with("1.2.840.10045.4.") => Some("x509: ECDSA verification failure"),
        it if it.starts_with("1.2.840.113549.1.1.") => Some("crypto/rsa: verification error"),
        _ => None,
    }
}

/// The algorithm of a signature with SHA-1, as Go calls it.
fn sha1(certificate: &X509Certificate<'_>) -> Option<&'static str> {
    match certificate.signature_algorithm.algorithm.to_id_string().as_str() {
        "1.2.840.113549.1.1.5" => Some("SHA1-RSA"),
        "1.2.840.10045.4.1" => Some("ECDSA-SHA1"),
        _ => None,
    }
}

/// What certificates have that no certificate should have any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flaws {
    is_missing_san: bool,
    is_insecure_sha1: bool,
}

impl Flaws {
    /// Those of a server that is talked to nevertheless.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckPeerCertificates (v1.36.4).
    pub(crate) fn of(chain: &[CertificateDer<'_>]) -> Flaws {
        let mut flaws = Flaws::default();
        for (position, der) in chain.iter().enumerate() {
            let Ok((_, certificate)) = X509Certificate::from_der(der) else { continue };
            let has_san = certificate.subject_alternative_name().ok().flatten().is_some();
            flaws.is_missing_san |= position == 0 && !has_san;
            // Who signed its own certificate proves nothing by it.
            let is_own = certificate.issuer().as_raw() == certificate.subject().as_raw();
            flaws.is_insecure_sha1 |= !is_own && sha1(&certificate).is_some();
        }
        flaws
    }

    /// Those that kept us from talking.
    ///
    /// Upstream: apiserver/pkg/util/x509metrics/server_cert_deprecations.go, CheckRoundTripError (v1.36.4).
    pub(crate) fn of_failure(failure: &Failure) -> Flaws {
        let Failure::Tls { reason } = failure else { return Flaws::default() };
        Flaws {
            is_missing_san: reason.contains(LEGACY_COMMON_NAME),
            is_insecure_sha1: reason.contains(INSECURE) && reason.contains("SHA1"),
        }
    }

    /// One more call that had to do with them.
    pub(crate) fn count(self) {
        if self.is_missing_san {
            MISSING_SAN.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_insecure_sha1 {
            INSECURE_SHA1.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Of the whole process: clients are made in many places, and nobody wants to know which one it was.
static MISSING_SAN: AtomicU64 = AtomicU64::new(0);
static INSECURE_SHA1: AtomicU64 = AtomicU64::new(0);

/// How many calls of webhooks had to do with certificates that name nobody but in the common name.
pub fn missing_san_total() -> u64 {
    MISSING_SAN.load(Ordering::Relaxed)
}

/// How many calls of webhooks had to do with certificates that were signed with SHA-1.
pub fn insecure_sha1_total() -> u64 {
    INSECURE_SHA1.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
