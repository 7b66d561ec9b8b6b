//! OIDC issuer: its discovery, its keys, and the verification of its tokens.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use keelson_codec::json;
use keelson_object::scalar::{Time, quote};
use keelson_object::{Map, Value};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::Client;
use parking_lot::Mutex;

use super::OidcMetrics;
use crate::jws::{Algorithm, Jws, PublicKey};

/// The configuration of an issuer, known before discovery.
#[derive(Clone)]
pub(super) struct About {
    pub(super) url: String,
    pub(super) discovery_url: Option<String>,
    pub(super) audiences: Vec<String>,
    pub(super) algorithms: Vec<Algorithm>,
}

/// An issuer with its keys.
pub(super) struct Issuer {
    about: About,
    client: Client,
    clock: Clock,
    /// The URL of its keys; `None` before discovery.
    keys_url: ArcSwapOption<String>,
    problem: Mutex<String>,
    keys: ArcSwap<Keys>,
    /// One fetch at a time: callers that wait for it use its result.
    fetching: tokio::sync::Mutex<Allowance>,
    /// The metrics, and the hash of the issuer.
    pub(super) counted: Option<(Arc<dyn OidcMetrics>, String)>,
}

#[derive(Default)]
struct Keys {
    /// The number of fetches so far.
    generation: u64,
    /// The keys, each with its key id.
    keys: Vec<(String, PublicKey)>,
}

/// The number of fetches left: tokens with unknown key ids must not cause a flood of requests to the issuer.
struct Allowance {
    left: u32,
    since: Duration,
}

const FETCHES_AT_ONCE: u32 = 10;
const FETCHES_INTERVAL: Duration = Duration::from_secs(1);
/// The clock skew that `nbf` tolerates, in seconds, as in upstream's library.
const NOT_BEFORE_LEEWAY: i64 = 5 * 60;

const GOOGLE: &str = "https://accounts.google.com";
const GOOGLE_WITHOUT_SCHEME: &str = "accounts.google.com";

impl Issuer {
    pub(super) fn new(about: About, client: Client, clock: Clock) -> Issuer {
        let problem = format!("oidc: authenticator for issuer {} is not initialized", quote(&about.url));
        let allowance = Allowance { left: FETCHES_AT_ONCE, since: clock.monotonic() };
        Issuer {
            about,
            client,
            clock,
            keys_url: ArcSwapOption::empty(),
            problem: Mutex::new(problem),
            keys: ArcSwap::default(),
            fetching: tokio::sync::Mutex::new(allowance),
            counted: None,
        }
    }

    pub(super) fn health(&self) -> Result<(), String> {
        if self.keys_url.load().is_some() { Ok(()) } else { Err(self.problem.lock().clone()) }
    }

    /// Asks the issuer where its keys are.
    pub(super) async fn discover(&self) -> Result<(), String> {
        match self.ask().await {
            Ok(url) => {
                self.keys_url.store(Some(Arc::new(url)));
                Ok(())
            }
            Err(problem) => {
                self.problem.lock().clone_from(&problem);
                Err(problem)
            }
        }
    }

