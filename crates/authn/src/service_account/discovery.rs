//! OpenID discovery of service account tokens: the documents with which others verify them.

use bytes::Bytes;
use http::Uri;
use keelson_codec::json;
use keelson_object::{Map, Value};

use super::KeySet;

/// The documents of `/.well-known/openid-configuration` and `/openid/v1/jwks`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The issuer, and the URL of the keys.
    pub configuration: Bytes,
    /// The keys.
    pub keys: Bytes,
}

/// The path of the keys unless the operator configures another URL.
const KEYS_PATH: &str = "/openid/v1/jwks";

/// Why there are no documents, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The issuer is not one that OpenID knows.
    #[error("issuer URL {problem}, got: {issuer}")]
    Issuer {
        /// What is wrong.
        problem: &'static str,
        /// The issuer.
        issuer: String,
    },
    /// There are no keys to publish.
    #[error("no keys provided for validating keyset")]
    NoKeys,
}

impl Discovery {
    /// `jwks_uri` is made of `external_address` where it is empty.
    ///
    /// Upstream: pkg/serviceaccount/openidmetadata.go, NewOpenIDMetadataProvider (v1.36.4).
    pub fn new(
        issuer: &str,
        jwks_uri: &str,
        external_address: &str,
        keys: &KeySet,
    ) -> Result<Discovery, DiscoveryError> {
        if let Some(problem) = problem(issuer) {
            return Err(DiscoveryError::Issuer { problem, issuer: issuer.to_owned() });
        }
        if keys.is_empty() {
            return Err(DiscoveryError::NoKeys);
        }
        let jwks_uri = match jwks_uri {
            "" => format!("https://{external_address}{KEYS_PATH}"),
            given => given.to_owned(),
        };
        let mut algorithms: Vec<&str> = keys.iter().map(|it| it.algorithm().name()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let list = |texts: &[&str]| texts.iter().map(|it| Value::from(*it)).collect::<Vec<_>>();
        let mut configuration = Map::new();
        configuration.push_new("issuer", issuer);
        configuration.push_new("jwks_uri", jwks_uri);
        configuration.push_new("response_types_supported", list(&["id_token"]));
        configuration.push_new("subject_types_supported", list(&["public"]));
        configuration.push_new("id_token_signing_alg_values_supported", list(&algorithms));
        let mut set = Map::new();
        set.push_new("keys", keys.iter().map(|it| Value::from(it.to_jwk())).collect::<Vec<_>>());
        Ok(Discovery {
            configuration: json::to_bytes(&Value::Map(configuration)),
            keys: json::to_bytes(&Value::Map(set)),
        })
    }
}

fn problem(issuer: &str) -> Option<&'static str> {
    let uri = issuer.parse::<Uri>().ok();
    if uri.as_ref().and_then(Uri::scheme_str) != Some("https") {
        return Some("must use https scheme");
    }
    if issuer.split('#').next().is_some_and(|it| it.split_once('?').is_some_and(|(_, it)| !it.is_empty())) {
        return Some("may not include a query");
    }
    issuer.split_once('#').filter(|(_, it)| !it.is_empty()).map(|_| "may not include a fragment")
}
