//! Certificates for tests: authorities of our own, and clients of the server's.

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use crate::connect::Identity;

/// A CA.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn new(name: &str) -> Result<Authority> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished_name(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Authority { certificate, issuer })
    }

    /// A CA that exists already.
    pub fn load(certificate: &str, key: &str) -> Result<Authority> {
        let key = KeyPair::from_pem(key).context("the authority's key")?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key).context("the authority's certificate")?;
        Ok(Authority { certificate: certificate.to_owned(), issuer })
    }

    /// Its certificate in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A client certificate: the user is the common name, the groups are the organizations.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished_name(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    /// A client certificate that must be rejected.
    pub fn flawed_client(&self, user: &str, flaw: Flaw) -> Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = distinguished_name(user, &["system:masters"]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        match flaw {
            Flaw::Expired => params.not_after = rcgen::date_time_ymd(2020, 1, 1),
            Flaw::NotYetValid => params.not_before = rcgen::date_time_ymd(2200, 1, 1),
            Flaw::ForServers => params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
        }
        self.issue(params)
    }

    /// A serving certificate for names and addresses.
    pub fn server(&self, names: &[&str]) -> Result<Identity> {
        let names: Vec<String> = names.iter().copied().map(String::from).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = distinguished_name("kube-apiserver", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params)
    }

    fn issue(&self, mut params: CertificateParams) -> Result<Identity> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// It is a server certificate.
    ForServers,
}

/// A request for a certificate, and the key that it is about, both in PEM.
pub fn signing_request(common_name: &str, organization: &str, names: &[&str]) -> Result<(String, String)> {
    let names: Vec<String> = names.iter().copied().map(String::from).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = distinguished_name(common_name, &[organization]);
    let key = KeyPair::generate()?;
    Ok((params.serialize_request(&key)?.pem()?, key.serialize_pem()))
}

/// A private and its public key in PEM, for service account tokens.
pub fn key_pair() -> Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn distinguished_name(common_name: &str, organizations: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for organization in organizations {
        name.push(DnType::OrganizationName, *organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}
