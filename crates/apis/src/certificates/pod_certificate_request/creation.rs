//! PodCertificateRequest: validation of new requests.
//!
//! Upstream: pkg/apis/certificates/validation/validation.go, ValidatePodCertificateRequestCreate (v1.36.4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::super::keys::{self, Key};
use crate::shared::signer_name;

const MAX_UID: usize = 128;
const MAX_BYTES: usize = 10 * 1024;
const MAX_ANNOTATIONS: usize = 256 * 1024;
const HOUR: i64 = 60 * 60;

/// Checks the spec.
pub(super) fn check(spec: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let signer = spec.str("signerName").unwrap_or_default();
    signer_name::check(signer, &at.key("signerName"), errors);
    if let Some(annotations) = spec.map("unverifiedUserAnnotations") {
        check_annotations(annotations, &at.key("unverifiedUserAnnotations"), errors);
    }
    for (name, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        let text = spec.str(name).unwrap_or_default();
        errors.invalid_each(&at.key(name), text, name_rules::dns1123_subdomain(text));
        let text = spec.str(uid).unwrap_or_default();
        if text.is_empty() {
            errors.invalid(&at.key(uid), text, "must not be empty");
        }
        if text.len() > MAX_UID {
            errors.too_long(&at.key(uid), MAX_UID);
        }
    }
    let Some(seconds) = spec.int("maxExpirationSeconds") else {
        return errors.required(&at.key("maxExpirationSeconds"), "must be set");
    };
    let days = if signer_name::is_kubernetes(signer) { 1 } else { 91 };
    let max = days * 24 * HOUR;
    if !(HOUR..=max).contains(&seconds) {
        let detail = format!("must be in the range [{HOUR}, {max}]");
        errors.invalid(&at.key("maxExpirationSeconds"), seconds, detail);
    }
    check_key(spec, &at, errors);
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateUserAnnotations (v1.36.4).
fn check_annotations(annotations: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut size = 0;
    for (key, value) in annotations.iter() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let key = key.to_lowercase();
        if key.is_empty() {
            errors.required(at, "");
            continue;
        }
        let problems = name_rules::qualified_name(&key);
        if problems.is_empty() && !key.contains('/') {
            errors.invalid(at, &*key, "must be a domain-prefixed key (such as \"acme.io/foo\")");
        }
        errors.invalid_each(at, &key, problems);
    }
    if size > MAX_ANNOTATIONS {
        errors.too_long(at, MAX_ANNOTATIONS);
    }
}

/// The bytes of a field.
pub(super) fn bytes(spec: &Map, field: &str) -> Vec<u8> {
    STANDARD.decode(spec.str(field).unwrap_or_default()).unwrap_or_default()
}

fn check_key(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let request = bytes(spec, "stubPKCS10Request");
    let (key, proof) = (bytes(spec, "pkixPublicKey"), bytes(spec, "proofOfPossession"));
    match (request.is_empty(), key.is_empty(), proof.is_empty()) {
        (false, true, true) => check_request(&request, &at.key("stubPKCS10Request"), errors),
        (true, false, false) => check_proof(spec, &key, &proof, at, errors),
        _ => {
            let detail =
                "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            errors.invalid_as(at, String::new(), detail);
        }
    }
}

const CURVES: [&str; 3] = ["P-256", "P-384", "P-521"];

/// A key of a kind and a size that are good enough.
fn check_kind(key: Key, curves: &str, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    match key {
        Key::Ed25519 => return true,
        Key::Elliptic(curve) if CURVES.contains(&curve) => return true,
        Key::Rsa(3072 | 4096) => return true,
        Key::Elliptic(curve) => {
            let detail = format!("elliptic public keys must use curve {curves}");
            errors.invalid(at, &*format!("curve {curve}"), detail);
        }
        Key::Rsa(bits) => {
            let shown = format!("{bits}-bit modulus");
            errors.invalid(at, &*shown, "RSA keys must have modulus size 3072 or 4096");
        }
        Key::Other => {
            let detail = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
            errors.invalid_as(at, String::new(), detail);
        }
    }
    false
}

/// Upstream: pkg/apis/certificates/validation/validation.go, validateStubPKCS10Request (v1.36.4).
fn check_request(bytes: &[u8], at: &Path<'_>, errors: &mut FieldErrors) {
    if bytes.len() > MAX_BYTES {
        return errors.too_long(at, MAX_BYTES);
    }
    let request = keys::request(bytes);
    let key = request.as_ref().and_then(|it| keys::kind(&it.certification_request_info.subject_pki));
    let (Some(request), Some(key)) = (request, key) else {
        return errors.invalid_as(at, String::new(), "must be a valid PKCS#10 CSR");
    };
    if check_kind(key, "P256, P384, or P521", at, errors) && keys::signature_problem(&request).is_some() {
        errors.invalid_as(at, String::new(), "invalid signature");
    }
}

/// Upstream: pkg/apis/certificates/validation/validation.go, validateDeprecatedPKIXPublicKey (v1.36.4).
fn check_proof(spec: &Map, key: &[u8], proof: &[u8], at: &Path<'_>, errors: &mut FieldErrors) {
    let (key_at, proof_at) = (at.key("pkixPublicKey"), at.key("proofOfPossession"));
    for (at, bytes) in [(&key_at, key), (&proof_at, proof)] {
        if bytes.len() > MAX_BYTES {
            return errors.too_long(at, MAX_BYTES);
        }
    }
    let info = keys::public_key(key);
    let kind = info.as_ref().and_then(keys::kind);
    let (Some(info), Some(kind)) = (info, kind) else {
        let shown = spec.str("pkixPublicKey").unwrap_or_default();
        return errors.invalid(&key_at, shown, "must be a valid PKIX-serialized public key");
    };
    let uid = spec.str("podUID").unwrap_or_default();
    if check_kind(kind, "P256 or P384", &key_at, errors)
        && !keys::is_proof(&info, kind, uid.as_bytes(), proof)
    {
        errors.invalid_as(&proof_at, String::new(), "could not verify proof-of-possession signature");
    }
}
