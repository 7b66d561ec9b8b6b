//! Signed tokens in the compact form of RFC 7515: `header.payload.signature`, each in base64url.
//!
//! ```text
//! {"alg":"ES256","kid":"3n-q…"} . {"iss":"https://kubernetes.default.svc", …} . 64 bytes
//! ```
//!
//! The algorithm is taken from the header but must be one that the key supports. `none` and symmetric
//! algorithms do not exist here, so a public key can never be used as a secret. Nothing in the payload may be
//! trusted before [`Jws::verify`] succeeds.

mod algorithm;
mod key;
mod pem;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use keelson_codec::json;
use keelson_object::{Map, Value};

pub use algorithm::Algorithm;
pub use key::{PublicKey, SigningKey};
pub use pem::{public_keys, signing_key};

use crate::AuthError;

/// Longer tokens are not parsed. The longest that clusters issue are a few kilobytes.
pub const MAX_TOKEN: usize = 64 << 10;

/// Lenient like Go's base64 decoder: the unused bits after the last byte are ignored.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&base64::alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// A token that can be read and has not been verified.
#[derive(Debug)]
pub struct Jws<'t> {
    algorithm: Option<Algorithm>,
    key_id: Option<String>,
    has_critical: bool,
    payload: Map,
    signed: &'t str,
    signature: Vec<u8>,
}

impl<'t> Jws<'t> {
    /// Takes a token apart; `None` if it is none.
    #[must_use]
    pub fn parse(token: &'t str) -> Option<Jws<'t>> {
        if token.len() > MAX_TOKEN {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if payload.contains('.') {
            return None;
        }
        let header = section(header)?;
        Some(Jws {
            algorithm: header.str("alg").and_then(Algorithm::parse),
            key_id: header.str("kid").filter(|it| !it.is_empty()).map(str::to_owned),
            has_critical: header.contains("crit"),
            payload: section(payload)?,
            signed,
            signature: LENIENT.decode(signature).ok()?,
        })
    }

    /// The algorithm named in the header; `None` if it is unknown.
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.algorithm
    }

    /// The key id named in the header.
    #[must_use]
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// The claims. Not to be trusted before the token is verified.
    #[must_use]
    pub fn unverified(&self) -> &Map {
        &self.payload
    }

    /// The claims, if the token is signed with this key.
    pub fn verify(&self, key: &PublicKey) -> Result<&Map, AuthError> {
        let bad = AuthError::BadSignature { reason: CRYPTO_FAILURE };
        let algorithm = self.algorithm.filter(|_| !self.has_critical).ok_or(bad.clone())?;
        if key.verifies(algorithm, self.signed.as_bytes(), &self.signature) {
            Ok(&self.payload)
        } else {
            Err(bad)
        }
    }
}

/// The message of upstream's library for every invalid signature.
const CRYPTO_FAILURE: &str = "go-jose/go-jose: error in cryptographic primitive";

/// Reads a JSON map; `None` for anything else, and for a map with duplicate keys.
fn section(encoded: &str) -> Option<Map> {
    let document = json::read(&LENIENT.decode(encoded).ok()?).ok()?;
    match document.value {
        Value::Map(map) if document.duplicates.is_empty() => Some(map),
        _ => None,
    }
}

/// Makes a token of claims.
pub fn sign(key: &SigningKey, claims: &Map) -> Result<String, AuthError> {
    let mut header = Map::new();
    header.push_new("alg", key.algorithm().name());
    header.push_new("kid", key.public_key().id());
    let mut token = URL_SAFE_NO_PAD.encode(json::to_bytes(&Value::Map(header)));
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(json::to_bytes(&Value::Map(claims.clone())), &mut token);
    let signature = key.sign(token.as_bytes())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

#[cfg(test)]
pub(crate) mod tests;
