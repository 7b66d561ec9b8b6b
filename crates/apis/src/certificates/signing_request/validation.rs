//! Validation of CertificateSigningRequests.
//!
//! Upstream: pkg/apis/certificates/validation/validation.go (v1.36.4).

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_x509::pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::super::keys;
use super::conditions;
use crate::shared::signer_name;

const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const MIN_SECONDS: i64 = 600;
/// In the order of messages.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The part of a request that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Labels and the like.
    Main,
    /// The status, written by signers.
    Status,
    /// The approval, written by approvers.
    Approval,
}

/// Checks a request; errors that `old` has are accepted.
///
/// Upstream: pkg/apis/certificates/validation/validation.go, validateCertificateSigningRequest (v1.36.4).
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let nothing = Map::new();
    let spec = object.fields.map("spec").unwrap_or(&nothing);
    check_spec(spec, old.and_then(|it| it.fields.map("spec")), errors);
    conditions::check(object, old, errors);
    let certificate = certificate_of(object);
    let is_forgiven = |old: &Object| {
        certificate_of(old) == certificate || certificate_problem(certificate_of(old)).is_some()
    };
    if !old.is_some_and(is_forgiven)
        && let Some(problem) = certificate_problem(certificate)
    {
        errors.invalid(&Path::root("status.certificate"), "<certificate data>", problem);
    }
}

/// Checks what a write of one part may change.
///
/// Upstream: pkg/apis/certificates/validation/validation.go, validateCertificateSigningRequestUpdate (v1.36.4).
pub(super) fn check_change(object: &Object, old: &Object, written: Written, errors: &mut FieldErrors) {
    check(object, Some(old), errors);
    conditions::check_change(object, old, written, errors);
    if certificate_of(object) != certificate_of(old) {
        let at = Path::root("status.certificate");
        if written != Written::Status {
            errors.forbidden(&at, "updates may not set certificate content");
        } else if !certificate_of(old).is_empty() {
            errors.forbidden(&at, "updates may not modify existing certificate content");
        }
    }
}

fn certificate_of(object: &Object) -> &str {
    object.fields.map("status").and_then(|it| it.str("certificate")).unwrap_or_default()
}

fn check_spec(spec: &Map, old: Option<&Map>, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let request = spec.str("request").unwrap_or_default();
    if let Some(problem) = request_problem(request) {
        errors.invalid(&at.key("request"), request, problem);
    }
    check_usages(spec, old, &at.key("usages"), errors);
    let signer = spec.str("signerName").unwrap_or_default();
    let had_legacy = old.and_then(|it| it.str("signerName")) == Some(LEGACY_SIGNER);
    if signer == LEGACY_SIGNER && !had_legacy {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.invalid(&at.key("signerName"), signer, detail);
    } else {
        signer_name::check(signer, &at.key("signerName"), errors);
    }
    if let Some(seconds) = spec.int("expirationSeconds").filter(|it| *it < MIN_SECONDS) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(&at.key("expirationSeconds"), seconds, detail);
    }
}

fn check_usages(spec: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    if spec.list("usages").is_empty() {
        errors.required(at, "");
    }
    let is_known = |usage: &str| USAGES.contains(&usage);
    if old.is_none_or(|old| old.strings("usages").all(is_known)) {
        for (index, usage) in spec.strings("usages").enumerate().filter(|(_, it)| !is_known(it)) {
            errors.not_supported(&at.index(index), usage, &USAGES);
        }
    }
    let mut before = HashSet::new();
    if old.is_none_or(|old| old.strings("usages").all(|it| before.insert(it))) {
        let mut seen = HashSet::new();
        for (index, usage) in spec.strings("usages").enumerate() {
            if !seen.insert(usage) {
                errors.duplicate(&at.index(index), usage);
            }
        }
    }
}

/// The decoded text of a bytes field.
fn decoded(field: &str) -> String {
    STANDARD.decode(field).map(|it| String::from_utf8_lossy(&it).into_owned()).unwrap_or_default()
}

/// Upstream: pkg/apis/certificates/validation/validation.go, validateCSR (v1.36.4).
fn request_problem(field: &str) -> Option<&'static str> {
    let text = decoded(field);
    let Some(block) = pem::blocks(&text).next().filter(|it| it.label == "CERTIFICATE REQUEST") else {
        return Some("PEM block type must be CERTIFICATE REQUEST");
    };
    match keys::request(&block.bytes) {
        Some(request) => keys::signature_problem(&request),
        None => Some("asn1: structure error"),
    }
}

/// Upstream: pkg/apis/certificates/validation/validation.go, validateCertificate (v1.36.4).
fn certificate_problem(field: &str) -> Option<String> {
    if field.is_empty() {
        return None;
    }
    let text = decoded(field);
    let mut count = 0;
    for block in pem::blocks(&text) {
        if block.label != "CERTIFICATE" {
            let label = keelson_object::scalar::quote(block.label);
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {label}"));
        }
        if block.has_headers {
            return Some("no PEM block headers are permitted".to_owned());
        }
        count += 1;
        if block.bytes.is_empty() {
            return Some("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        let mut rest = block.bytes.as_slice();
        while !rest.is_empty() {
            match X509Certificate::from_der(rest) {
                Ok((after, _)) => rest = after,
                Err(_) => return Some("x509: malformed certificate".to_owned()),
            }
        }
    }
    (count == 0).then(|| "must contain at least one CERTIFICATE PEM block".to_owned())
}
