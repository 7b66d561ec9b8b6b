//! Public keys and signatures.

use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::asn1_rs::{Oid, oid};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// A kind of key that the rules distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Ed25519,
    /// The name of the curve.
    Elliptic(&'static str),
    /// The size in bits.
    Rsa(usize),
    Other,
}

static CURVES: [(Oid<'static>, &str); 4] = [
    (oid!(1.2.840.10045.3.1.7), "P-256"),
    (oid!(1.3.132.0.34), "P-384"),
    (oid!(1.3.132.0.35), "P-521"),
    (oid!(1.3.132.0.33), "P-224"),
];
const ED25519: Oid<'static> = oid!(1.3.101.112);

/// The kind of a key; `None` if it cannot be parsed.
pub(super) fn kind(info: &SubjectPublicKeyInfo<'_>) -> Option<Key> {
    if info.algorithm.algorithm == ED25519 {
        return (info.subject_public_key.data.len() == 32).then_some(Key::Ed25519);
    }
    match info.parsed().ok()? {
        PublicKey::RSA(key) => {
            let bytes = key.modulus.iter().skip_while(|byte| **byte == 0).count();
            Some(Key::Rsa(bytes * 8))
        }
        PublicKey::EC(_) => {
            let curve = info.algorithm.parameters.as_ref()?.as_oid().ok()?;
            let (_, name) = CURVES.iter().find(|(id, _)| *id == curve)?;
            Some(Key::Elliptic(name))
        }
        _ => Some(Key::Other),
    }
}

/// A request for a certificate, if these bytes are one and nothing else.
pub(super) fn request(bytes: &[u8]) -> Option<X509CertificationRequest<'_>> {
    let (rest, request) = X509CertificationRequest::from_der(bytes).ok()?;
    rest.is_empty().then_some(request)
}

/// A public key, if these bytes are one and nothing else.
pub(super) fn public_key(bytes: &[u8]) -> Option<SubjectPublicKeyInfo<'_>> {
    let (rest, info) = SubjectPublicKeyInfo::from_der(bytes).ok()?;
    rest.is_empty().then_some(info)
}

/// Why a request is not signed with its own key; `None` if it is.
///
/// Upstream: crypto/x509, CertificateRequest.CheckSignature.
pub fn signature_problem(request: &X509CertificationRequest<'_>) -> Option<&'static str> {
    let info = &request.certification_request_info;
    let key = kind(&info.subject_pki);
    let Some((algorithm, problem)) = algorithm(&request.signature_algorithm.algorithm, key) else {
        return Some("x509: cannot verify signature: algorithm unimplemented");
    };
    let key = UnparsedPublicKey::new(algorithm, &info.subject_pki.subject_public_key.data);
    key.verify(info.raw, &request.signature_value.data).err().map(|_| problem)
}

type Algorithm = &'static dyn VerificationAlgorithm;

/// The algorithm that verifies a signature, and the message if it is invalid.
fn algorithm(id: &Oid<'_>, key: Option<Key>) -> Option<(Algorithm, &'static str)> {
    const RSA: &str = "crypto/rsa: verification error";
    const ELLIPTIC: &str = "x509: ECDSA verification failure";
    let id = id.to_id_string();
    let found: (Algorithm, &'static str) = match (id.as_str(), key?) {
        ("1.2.840.113549.1.1.5", Key::Rsa(_)) => {
            (&signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA)
        }
        ("1.2.840.113549.1.1.11", Key::Rsa(_)) => {
            (&signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA)
        }
        ("1.2.840.113549.1.1.12", Key::Rsa(_)) => (&signature::RSA_PKCS1_2048_8192_SHA384, RSA),
        ("1.2.840.113549.1.1.13", Key::Rsa(_)) => {
            (&signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, RSA)
        }
        ("1.2.840.10045.4.3.2", Key::Elliptic("P-256")) => (&signature::ECDSA_P256_SHA256_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.3", Key::Elliptic("P-256")) => (&signature::ECDSA_P256_SHA384_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.4", Key::Elliptic("P-256")) => (&signature::ECDSA_P256_SHA512_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.2", Key::Elliptic("P-384")) => (&signature::ECDSA_P384_SHA256_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.3", Key::Elliptic("P-384")) => (&signature::ECDSA_P384_SHA384_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.4", Key::Elliptic("P-384")) => (&signature::ECDSA_P384_SHA512_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.2", Key::Elliptic("P-521")) => (&signature::ECDSA_P521_SHA256_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.3", Key::Elliptic("P-521")) => (&signature::ECDSA_P521_SHA384_ASN1, ELLIPTIC),
        ("1.2.840.10045.4.3.4", Key::Elliptic("P-521")) => (&signature::ECDSA_P521_SHA512_ASN1, ELLIPTIC),
        ("1.3.101.112", Key::Ed25519) => (&signature::ED25519, "x509: Ed25519 verification failure"),
        _ => return None,
    };
    Some(found)
}

/// Whether `signature` over `text` was made with the key: the proof of possession of a pod certificate
/// request.
pub(super) fn is_proof(info: &SubjectPublicKeyInfo<'_>, key: Key, text: &[u8], proof: &[u8]) -> bool {
    let algorithm: Algorithm = match key {
        Key::Ed25519 => &signature::ED25519,
        Key::Elliptic("P-256") => &signature::ECDSA_P256_SHA256_ASN1,
        Key::Elliptic("P-384") => &signature::ECDSA_P384_SHA256_ASN1,
        Key::Elliptic("P-521") => &signature::ECDSA_P521_SHA256_ASN1,
        Key::Rsa(_) => &signature::RSA_PSS_2048_8192_SHA256,
        Key::Elliptic(_) | Key::Other => return false,
    };
    UnparsedPublicKey::new(algorithm, &info.subject_public_key.data).verify(text, proof).is_ok()
}
