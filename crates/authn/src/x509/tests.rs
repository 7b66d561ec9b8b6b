//! Certificates good and bad.

use std::time::Duration;

use futures_util::FutureExt;
use http::HeaderMap;
use keelson_stdx::clock::{Clock, ManualClock};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::{CaBundle, X509};
use crate::{AuthError, Authenticator, Credentials, User};

/// An authority with its key.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) certificate: CertificateDer<'static>,
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

/// Valid for the year 2026, in which the manual clock begins.
fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = rcgen::date_time_ymd(2025, 12, 31);
    params.not_after = rcgen::date_time_ymd(2026, 12, 31);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
}

pub(crate) fn authority(name: &str) -> Authority {
    let mut params = params();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = key();
    let certificate = params.self_signed(&key).expect("a certificate").der().clone();
    Authority { issuer: Issuer::new(params, key), certificate }
}

impl Authority {
    pub(crate) fn sign(&self, params: &CertificateParams) -> CertificateDer<'static> {
        params.signed_by(&key(), &self.issuer).expect("a certificate").der().clone()
    }

    fn intermediate(&self, name: &str) -> Authority {
        let mut params = params();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").der().clone();
        Authority { issuer: Issuer::new(params, key), certificate }
    }
}

/// `CN=jane O=dev uid=1`, each as often as wanted.
pub(crate) fn client(subject: &str) -> CertificateParams {
    let mut params = params();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for part in subject.split_whitespace() {
        let (name, value) = part.split_once('=').expect("name=value");
        let kind = match name {
            "CN" => DnType::CommonName,
            "O" => DnType::OrganizationName,
            _ => DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]),
        };
        params.distinguished_name.push(kind, value);
    }
    params
}

fn trusting(authority: &Authority) -> (X509, ManualClock) {
    let (clock, hand) = Clock::manual();
    let bundle = CaBundle::new(std::slice::from_ref(&authority.certificate)).expect("a bundle");
    (X509::new(bundle, clock), hand)
}

