//! Creation of keys and certificates.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use aws_lc_rs::rand::fill;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType, SerialNumber,
};

use crate::error::Error;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The validity of a CA.
const AUTHORITY_LIFE: Duration = DAY.saturating_mul(3650);
/// The validity of all other certificates.
const LIFE: Duration = DAY.saturating_mul(365);
/// Clients whose clocks are a little behind must not refuse a new certificate.
const BACKDATED: Duration = Duration::from_secs(300);

/// The names and addresses of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerNames {
    /// Host names.
    pub dns: Vec<String>,
    /// Addresses.
    pub addresses: Vec<IpAddr>,
}

/// The holder of a certificate.
#[derive(Clone, Debug)]
pub(super) enum Holder<'a> {
    /// A server with these names.
    Server(&'a ServerNames),
    /// A client: a user and its group.
    Client { name: &'a str, group: &'a str },
}

/// A new ECDSA key on the curve P-256.
pub(super) fn new_key() -> Result<KeyPair, Error> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|source| failed("a key", source))
}

/// The certificate of a new CA, in PEM.
pub(super) fn authority(name: &str, key: &KeyPair, now: SystemTime) -> Result<String, Error> {
    let params = authority_params(name, now)?;
    let certificate = params.self_signed(key).map_err(|source| failed("a certificate authority", source))?;
    Ok(certificate.pem())
}

/// A certificate signed by `issuer`, in PEM.
pub(super) fn certificate(
    holder: &Holder<'_>,
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
    now: SystemTime,
) -> Result<String, Error> {
    let params = holder_params(holder, now)?;
    let certificate = params.signed_by(key, issuer).map_err(|source| failed("a certificate", source))?;
    Ok(certificate.pem())
}

/// A certificate with a CA of its own whose key is thrown away: both in PEM, the certificate first.
pub(super) fn self_signed(
    name: &str,
    names: &ServerNames,
    key: &KeyPair,
    now: SystemTime,
) -> Result<String, Error> {
    let authority_key = new_key()?;
    let params = authority_params(&format!("{name}-ca"), now)?;
    let authority =
        params.self_signed(&authority_key).map_err(|source| failed("a certificate authority", source))?.pem();
    let issuer = Issuer::new(params, authority_key);
    Ok(certificate(&Holder::Server(names), key, &issuer, now)? + &authority)
}

fn authority_params(name: &str, now: SystemTime) -> Result<CertificateParams, Error> {
    let mut params = dated(now, AUTHORITY_LIFE)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

fn holder_params(holder: &Holder<'_>, now: SystemTime) -> Result<CertificateParams, Error> {
    let mut params = dated(now, LIFE)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    match holder {
        Holder::Server(names) => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
            for name in &names.dns {
                let name = name.as_str().try_into().map_err(|source| failed("a certificate", source))?;
                params.subject_alt_names.push(SanType::DnsName(name));
            }
            params.subject_alt_names.extend(names.addresses.iter().copied().map(SanType::IpAddress));
        }
        Holder::Client { name, group } => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            params.distinguished_name.push(DnType::OrganizationName, *group);
            params.distinguished_name.push(DnType::CommonName, *name);
        }
    }
    Ok(params)
}

fn dated(now: SystemTime, life: Duration) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + life).into();
    // The default serial number is derived from the key, which outlives its certificates.
    let mut serial = [0; 16];
    fill(&mut serial).map_err(|_| failed("a serial number", rcgen::Error::RingUnspecified))?;
    serial[0] &= 0x7f;
    params.serial_number = Some(SerialNumber::from(serial.to_vec()));
    Ok(params)
}

fn failed(what: &str, source: rcgen::Error) -> Error {
    Error::Issue { what: what.to_owned(), source }
}
