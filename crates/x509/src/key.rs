//! Public keys: which kind of key a certificate is about.

use crate::der::{Reader, SEQUENCE};
use crate::error::Error;

/// The key of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct PublicKey {
    /// The DER of key and algorithm.
    pub(crate) info: Vec<u8>,
    pub(crate) kind: KeyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Rsa,
    Ecdsa,
    Ed25519,
    /// Something that signs no certificates.
    Other,
}

impl KeyKind {
    /// What Go calls a key of this kind.
    pub(crate) fn go_type(self) -> Option<&'static str> {
        match self {
            KeyKind::Rsa => Some("*rsa.PublicKey"),
            KeyKind::Ecdsa => Some("*ecdsa.PublicKey"),
            KeyKind::Ed25519 => Some("ed25519.PublicKey"),
            KeyKind::Other => None,
        }
    }
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
/// P-224, P-256, P-384, P-521.
const CURVES: [&[u8]; 4] = [
    &[0x2b, 0x81, 0x04, 0, 0x21],
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
    &[0x2b, 0x81, 0x04, 0, 0x22],
    &[0x2b, 0x81, 0x04, 0, 0x23],
];

/// Longer RSA keys are refused in handshakes: verifying takes too long.
const MOST_RSA_BITS: usize = 8192;

impl PublicKey {
    /// Whether a point lies on its curve is left to who verifies with it.
    ///
    /// Origin: Go, crypto/x509/parser.go, parsePublicKey.
    pub(crate) fn parse(info: &[u8]) -> Result<PublicKey, Error> {
        const MALFORMED: Error = Error::Malformed("malformed spki");
        let mut input = Reader(info).enter(SEQUENCE).ok_or(MALFORMED)?;
        let mut algorithm = input.enter(SEQUENCE).ok_or(MALFORMED)?;
        let oid = algorithm.oid().ok_or(MALFORMED)?;
        let parameters = algorithm.0;
        let bits = input.bytes_of_bits().ok_or(Error::Malformed("malformed subjectPublicKey"))?;
        let kind = match oid {
            RSA => {
                check_rsa(parameters, bits)?;
                KeyKind::Rsa
            }
            EC => {
                let curve = Reader(parameters).oid().ok_or(Error::Malformed("invalid ECDSA parameters"))?;
                if !CURVES.contains(&curve) {
                    return Err(Error::Malformed("unsupported elliptic curve"));
                }
                KeyKind::Ecdsa
            }
            ED25519 if !parameters.is_empty() => {
                return Err(Error::Malformed("Ed25519 key encoded with illegal parameters"));
            }
            ED25519 if bits.len() != 32 => {
                return Err(Error::Malformed("wrong Ed25519 public key size"));
            }
            ED25519 => KeyKind::Ed25519,
            _ => KeyKind::Other,
        };
        Ok(PublicKey { info: info.to_vec(), kind })
    }
}

fn check_rsa(parameters: &[u8], bits: &[u8]) -> Result<(), Error> {
    if parameters != [5, 0] {
        return Err(Error::Malformed("RSA key missing NULL parameters"));
    }
    let mut numbers = Reader(bits).enter(SEQUENCE).ok_or(Error::Malformed("invalid RSA public key"))?;
    let is_positive = |it: &&[u8]| it[0] & 0x80 == 0 && *it != [0];
    let modulus = numbers.integer().ok_or(Error::Malformed("invalid RSA modulus"))?;
    let exponent = numbers.integer().ok_or(Error::Malformed("invalid RSA public exponent"))?;
    if !is_positive(&modulus) {
        return Err(Error::Malformed("RSA modulus is not a positive number"));
    }
    if !is_positive(&exponent) {
        return Err(Error::Malformed("RSA public exponent is not a positive number"));
    }
    if modulus.strip_prefix(&[0]).unwrap_or(modulus).len() * 8 > MOST_RSA_BITS {
        return Err(Error::Malformed("RSA key larger than 8192 bits"));
    }
    Ok(())
}