fn ask(x509: &X509, chain: &[CertificateDer<'static>]) -> Result<Option<User>, AuthError> {
    let credentials =
        Credentials { peer_certificates: chain, headers: &HeaderMap::new(), path: "", audiences: &[] };
    let outcome = x509.authenticate(&credentials).now_or_never().expect("nothing waits");
    outcome.map(|found| found.map(|it| (*it.user).clone()))
}

/// The error for a client certificate that `change` was applied to.
#[track_caller]
fn check_refused(change: impl FnOnce(&mut CertificateParams), expected: &str) {
    let ca = authority("ca");
    let mut params = client("CN=jane");
    change(&mut params);
    let refusal = ask(&trusting(&ca).0, &[ca.sign(&params)]).expect_err("must be refused").to_string();
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn the_common_name_is_the_user_and_the_organizations_are_its_groups() {
    let ca = authority("ca");
    let (x509, _hand) = trusting(&ca);
    let user = ask(&x509, &[ca.sign(&client("CN=jane O=dev uid=7"))]).expect("good").expect("a user");
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("jane", "7"));
    assert_eq!(user.groups, ["dev"]);
    let id = &user.extra[User::CREDENTIAL_ID_KEY][0];
    assert!(id.starts_with("X509SHA256=") && id.len() == 75, "{id}");
}

#[test]
fn without_a_certificate_or_a_common_name_others_are_asked() {
    let ca = authority("ca");
    let (x509, _hand) = trusting(&ca);
    assert_eq!(ask(&x509, &[]), Ok(None));
    assert_eq!(ask(&x509, &[ca.sign(&client("O=dev"))]), Ok(None));
}

#[test]
fn an_intermediate_of_the_client_links_to_the_bundle() {
    let ca = authority("ca");
    let middle = ca.intermediate("middle");
    let (x509, _hand) = trusting(&ca);
    let leaf = middle.sign(&client("CN=jane"));
    assert!(ask(&x509, std::slice::from_ref(&leaf)).is_err());
    assert_eq!(ask(&x509, &[leaf, middle.certificate]).expect("good").expect("a user").name, "jane");
}

#[test]
fn a_foreign_authority_is_refused_whatever_its_name() {
    let ca = authority("ca");
    let foreign = authority("ca").sign(&client("CN=jane O=system:masters"));
    let refusal = ask(&trusting(&ca).0, &[foreign]).expect_err("must be refused");
    assert!(matches!(refusal, AuthError::UntrustedCertificate { .. }), "{refusal}");
    let words = refusal.to_string();
    assert!(words.starts_with("verifying certificate SN="), "{words}");
    assert!(words.contains(", SKID=") && words.contains(", AKID="), "{words}");
    let why = " failed: x509: certificate signed by unknown authority (possibly because of \"x509: ECDSA verification \
               failure\" while trying to verify candidate authority certificate \"ca\")";
    assert!(words.ends_with(why), "{words}");
}

#[test]
fn a_certificate_for_servers_is_refused() {
    check_refused(
        |it| it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
        "failed: x509: certificate specifies an incompatible key usage",
    );
}

#[test]
fn a_certificate_of_another_time_is_refused() {
    const WORDS: &str =
        "failed: x509: certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z";
    check_refused(
        |it| it.not_after = rcgen::date_time_ymd(2025, 12, 31),
        &format!("{WORDS} is after 2025-12-31T00:00:00Z"),
    );
    check_refused(
        |it| it.not_before = rcgen::date_time_ymd(2026, 2, 1),
        &format!("{WORDS} is before 2026-02-01T00:00:00Z"),
    );
}

#[test]
fn an_unknown_critical_extension_is_refused() {
    let add = |it: &mut CertificateParams| {
        let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        extension.set_criticality(true);
        it.custom_extensions.push(extension);
    };
    check_refused(add, "unhandled critical extension");
}

#[test]
fn a_certificate_for_any_purpose_or_of_no_purpose_is_for_clients_too() {
    let ca = authority("ca");
    let (x509, _hand) = trusting(&ca);
    for purposes in [vec![], vec![ExtendedKeyUsagePurpose::Any]] {
        let mut params = client("CN=jane");
        params.extended_key_usages = purposes;
        assert!(ask(&x509, &[ca.sign(&params)]).expect("good").is_some());
    }
}

#[test]
fn an_authority_that_expired_vouches_for_nobody() {
    let ca = authority("ca");
    let (x509, hand) = trusting(&ca);
    let mut params = client("CN=jane");
    params.not_after = rcgen::date_time_ymd(2030, 1, 1);
    let leaf = ca.sign(&params);
    assert!(ask(&x509, std::slice::from_ref(&leaf)).is_ok());
    hand.advance(Duration::from_secs(366 * 24 * 3600));
    assert!(ask(&x509, &[leaf]).is_err());
}

#[test]
fn a_remembered_certificate_still_expires_in_time() {
    let ca = authority("ca");
    let (x509, hand) = trusting(&ca);
    let leaf = ca.sign(&client("CN=jane"));
    hand.advance(Duration::from_secs(364 * 24 * 3600 - 3));
    assert!(ask(&x509, std::slice::from_ref(&leaf)).is_ok());
    hand.advance(Duration::from_secs(4));
    assert!(ask(&x509, &[leaf]).is_err());
}

#[test]
fn a_replaced_bundle_counts_at_once() {
    let (old, new) = (authority("old"), authority("new"));
    let (x509, _hand) = trusting(&old);
    let (jane, joe) = (old.sign(&client("CN=jane")), new.sign(&client("CN=joe")));
    assert!(ask(&x509, std::slice::from_ref(&jane)).is_ok());
    assert!(ask(&x509, std::slice::from_ref(&joe)).is_err());
    x509.replace_bundle(CaBundle::new(std::slice::from_ref(&new.certificate)).expect("a bundle"));
    assert!(ask(&x509, &[jane]).is_err());
    assert!(ask(&x509, &[joe]).is_ok());
}

#[test]
fn garbage_is_refused_and_never_panics() {
    let ca = authority("ca");
    let (x509, _hand) = trusting(&ca);
    let good = ca.sign(&client("CN=jane"));
    for cut in 0..good.len() {
        assert!(ask(&x509, &[CertificateDer::from(good[..cut].to_vec())]).is_err());
    }
    for place in 0..good.len() {
        let mut bytes = good.to_vec();
        bytes[place] ^= 0xff;
        assert!(ask(&x509, &[CertificateDer::from(bytes)]).is_err(), "byte {place} does not matter");
    }
}

#[test]
fn a_bundle_needs_certificates() {
    assert!(CaBundle::new(&[]).is_err());
    assert!(CaBundle::new(&[CertificateDer::from(vec![1, 2, 3])]).is_err());
}

#[test]
fn an_empty_uid_is_refused_unless_nobody_reads_it() {
    let ca = authority("ca");
    let leaf = ca.sign(&client("CN=jane uid="));
    let refusal = ask(&trusting(&ca).0, std::slice::from_ref(&leaf)).expect_err("must be refused");
    assert_eq!(refusal.to_string(), "UID cannot be an empty string");
    let x509 = trusting(&ca).0.without_uids();
    assert_eq!(ask(&x509, &[leaf]).expect("good").expect("a user").uid, "");
    let leaf = ca.sign(&client("CN=jane uid=7"));
    assert_eq!(ask(&x509, &[leaf]).expect("good").expect("a user").uid, "");
}

/// Names are bytes between quotes: nothing in them is cut off, trimmed or read as something else.
#[test]
fn odd_names_stay_as_they_are() {
    let ca = authority("ca");
    let (x509, _hand) = trusting(&ca);
    for name in
        ["jane\0system:admin", "jane,O=system:masters", " jane ", "J\u{e4}ne", "jane\r\nX-Remote-User: root"]
    {
        let mut params = client("");
        params.distinguished_name.push(DnType::CommonName, name);
        let user = ask(&x509, &[ca.sign(&params)]).expect("good").expect("a user");
        assert_eq!((user.name.as_str(), user.groups.len()), (name, 0));
    }
}

#[test]
fn a_client_may_be_marked_as_an_authority() {
    let ca = authority("ca");
    let mut params = client("CN=jane");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let user = ask(&trusting(&ca).0, &[ca.sign(&params)]).expect("good").expect("a user");
    assert_eq!(user.name, "jane");
}

/// What `openssl x509 -req` makes when it is given no extensions.
#[test]
fn a_certificate_of_version_1_is_a_user() {
    let pem = |text: &str| CertificateDer::from_pem_slice(text.as_bytes()).expect("a certificate");
    let ca = pem(include_str!("../../../x509/testdata/version1/authority.crt"));
    let leaf = pem(include_str!("../../../x509/testdata/version1/client.crt"));
    let bundle = CaBundle::new(std::slice::from_ref(&ca)).expect("a bundle");
    let user = ask(&X509::new(bundle, Clock::real()), &[leaf]).expect("good").expect("a user");
    assert_eq!((user.name.as_str(), user.groups.join(" ").as_str()), ("jane", "system:masters"));
}
