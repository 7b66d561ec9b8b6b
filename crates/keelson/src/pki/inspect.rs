//! Validation of existing keys and certificates.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use rcgen::{KeyPair, PublicKeyData as _};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::issue::{Holder, ServerNames};
use crate::error::Error;

/// A certificate that has less time left than this is replaced.
const RENEWED_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The key in a PEM file.
pub(super) fn key(path: &Path, pem: &str) -> Result<KeyPair, Error> {
    KeyPair::from_pem(pem).map_err(|_| unusable(path, "it holds no private key"))
}

/// The first certificate in a PEM file.
pub(super) fn certificate(path: &Path, pem: &str) -> Result<CertificateDer<'static>, Error> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| unusable(path, "it holds no certificate"))?;
    X509Certificate::from_der(&der).map_err(|_| unusable(path, "its certificate is malformed"))?;
    Ok(der)
}

/// Checks that `der` is a valid CA now, with `key`.
pub(super) fn check_authority(
    path: &Path,
    der: &CertificateDer<'_>,
    key: &KeyPair,
    now: Duration,
) -> Result<(), Error> {
    let (_, parsed) =
        X509Certificate::from_der(der).map_err(|_| unusable(path, "its certificate is malformed"))?;
    if !parsed.is_ca() {
        return Err(unusable(path, "it is not a certificate authority"));
    }
    if parsed.public_key().raw != key.subject_public_key_info() {
        return Err(unusable(path, "it does not belong to its key"));
    }
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if parsed.validity().not_after.timestamp() < now {
        return Err(unusable(path, "it has expired"));
    }
    Ok(())
}

/// Whether a certificate is usable for a while: signed by `authority`, made for `key`, not about to expire,
/// and with all names.
pub(super) fn is_good(
    der: &CertificateDer<'_>,
    holder: &Holder<'_>,
    key: &KeyPair,
    authority: &CertificateDer<'_>,
    now: Duration,
) -> bool {
    let (Ok(parsed), Ok(anchor)) =
        (EndEntityCert::try_from(der), webpki::anchor_from_trusted_cert(authority))
    else {
        return false;
    };
    let usage = || match holder {
        Holder::Server(_) => KeyUsage::server_auth(),
        Holder::Client { .. } => KeyUsage::client_auth(),
    };
    let anchors = [anchor];
    let is_valid_at = |time: Duration| {
        let time = UnixTime::since_unix_epoch(time);
        parsed.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &[], time, usage(), None, None).is_ok()
    };
    let has_names = match holder {
        Holder::Server(names) => covers(&parsed, names),
        Holder::Client { .. } => true,
    };
    let own_key = parsed.subject_public_key_info();
    has_names
        && own_key.as_ref() == key.subject_public_key_info()
        && is_valid_at(now)
        && is_valid_at(now + RENEWED_BEFORE)
}

fn covers(certificate: &EndEntityCert<'_>, names: &ServerNames) -> bool {
    let is_covered = |name: &ServerName<'_>| certificate.verify_is_valid_for_subject_name(name).is_ok();
    let address = |address: &IpAddr| is_covered(&ServerName::IpAddress((*address).into()));
    // Clients cannot ask for a name that is not a DNS name.
    let host = |name: &String| ServerName::try_from(name.as_str()).map_or(true, |name| is_covered(&name));
    names.addresses.iter().all(address) && names.dns.iter().all(host)
}

fn unusable(path: &Path, reason: &str) -> Error {
    Error::Unusable { path: path.to_owned(), reason: reason.to_owned() }
}