    async fn ask(&self) -> Result<String, String> {
        let url = match &self.about.discovery_url {
            Some(url) => url.clone(),
            None => format!("{}/.well-known/openid-configuration", self.about.url.trim_end_matches('/')),
        };
        let document = self.fetch(&url).await.map_err(|problem| match problem {
            Unfetched::Status(text) => text,
            Unfetched::Other(text) => text,
        })?;
        let document = object(&document, "oidc: failed to decode provider discovery object")?;
        let (found, wanted) = (super::text_of(&document, "issuer"), &self.about.url);
        if found != wanted {
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {} got {}",
                quote(wanted),
                quote(found)
            ));
        }
        match super::text_of(&document, "jwks_uri") {
            "" => Err("provider did not return JWKS URL".to_owned()),
            url => Ok(url.to_owned()),
        }
    }

    async fn fetch(&self, url: &str) -> Result<bytes::Bytes, Unfetched> {
        let reply = self.client.get_url(url, None).await;
        let reply = reply.map_err(|error| Unfetched::Other(error.to_string()))?;
        if reply.status != 200 {
            let body = String::from_utf8_lossy(&reply.body[..reply.body.len().min(512)]).into_owned();
            return Err(Unfetched::Status(format!("{}: {body}", reply.status)));
        }
        Ok(reply.body)
    }

    /// The claims of the token, if this issuer signed it and it is valid now.
    pub(super) async fn verify<'j>(&self, jws: &'j Jws<'_>) -> Result<&'j Map, String> {
        if self.keys_url.load().is_none() {
            return Err("authenticator not initialized".to_owned());
        }
        let verified = async {
            self.check_claims(jws.unverified())?;
            let algorithm = jws.algorithm().filter(|it| self.about.algorithms.contains(it));
            algorithm.ok_or("oidc: malformed jwt: go-jose/go-jose: unexpected signature algorithm")?;
            self.check_signature(jws).await
        };
        verified.await.map_err(|problem: String| format!("verify token: {problem}"))
    }

    fn check_claims(&self, claims: &Map) -> Result<(), String> {
        let (found, wanted) = (claimed(claims), self.about.url.as_str());
        if found != wanted {
            return Err(format!(
                "oidc: id token issued by a different provider, expected {} got {}",
                quote(wanted),
                quote(found)
            ));
        }
        let audiences = audiences(claims)?;
        if !audiences.iter().any(|it| self.about.audiences.contains(it)) {
            let shown = |list: &[String]| list.iter().map(|it| quote(it)).collect::<Vec<_>>().join(" ");
            return Err(match &self.about.audiences[..] {
                [only] => format!("oidc: expected audience {} got [{}]", quote(only), shown(&audiences)),
                several => {
                    let mut several = several.to_vec();
                    several.sort();
                    format!("oidc: expected audience in [{}] got [{}]", shown(&several), shown(&audiences))
                }
            });
        }
        let now = i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX);
        let expiry = number(claims, "exp")?.unwrap_or_default();
        if now > expiry {
            return Err(format!("oidc: token is expired (Token Expiry: {})", Time::from_unix(expiry)));
        }
        match number(claims, "nbf")? {
            Some(begin) if now + NOT_BEFORE_LEEWAY < begin => Err(format!(
                "oidc: current time {} before the nbf (not before) time: {}",
                Time::from_unix(now),
                Time::from_unix(begin)
            )),
            _ => Ok(()),
        }
    }

    async fn check_signature<'j>(&self, jws: &'j Jws<'_>) -> Result<&'j Map, String> {
        let keys = self.keys.load_full();
        if let Some(claims) = keys.verify(jws) {
            return Ok(claims);
        }
        let fetched = self.fetch_keys(keys.generation).await;
        let keys =
            fetched.map_err(|problem| format!("failed to verify signature: fetching keys {problem}"))?;
        let refusal = || "failed to verify signature: failed to verify id token signature".to_owned();
        keys.verify(jws).ok_or_else(refusal)
    }

    /// Newer keys than those of `seen`.
    async fn fetch_keys(&self, seen: u64) -> Result<Arc<Keys>, String> {
        let mut allowance = self.fetching.lock().await;
        let known = self.keys.load_full();
        if known.generation != seen {
            return Ok(known);
        }
        if !allowance.take(self.clock.monotonic()) {
            return Err("is put off: too many tokens name keys that the issuer does not have".to_owned());
        }
        let url = self.keys_url.load_full().ok_or("oidc: issuer is not known yet")?;
        let fetched = match self.fetch(&url).await {
            Ok(bytes) => key_set(&bytes).map(|keys| (bytes, keys)),
            Err(Unfetched::Status(text)) => Err(format!("oidc: get keys failed: {text}")),
            Err(Unfetched::Other(text)) => Err(format!("oidc: get keys failed {text}")),
        };
        if let Some((metrics, issuer)) = &self.counted {
            match &fetched {
                Ok((bytes, _)) => metrics.fetched("success", issuer, Some(bytes)),
                Err(_) => metrics.fetched("failure", issuer, None),
            }
        }
        let (_, keys) = fetched?;
        let keys = Arc::new(Keys { generation: seen + 1, keys });
        self.keys.store(keys.clone());
        Ok(keys)
    }
}

enum Unfetched {
    Status(String),
    Other(String),
}

impl Keys {
    /// Tries every key that the token may mean.
    fn verify<'j>(&self, jws: &'j Jws<'_>) -> Option<&'j Map> {
        let meant = |name: &str| jws.key_id().is_none_or(|it| it == name);
        self.keys.iter().filter(|(name, _)| meant(name)).find_map(|(_, key)| jws.verify(key).ok())
    }
}

impl Allowance {
    fn take(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.since).as_secs() / FETCHES_INTERVAL.as_secs();
        if passed > 0 {
            self.left =
                self.left.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX)).min(FETCHES_AT_ONCE);
            self.since = now;
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

/// The issuer that the token names. Google once left out the scheme.
pub(super) fn claimed(claims: &Map) -> &str {
    match super::text_of(claims, "iss") {
        GOOGLE_WITHOUT_SCHEME => GOOGLE,
        issuer => issuer,
    }
}

fn audiences(claims: &Map) -> Result<Vec<String>, String> {
    let bad = |value: &Value| {
        let found = value.json_type();
        format!(
            "oidc: failed to unmarshal claims: json: cannot unmarshal {found} into Go value of type string"
        )
    };
    match claims.get("aud") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.to_string()]),
        Some(list @ Value::List(items)) => {
            items.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(|| bad(list))).collect()
        }
        Some(other) => Err(bad(other)),
    }
}

/// Seconds since 1970, perhaps with a fraction.
fn number(claims: &Map, name: &str) -> Result<Option<i64>, String> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        #[allow(clippy::cast_possible_truncation)] // a time outside of the range is as good as its border
        Some(Value::Float(number)) => Ok(Some(*number as i64)),
        Some(other) => {
            let found = other.json_type();
            Err(format!(
                "oidc: failed to unmarshal claims: json: cannot unmarshal {found} into Go value of type float64"
            ))
        }
    }
}

fn object(bytes: &[u8], complaint: &str) -> Result<Map, String> {
    let document = json::read(bytes).map_err(|error| format!("{complaint}: {error}"))?;
    match document.value {
        Value::Map(map) => Ok(map),
        other => Err(format!("{complaint}: json: cannot unmarshal {} into Go value", other.json_type())),
    }
}

/// The keys that can be used; others may stand beside them.
fn key_set(bytes: &[u8]) -> Result<Vec<(String, PublicKey)>, String> {
    let set = object(bytes, "oidc: failed to decode keys")?;
    let usable = set.maps("keys").filter_map(|jwk| {
        let key = PublicKey::from_jwk(jwk).ok()?;
        Some((super::text_of(jwk, "kid").to_owned(), key))
    });
    Ok(usable.collect())
}
