//! OIDC: tokens of OpenID issuers.
//!
//! OpenID discovery runs in the background, so that the server starts without the issuer; until then its
//! tokens are rejected. Its keys are fetched with the first token and again when a token is signed with an
//! unknown key.

mod claims;
mod distributed;
mod issuer;
mod settings;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use aws_lc_rs::digest;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::Map;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Target, Trust};

use crate::jws::{Algorithm, Jws};
use crate::{AuthError, Authenticated, Extra, Outcome, TokenAuthenticator, User};
use claims::Claims;
use distributed::Sources;
use issuer::Issuer;
pub use settings::{
    AudienceMatchPolicy, ClaimMappings, ClaimOrExpression, ClaimValidationRule, ExtraMapping, IssuerSettings,
    JwtSettings, PrefixedClaimOrExpression, UserValidationRule,
};

/// The users of one OpenID issuer.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go (v1.36.4).
pub struct Oidc {
    settings: JwtSettings,
    issuer: Arc<Issuer>,
    /// The source of groups that are not in the token itself (distributed claims).
    sources: Option<Sources>,
    metrics: Arc<dyn OidcMetrics>,
    clock: Clock,
    issuer_hash: String,
}

/// Metrics about tokens and keys. Issuers are identified by a hash of their URL.
pub trait OidcMetrics: Send + Sync {
    /// A token was verified; `result` is `success` or `failure`.
    fn judged(&self, result: &'static str, issuer_hash: &str, took: Duration);
    /// Keys were fetched, or not; `keys` are the bytes that came.
    fn fetched(&self, result: &'static str, issuer_hash: &str, keys: Option<&[u8]>);
}

/// Metrics that count nothing.
pub struct NotCounted;

impl OidcMetrics for NotCounted {
    fn judged(&self, _: &'static str, _: &str, _: Duration) {}
    fn fetched(&self, _: &'static str, _: &str, _: Option<&[u8]>) {}
}

/// The pause between two attempts at OpenID discovery.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(10);
/// The largest reply that is read, in bytes.
const MAX_REPLY: usize = 1 << 20;

impl Oidc {
    /// The caller must run [`Oidc::discover`] as well.
    pub fn new(
        settings: JwtSettings,
        algorithms: &[Algorithm],
        metrics: Arc<dyn OidcMetrics>,
        clock: &Clock,
    ) -> Result<Oidc, AuthError> {
        let target = Target {
            trust: match settings.issuer.certificate_authority.as_str() {
                "" => Trust::System,
                pem => Trust::Bundle(pem.as_bytes().to_vec()),
            },
            max_reply: MAX_REPLY,
            ..Target::new(settings.issuer.url.clone())
        };
        let client = Client::new(target, clock).map_err(|error| AuthError::oidc(error.to_string()))?;
        let about = issuer::About {
            url: settings.issuer.url.clone(),
            discovery_url: settings.issuer.discovery_url.clone(),
            audiences: settings.issuer.audiences.clone(),
            algorithms: algorithms.to_vec(),
        };
        let groups = &settings.claim_mappings.groups.claim;
        let sources = (!groups.is_empty()).then(|| Sources::new(groups, client.clone(), &about, clock));
        let issuer_hash = hash(settings.issuer.url.as_bytes());
        let mut issuer = Issuer::new(about, client, clock.clone());
        issuer.counted = Some((metrics.clone(), issuer_hash.clone()));
        let issuer = Arc::new(issuer);
        Ok(Oidc { settings, issuer, sources, metrics, clock: clock.clone(), issuer_hash })
    }

    /// Runs OpenID discovery, and tries again until it succeeds. Ends as well when the authenticator is
    /// dropped.
    pub fn discover(self: &Arc<Oidc>) -> impl Future<Output = ()> + Send + use<> {
        let (weak, clock) = (Arc::downgrade(self), self.clock.clone());
        async move {
            while let Some(oidc) = weak.upgrade() {
                match oidc.issuer.discover().await {
                    Ok(()) => return,
                    Err(problem) => tracing::error!(
                        issuer = oidc.settings.issuer.url,
                        %problem,
                        "oidc authenticator: initializing plugin"
                    ),
                }
                drop(oidc);
                clock.sleep(DISCOVERY_INTERVAL).await;
            }
        }
    }

    /// Why tokens of this issuer cannot be verified yet.
    pub fn health(&self) -> Result<(), String> {
        let url = &self.settings.issuer.url;
        self.issuer
            .health()
            .map_err(|problem| format!("oidc: authenticator for issuer \"{url}\" is not healthy: {problem}"))
    }

    async fn judge(&self, jws: &Jws<'_>) -> Result<Authenticated, AuthError> {
        let mut claims =
            self.issuer.verify(jws).await.map(|map| Claims(map.clone())).map_err(AuthError::oidc)?;
        if let Some(sources) = &self.sources {
            let expanded = sources.expand(&mut claims).await;
            expanded
                .map_err(|error| AuthError::oidc(format!("could not expand distributed claims: {error}")))?;
        }
        let user = self.user(&claims).map_err(AuthError::oidc)?;
        self.check_required(&claims).map_err(AuthError::oidc)?;
        Ok(Authenticated::new(Arc::new(user)))
    }

    fn user(&self, claims: &Claims) -> Result<User, String> {
        let mappings = &self.settings.claim_mappings;
        let uid = match mappings.uid.claim.as_str() {
            "" => String::new(),
            claim => claims.text(claim).map_err(|error| format!("parse uid claim \"{claim}\": {error}"))?,
        };
        let mut extra = Extra::new();
        if let Ok(id) = claims.text("jti")
            && !id.is_empty()
        {
            extra.insert(User::CREDENTIAL_ID_KEY.to_owned(), vec![format!("JTI={id}")]);
        }
        Ok(User { name: self.username(claims)?, uid, groups: self.groups(claims)?, extra })
    }

    fn username(&self, claims: &Claims) -> Result<String, String> {
        let mapping = &self.settings.claim_mappings.username;
        let claim = mapping.claim.as_str();
        let name = claims.text(claim);
        let name = name.map_err(|error| format!("parse username claims \"{claim}\": {error}"))?;
        if claim == "email" && claims.0.contains("email_verified") {
            let verified = claims.truth("email_verified");
            if !verified.map_err(|error| format!("parse 'email_verified' claim: {error}"))? {
                return Err("email not verified".to_owned());
            }
        }
        Ok(format!("{}{name}", mapping.prefix.as_deref().unwrap_or_default()))
    }

    fn groups(&self, claims: &Claims) -> Result<Vec<String>, String> {
        let mapping = &self.settings.claim_mappings.groups;
        let claim = mapping.claim.as_str();
        if claim.is_empty() || !claims.0.contains(claim) {
            return Ok(Vec::new());
        }
        let groups = claims.text_or_list(claim);
        let groups = groups.map_err(|error| format!("parse groups claim \"{claim}\": {error}"))?;
        let prefix = mapping.prefix.as_deref().unwrap_or_default();
        Ok(groups.into_iter().map(|group| format!("{prefix}{group}")).collect())
    }

    fn check_required(&self, claims: &Claims) -> Result<(), String> {
        for rule in self.settings.claim_validation_rules.iter().filter(|rule| !rule.claim.is_empty()) {
            let claim = rule.claim.as_str();
            if !claims.0.contains(claim) {
                return Err(format!("required claim {claim} not present in ID token"));
            }
            let value = claims.text(claim).map_err(|error| format!("parse claim {claim}: {error}"))?;
            if value != rule.required_value {
                let wanted = &rule.required_value;
                return Err(format!(
                    "required claim {claim} value does not match. Got = {value}, want = {wanted}"
                ));
            }
        }
        Ok(())
    }
}

impl TokenAuthenticator for Oidc {
    fn authenticate_token<'a>(&'a self, token: &'a str, _: &'a [String]) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(jws) = Jws::parse(token) else { return Ok(None) };
            if issuer::claimed(jws.unverified()) != self.settings.issuer.url {
                return Ok(None);
            }
            let begun = self.clock.monotonic();
            let outcome = self.judge(&jws).await;
            let result = if outcome.is_ok() { "success" } else { "failure" };
            let took = self.clock.monotonic().saturating_sub(begun);
            self.metrics.judged(result, &self.issuer_hash, took);
            outcome.map(Some)
        }
        .boxed()
    }
}

/// The issuers of a configuration, which may be replaced by those of another one.
#[derive(Default)]
pub struct Issuers(ArcSwap<Vec<Arc<Oidc>>>);

impl Issuers {
    /// These, for now.
    #[must_use]
    pub fn new(issuers: Vec<Arc<Oidc>>) -> Issuers {
        Issuers(ArcSwap::from_pointee(issuers))
    }

    /// Replaces all issuers.
    pub fn replace(&self, issuers: Vec<Arc<Oidc>>) {
        self.0.store(Arc::new(issuers));
    }
}

impl TokenAuthenticator for Issuers {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        async move {
            for issuer in self.0.load_full().iter() {
                if let Some(known) = issuer.authenticate_token(token, audiences).await? {
                    return Ok(Some(known));
                }
            }
            Ok(None)
        }
        .boxed()
    }
}

/// `sha256:…`; empty for empty input.
#[must_use]
pub fn hash(data: &[u8]) -> String {
    if data.is_empty() {
        return String::new();
    }
    let mut text = String::from("sha256:");
    for byte in digest::digest(&digest::SHA256, data).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A key of a set, with the name that tokens call it by.
fn text_of<'m>(map: &'m Map, key: &str) -> &'m str {
    map.str(key).unwrap_or_default()
}

#[cfg(test)]
mod tests;
