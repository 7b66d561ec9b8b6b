//! Distributed claims: claims that are not in the token itself. The token says where to get them.
//!
//! ```json
//! {"_claim_names": {"groups": "src1"},
//!  "_claim_sources": {"src1": {"endpoint": "https://www.example.com", "access_token": "f005ba11"}}}
//! ```
//!
//! The endpoint returns a token, too, which must be signed by an issuer that OpenID discovery can find.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use keelson_object::Value;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::Client;
use parking_lot::Mutex;

use super::claims::Claims;
use super::issuer::{About, Issuer, claimed};
use crate::jws::Jws;

/// The source of the groups claim.
pub(super) struct Sources {
    claim: String,
    client: Client,
    about: About,
    clock: Clock,
    issuers: Mutex<HashMap<String, Source>>,
}

struct Source {
    issuer: Arc<Issuer>,
    /// Discovery is not tried again before this time.
    not_before: Duration,
}

/// More issuers than this are not remembered.
const MAX_ISSUERS: usize = 64;
/// The pause between two attempts at OpenID discovery.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

impl Sources {
    pub(super) fn new(claim: &str, client: Client, about: &About, clock: &Clock) -> Sources {
        let about = About { discovery_url: None, ..about.clone() };
        Sources { claim: claim.to_owned(), client, about, clock: clock.clone(), issuers: Mutex::default() }
    }

    /// Fetches the claim if the token says where it is.
    pub(super) async fn expand(&self, claims: &mut Claims) -> Result<(), String> {
        if claims.0.contains(&self.claim) {
            return Ok(());
        }
        let Some(names) = claims.0.get("_claim_names") else { return Ok(()) };
        let names = names.as_map().ok_or_else(|| {
            let found = names.json_type();
            format!(
                "oidc: error parsing distributed claim names: json: cannot unmarshal {found} into Go value of type \
                 map[string]string"
            )
        })?;
        let sources = claims.0.get("_claim_sources").ok_or("oidc: no claim sources")?;
        let sources = sources.as_map().ok_or_else(|| {
            let found = sources.json_type();
            format!(
                "oidc: could not parse claim sources: json: cannot unmarshal {found} into Go value of type \
                 map[string]oidc.endpoint"
            )
        })?;
        let Some(source) = names.str(&self.claim) else { return Ok(()) };
        let source = sources.map(source).ok_or_else(|| {
            format!("id token _claim_names contained a source {source} missing in _claims_sources")
        })?;
        let (url, token) = (super::text_of(source, "endpoint"), super::text_of(source, "access_token"));
        if url.is_empty() {
            return Ok(());
        }
        let value = self.resolve(url, token).await?;
        claims.0.set(self.claim.as_str(), value);
        Ok(())
    }

    async fn resolve(&self, url: &str, token: &str) -> Result<Value, String> {
        let claim = &self.claim;
        let text = self.fetch(url, token).await;
        let text = text.map_err(|error| format!("while getting distributed claim \"{claim}\": {error}"))?;
        let jws = Jws::parse(&text).ok_or_else(|| {
            format!(
                "getting untrusted issuer from endpoint {url} failed for claim \"{claim}\": malformed token"
            )
        })?;
        let name = claimed(jws.unverified());
        let issuer = self.issuer(name).await;
        let issuer = issuer.map_err(|error| format!("verifying untrusted issuer {name} failed: {error}"))?;
        let claims = issuer.verify(&jws).await;
        let claims = claims.map_err(|error| format!("verify distributed claim token: {error}"))?;
        claims.get(claim).cloned().ok_or_else(|| {
            format!("jwt returned by distributed claim endpoint \"{url}\" did not contain claim: {claim}")
        })
    }

    async fn fetch(&self, url: &str, token: &str) -> Result<String, String> {
        let reply = match token {
            "" => self.client.get_url(url, None).await,
            token => self.client.get_url_as(url, token, None).await,
        };
        let reply = reply.map_err(|error| error.to_string())?;
        if !(200..=226).contains(&reply.status) {
            return Err(format!("error while getting distributed claim JWT: {}", reply.status));
        }
        let text = String::from_utf8(reply.body.to_vec());
        text.map_err(|_| "could not decode distributed claim response".to_owned())
    }

    async fn issuer(&self, url: &str) -> Result<Arc<Issuer>, String> {
        let now = self.clock.monotonic();
        let issuer = {
            let mut issuers = self.issuers.lock();
            if !issuers.contains_key(url) && issuers.len() >= MAX_ISSUERS {
                return Err("too many issuers of claims".to_owned());
            }
            let source = issuers.entry(url.to_owned()).or_insert_with(|| {
                let about = About { url: url.to_owned(), ..self.about.clone() };
                let issuer = Arc::new(Issuer::new(about, self.client.clone(), self.clock.clone()));
                Source { issuer, not_before: now }
            });
            if source.issuer.health().is_err() {
                if now < source.not_before {
                    return Err(format!("verifier not initialized for issuer: \"{url}\""));
                }
                source.not_before = now + AGAIN_AFTER;
            }
            source.issuer.clone()
        };
        if issuer.health().is_err() {
            issuer.discover().await?;
        }
        Ok(issuer)
    }
}
