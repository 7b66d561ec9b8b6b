//! Keys that sign and verify tokens.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, ParsedPublicKey, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_object::Map;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey as Parts;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::Algorithm;
use crate::AuthError;

/// A key that verifies. Cheap to clone.
#[derive(Clone)]
pub struct PublicKey(Arc<Inner>);

struct Inner {
    shape: Shape,
    id: String,
    /// One for each algorithm that the key can be used with.
    verifiers: Vec<(Algorithm, ParsedPublicKey)>,
}

/// The public part, in big-endian numbers without leading zeros; coordinates are as long as the curve's
/// numbers.
enum Shape {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Ec { curve: Curve, x: Vec<u8>, y: Vec<u8> },
}

/// A curve that tokens can be signed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

const RSA: &str = "1.2.840.113549.1.1.1";
const EC: &str = "1.2.840.10045.2.1";

impl Curve {
    pub(super) const ALL: [Curve; 3] = [Curve::P256, Curve::P384, Curve::P521];

    fn oid(self) -> &'static str {
        match self {
            Curve::P256 => "1.2.840.10045.3.1.7",
            Curve::P384 => "1.3.132.0.34",
            Curve::P521 => "1.3.132.0.35",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
        }
    }

    fn algorithm(self) -> Algorithm {
        match self {
            Curve::P256 => Algorithm::Es256,
            Curve::P384 => Algorithm::Es384,
            Curve::P521 => Algorithm::Es512,
        }
    }

    /// The bytes of a coordinate.
    fn size(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }

    pub(super) fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Curve::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Curve::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
            Curve::P521 => &ECDSA_P521_SHA512_FIXED_SIGNING,
        }
    }
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo` in DER, the form used in certificates and in `PUBLIC KEY` blocks.
    pub fn from_spki(der: &[u8]) -> Result<PublicKey, AuthError> {
        let (rest, spki) = SubjectPublicKeyInfo::from_der(der).map_err(|error| bad(error.to_string()))?;
        if !rest.is_empty() {
            return Err(bad("something stands behind the key"));
        }
        let parts = spki.parsed().map_err(|error| bad(error.to_string()))?;
        let shape = match (spki.algorithm.algorithm.to_id_string().as_str(), parts) {
            (RSA, Parts::RSA(key)) => {
                Shape::Rsa { modulus: trimmed(key.modulus), exponent: trimmed(key.exponent) }
            }
            (EC, Parts::EC(point)) => {
                let oid = spki.algorithm.parameters.as_ref().and_then(|it| it.as_oid().ok());
                let oid = oid.map(|it| it.to_id_string()).unwrap_or_default();
                let curve = Curve::ALL.into_iter().find(|it| it.oid() == oid);
                let curve = curve.ok_or_else(|| bad("unknown public key curve, must be 256, 384, or 521"))?;
                let size = curve.size();
                match point.data() {
                    [4, xy @ ..] if xy.len() == 2 * size => {
                        Shape::Ec { curve, x: xy[..size].to_vec(), y: xy[size..].to_vec() }
                    }
                    _ => return Err(bad("the point of the key is malformed")),
                }
            }
            _ => return Err(bad("it is neither an RSA nor an ECDSA key")),
        };
        PublicKey::new(shape, der)
    }

    /// Like [`PublicKey::from_spki`], with the key id `id`.
    pub fn from_spki_as(id: &str, der: &[u8]) -> Result<PublicKey, AuthError> {
        let PublicKey(inner) = PublicKey::from_spki(der)?;
        let inner = Arc::into_inner(inner).expect("nobody else has it yet");
        Ok(PublicKey(Arc::new(Inner { id: id.to_owned(), ..inner })))
    }

    /// Reads a key of a JWK set (RFC 7517).
    pub fn from_jwk(jwk: &Map) -> Result<PublicKey, AuthError> {
        let number = |name: &str| {
            let bytes = jwk.str(name).and_then(|it| URL_SAFE_NO_PAD.decode(it.trim_end_matches('=')).ok());
            bytes.filter(|it| !it.is_empty()).ok_or_else(|| bad(format!("{name} is missing or malformed")))
        };
        match jwk.str("kty") {
            Some("RSA") => {
                let components = RsaPublicKeyComponents { n: number("n")?, e: number("e")? };
                let der: PublicKeyX509Der<'_> =
                    components.as_der().map_err(|_| bad("n and e make no RSA key"))?;
                PublicKey::from_spki(der.as_ref())
            }
            Some("EC") => {
                let curve = Curve::ALL.into_iter().find(|it| Some(it.name()) == jwk.str("crv"));
                let curve = curve.ok_or_else(|| bad("unknown curve"))?;
                let (x, y) = (number("x")?, number("y")?);
                if x.len() != curve.size() || y.len() != curve.size() {
                    return Err(bad("the coordinates do not fit the curve"));
                }
                let point = [&[4][..], &x[..], &y[..]].concat();
                let parsed = ParsedPublicKey::new(curve.algorithm().verifier(), &point);
                let parsed = parsed.map_err(|error| bad(error.to_string()))?;
                let der: PublicKeyX509Der<'_> = parsed.as_der().map_err(|_| bad("the point makes no key"))?;
                PublicKey::new(Shape::Ec { curve, x, y }, der.as_ref())
            }
            _ => Err(bad("it is neither an RSA nor an ECDSA key")),
        }
    }

    fn new(shape: Shape, spki: &[u8]) -> Result<PublicKey, AuthError> {
        let algorithms: &[Algorithm] = match &shape {
            Shape::Rsa { modulus, .. } if modulus.len() < 256 => {
                return Err(bad(format!("RSA key has {} bits, at least 2048 are needed", bits(modulus))));
            }
            Shape::Rsa { .. } => &[
                Algorithm::Rs256,
                Algorithm::Rs384,
                Algorithm::Rs512,
                Algorithm::Ps256,
                Algorithm::Ps384,
                Algorithm::Ps512,
            ],
            Shape::Ec { curve: Curve::P256, .. } => &[Algorithm::Es256],
            Shape::Ec { curve: Curve::P384, .. } => &[Algorithm::Es384],
            Shape::Ec { curve: Curve::P521, .. } => &[Algorithm::Es512],
        };
        let verifier = |algorithm: &Algorithm| {
            let parsed = ParsedPublicKey::new(algorithm.verifier(), spki);
            parsed.map(|it| (*algorithm, it)).map_err(|error| bad(error.to_string()))
        };
        let verifiers = algorithms.iter().map(verifier).collect::<Result<_, _>>()?;
        let id = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, spki));
        Ok(PublicKey(Arc::new(Inner { shape, id, verifiers })))
    }

    /// The key id in tokens and key sets: a hash of the key, or the id that its owner chose.
    ///
    /// Upstream: pkg/serviceaccount/jwt.go, keyIDFromPublicKey (v1.36.4).
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The algorithm that signs service account tokens with this kind of key.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match &self.0.shape {
            Shape::Rsa { .. } => Algorithm::Rs256,
            Shape::Ec { curve, .. } => curve.algorithm(),
        }
    }

    /// The key as a key set shows it, its members in upstream's order.
    #[must_use]
    pub fn to_jwk(&self) -> Map {
        let mut jwk = Map::new();
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        jwk.push_new("use", "sig");
        match &self.0.shape {
            Shape::Rsa { .. } => jwk.push_new("kty", "RSA"),
            Shape::Ec { .. } => jwk.push_new("kty", "EC"),
        }
        jwk.push_new("kid", self.id());
        if let Shape::Ec { curve, .. } = &self.0.shape {
            jwk.push_new("crv", curve.name());
        }
        jwk.push_new("alg", self.algorithm().name());
        match &self.0.shape {
            Shape::Rsa { modulus, exponent } => {
                jwk.push_new("n", text(modulus));
                jwk.push_new("e", text(exponent));
            }
            Shape::Ec { x, y, .. } => {
                jwk.push_new("x", text(x));
                jwk.push_new("y", text(y));
            }
        }
        jwk
    }

    /// Whether the signature of `message` was made with this key and this algorithm.
    #[must_use]
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verifier = self.0.verifiers.iter().find(|(it, _)| *it == algorithm);
        verifier.is_some_and(|(_, key)| key.verify_sig(message, signature).is_ok())
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &PublicKey) -> bool {
        self.id() == other.id()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} {})", self.algorithm().name(), self.id())
    }
}

/// A key that signs.
pub struct SigningKey {
    pair: Pair,
    public: PublicKey,
}

enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

impl SigningKey {
    pub(super) fn rsa(pair: RsaKeyPair) -> Result<SigningKey, AuthError> {
        let der: PublicKeyX509Der<'_> =
            pair.public_key().as_der().map_err(|_| bad("it has no public key"))?;
        let public = PublicKey::from_spki(der.as_ref())?;
        Ok(SigningKey { pair: Pair::Rsa(pair), public })
    }

    pub(super) fn ec(pair: EcdsaKeyPair) -> Result<SigningKey, AuthError> {
        let der: PublicKeyX509Der<'_> =
            pair.public_key().as_der().map_err(|_| bad("it has no public key"))?;
        let public = PublicKey::from_spki(der.as_ref())?;
        Ok(SigningKey { pair: Pair::Ec(pair), public })
    }

    /// The public key that verifies its signatures.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The algorithm with which it signs.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, AuthError> {
        let failed = |_| AuthError::BadKey { reason: "it does not sign".to_owned() };
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
            Pair::Ec(pair) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds a private key.
        write!(f, "SigningKey({:?})", self.public)
    }
}

fn trimmed(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|it| **it == 0).count();
    number[zeros..].to_vec()
}

fn bits(number: &[u8]) -> usize {
    number.len() * 8 - number.first().map_or(0, |it| it.leading_zeros() as usize)
}

pub(super) fn bad(reason: impl Into<String>) -> AuthError {
    AuthError::BadKey { reason: reason.into() }
}
