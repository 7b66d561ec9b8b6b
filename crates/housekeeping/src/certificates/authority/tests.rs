//! Tests of the signed certificates.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{Object, Value};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, SanType};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use super::{Authority, SignError};
use crate::certificates::request::{ORGANIZATION, Request, Wanted};

/// 2026-01-01
const NOW: i64 = 1_767_225_600;
const DAY: i64 = 24 * 3600;

/// An authority that expires with the year 2027.
fn authority() -> (Authority, CertificateDer<'static>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "ca");
    params.not_before = rcgen::date_time_ymd(2025, 1, 1);
    params.not_after = rcgen::date_time_ymd(2028, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (cert_path, key_path) = (folder.path().join("ca.crt"), folder.path().join("ca.key"));
    std::fs::write(&cert_path, certificate.pem()).expect("a file");
    std::fs::write(&key_path, key.serialize_pem()).expect("a file");
    let authority = Authority::load(&cert_path, &key_path).expect("an authority");
    (authority, certificate.der().clone(), folder)
}

fn pkcs10(change: impl FnOnce(&mut CertificateParams)) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    change(&mut params);
    let key = KeyPair::generate().expect("a key");
    params.serialize_request(&key).expect("a request").pem().expect("PEM")
}

fn request(pem: &str, usages: &[&str], seconds: Option<i64>) -> Request {
    let mut object = Object::default();
    let spec = object.fields.map_mut("spec");
    spec.set("signerName", "kubernetes.io/kube-apiserver-client");
    spec.set("request", STANDARD.encode(pem));
    spec.set("usages", Value::List(usages.iter().map(|it| Value::from(*it)).collect()));
    if let Some(seconds) = seconds {
        spec.set("expirationSeconds", seconds);
    }
    Request::of(&object).expect("a request")
}

fn sign(authority: &Authority, request: &Request) -> CertificateDer<'static> {
    let pem = authority.sign(request, Duration::from_secs(NOW.unsigned_abs())).expect("a certificate");
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")
}

#[test]
fn others_believe_the_certificate() {
    let (authority, ca, _folder) = authority();
    let pem = pkcs10(|it| {
        it.distinguished_name.push(DnType::CommonName, "system:node:a");
        it.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    });
    let leaf = sign(&authority, &request(&pem, &["digital signature", "client auth"], None));
    let anchor = webpki::anchor_from_trusted_cert(&ca).expect("an anchor");
    let parsed = webpki::EndEntityCert::try_from(&leaf).expect("a certificate");
    let verify = |usage| {
        let time = rustls_pki_types::UnixTime::since_unix_epoch(Duration::from_secs(NOW.unsigned_abs()));
        let anchors = [anchor.clone()];
        let algorithms = webpki::ALL_VERIFICATION_ALGS;
        parsed.verify_for_usage(algorithms, &anchors, &[], time, usage, None, None).map(|_| ())
    };
    assert_eq!(verify(webpki::KeyUsage::client_auth()), Ok(()));
    assert!(verify(webpki::KeyUsage::server_auth()).is_err());
}

#[test]
fn names_are_taken_over_and_other_wishes_are_not() {
    let (authority, ..) = authority();
    let pem = pkcs10(|it| {
        it.distinguished_name.push(DnType::CommonName, "system:node:a");
        it.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        it.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "7");
        it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        it.subject_alt_names = vec![
            SanType::DnsName("a.example.com".try_into().expect("a name")),
            SanType::IpAddress([10, 0, 0, 1].into()),
        ];
    });
    let leaf = sign(&authority, &request(&pem, &["key encipherment", "server auth"], None));
    let (_, parsed) = X509Certificate::from_der(&leaf).expect("a certificate");
    assert_eq!(parsed.subject().to_string(), "O=system:nodes, CN=system:node:a");
    assert!(!parsed.is_ca());
    let usage = parsed.key_usage().expect("readable").expect("there").value;
    assert!(usage.key_encipherment() && !usage.digital_signature() && !usage.key_cert_sign());
    let names = parsed.subject_alternative_name().expect("readable").expect("there");
    assert!(!names.critical);
    let octets: &[u8] = &[10, 0, 0, 1];
    assert_eq!(
        names.value.general_names,
        [GeneralName::DNSName("a.example.com"), GeneralName::IPAddress(octets)]
    );
}

#[test]
fn all_groups_get_in() {
    let (authority, ..) = authority();
    let mut request = request(&pkcs10(|_| ()), &["client auth"], None);
    let name = |text: &str| (ORGANIZATION, text.to_owned());
    request.wanted = Wanted { subject: vec![name("b"), name("a"), name("c@d")], ..request.wanted };
    let leaf = sign(&authority, &request);
    let (_, parsed) = X509Certificate::from_der(&leaf).expect("a certificate");
    let mut groups: Vec<_> =
        parsed.subject().iter_organization().map(|it| it.as_str().expect("text")).collect();
    groups.sort_unstable();
    assert_eq!(groups, ["a", "b", "c@d"]);
}

#[test]
fn lives_are_as_long_as_wanted_within_reason() {
    let (authority, ..) = authority();
    let pem = pkcs10(|it| it.distinguished_name.push(DnType::CommonName, "jane"));
    let check = |seconds: Option<i64>, expected: i64| {
        let leaf = sign(&authority, &request(&pem, &["client auth"], seconds));
        let (_, parsed) = X509Certificate::from_der(&leaf).expect("a certificate");
        let validity = parsed.validity();
        assert_eq!(validity.not_before.timestamp(), NOW - 300, "{seconds:?}");
        assert_eq!(validity.not_after.timestamp() - NOW, expected, "{seconds:?}");
    };
    check(None, 365 * DAY - 300);
    check(Some(600), 600);
    check(Some(1), 600);
    check(Some(8 * 3600), 8 * 3600 - 300);
    check(Some(400 * DAY), 365 * DAY - 300);
}

#[test]
fn nothing_outlives_its_authority() {
    let (authority, ..) = authority();
    let request = request(&pkcs10(|_| ()), &["client auth"], None);
    let end = authority.expires;
    let at = |time: i64| authority.sign(&request, Duration::from_secs(time.unsigned_abs()));
    let pem = at(end - 3600).expect("a certificate");
    let leaf = CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
    let (_, parsed) = X509Certificate::from_der(&leaf).expect("a certificate");
    assert_eq!(parsed.validity().not_after.timestamp(), end);
    assert!(matches!(at(end), Err(SignError::Expired)));
}

#[test]
fn a_request_that_somebody_else_signed_is_none() {
    let pem = pkcs10(|it| it.distinguished_name.push(DnType::CommonName, "jane"));
    let mut lines: Vec<String> = pem.lines().map(str::to_owned).collect();
    let der = STANDARD.decode(lines[1..lines.len() - 1].concat()).expect("base64");
    let mut changed = der.clone();
    let at = changed.windows(4).position(|it| it == b"jane").expect("the name");
    changed[at..at + 4].copy_from_slice(b"root");
    lines = vec![lines[0].clone(), STANDARD.encode(changed), lines[lines.len() - 1].clone()];
    assert!(Wanted::read(pem.as_bytes()).is_some());
    assert!(Wanted::read(lines.join("\n").as_bytes()).is_none());
}
