//! Signatures of certificates.

use rustls_pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use webpki::{RawPublicKeyEntity, aws_lc_rs as algorithms};

use crate::certificate::Certificate;
use crate::der::Reader;
use crate::error::Error;
use crate::extensions::MAY_SIGN_CERTIFICATES;
use crate::key::KeyKind;

type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// How a signature was made.
struct Method {
    key: KeyKind,
    /// One of these fits the key.
    algorithms: Algorithms,
}

const RSA_SHA256: Algorithms = &[algorithms::RSA_PKCS1_2048_8192_SHA256];
const RSA_SHA384: Algorithms = &[algorithms::RSA_PKCS1_2048_8192_SHA384];
const RSA_SHA512: Algorithms = &[algorithms::RSA_PKCS1_2048_8192_SHA512];
const PSS: Algorithms = &[
    algorithms::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
    algorithms::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
    algorithms::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
];
const ECDSA_SHA256: Algorithms =
    &[algorithms::ECDSA_P256_SHA256, algorithms::ECDSA_P384_SHA256, algorithms::ECDSA_P521_SHA256];
const ECDSA_SHA384: Algorithms =
    &[algorithms::ECDSA_P256_SHA384, algorithms::ECDSA_P384_SHA384, algorithms::ECDSA_P521_SHA384];
const ECDSA_SHA512: Algorithms =
    &[algorithms::ECDSA_P256_SHA512, algorithms::ECDSA_P384_SHA512, algorithms::ECDSA_P521_SHA512];
const ED25519: Algorithms = &[algorithms::ED25519];

/// Whether `parent` signed `child`, and may do so.
///
/// Origin: Go, crypto/x509/x509.go, CheckSignatureFrom.
pub(crate) fn check(child: &Certificate, parent: &Certificate) -> Result<(), Error> {
    let extensions = &parent.extensions;
    let may_sign = match extensions.basic {
        Some(basic) => basic.is_authority,
        // Before version 3 there was no way to say so.
        None => parent.version != 3,
    };
    let usage = extensions.key_usage;
    if !may_sign || usage != 0 && usage & MAY_SIGN_CERTIFICATES == 0 {
        return Err(Error::ParentCannotSign);
    }
    if let Some(name) = insecure_name(&child.signature_algorithm) {
        return Err(Error::InsecureAlgorithm(name));
    }
    let method = method(&child.signature_algorithm).ok_or(Error::UnsupportedAlgorithm)?;
    let Some(found) = parent.key.kind.go_type() else { return Err(Error::UnsupportedAlgorithm) };
    let (wanted, failure) = match method.key {
        KeyKind::Rsa => ("RSA", "crypto/rsa: verification error"),
        KeyKind::Ecdsa => ("ECDSA", "x509: ECDSA verification failure"),
        KeyKind::Ed25519 => ("Ed25519", "x509: Ed25519 verification failure"),
        KeyKind::Other => return Err(Error::UnsupportedAlgorithm),
    };
    if method.key != parent.key.kind {
        return Err(Error::OtherKey { wanted, found });
    }
    let info = SubjectPublicKeyInfoDer::from(parent.key.info.as_slice());
    let key = RawPublicKeyEntity::try_from(&info).map_err(|_| Error::BadSignature(failure))?;
    let signed = &child.raw[child.signed.clone()];
    let is_good = |it: &&dyn SignatureVerificationAlgorithm| {
        key.verify_signature(*it, signed, &child.signature).is_ok()
    };
    if method.algorithms.iter().any(is_good) { Ok(()) } else { Err(Error::BadSignature(failure)) }
}

/// How Go calls an algorithm that it refuses because it can be broken.
pub(crate) fn insecure_name(algorithm: &[u8]) -> Option<&'static str> {
    match Reader(algorithm).oid()? {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4] => Some("MD5-RSA"),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5] | [0x2b, 0x0e, 3, 2, 29] => Some("SHA1-RSA"),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] => Some("ECDSA-SHA1"),
        [0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3] => Some("DSA-SHA1"),
        _ => None,
    }
}

/// Origin: Go, crypto/x509/x509.go, getSignatureAlgorithmFromAI.
fn method(algorithm: &[u8]) -> Option<Method> {
    let mut input = Reader(algorithm);
    let oid = input.oid()?;
    let (key, algorithms) = match oid {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11] => (KeyKind::Rsa, RSA_SHA256),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12] => (KeyKind::Rsa, RSA_SHA384),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13] => (KeyKind::Rsa, RSA_SHA512),
        // The parameters of PSS say which of them it is.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10] => {
            let at = PSS.iter().position(|it| it.signature_alg_id().as_ref() == algorithm)?;
            (KeyKind::Rsa, &PSS[at..=at])
        }
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2] => (KeyKind::Ecdsa, ECDSA_SHA256),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3] => (KeyKind::Ecdsa, ECDSA_SHA384),
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4] => (KeyKind::Ecdsa, ECDSA_SHA512),
        [0x2b, 0x65, 0x70] if input.is_empty() => (KeyKind::Ed25519, ED25519),
        _ => return None,
    };
    Some(Method { key, algorithms })
}
