//! ServiceAccountTokens: accepts tokens with a valid signature while the objects they are bound to exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::Map;
use keelson_stdx::clock::Clock;

use super::claims::{Bound, Claims, Legacy, Malformed};
use super::issue::credential_id;
use super::legacy::{Found, LegacyUse};
use super::lookup::{Anchor, Known, LEEWAY, Objects, is_after, is_before, refused};
use super::{Account, ExternalSigner, KeySet, LEGACY_ISSUER};
use crate::jws::Jws;
use crate::token::intersection;
use crate::{AuthError, Authenticated, Outcome, TokenAuthenticator};

/// Knows the tokens of service accounts.
///
/// Upstream: pkg/serviceaccount/jwt.go, jwtTokenAuthenticator; claims.go, validator (v1.36.4).
pub struct ServiceAccountTokens {
    pub(super) settings: Settings,
    pub(super) counts: Counts,
    keys: Keys,
}

/// The source of the keys that verify tokens.
enum Keys {
    /// Here.
    Own(ArcSwap<KeySet>),
    /// The external signer has the keys.
    External(Arc<ExternalSigner>),
}

/// How tokens are verified.
pub struct Settings {
    /// The accepted issuers.
    pub issuers: Vec<String>,
    /// The audiences of tokens that name none.
    pub api_audiences: Vec<String>,
    /// Whether the objects of legacy tokens are looked up. Those of bound tokens always are.
    pub lookup: bool,
    /// The source of the objects that tokens are bound to.
    pub objects: Arc<dyn Objects>,
    /// Called when a legacy token is used and its secret does not record that yet.
    pub on_legacy_use: Option<Arc<dyn Fn(LegacyUse) + Send + Sync>>,
    /// The clock.
    pub clock: Clock,
}

/// The number of uses of each kind of token.
#[derive(Debug, Default)]
pub struct Counts {
    /// Tokens without audiences.
    pub legacy: AtomicU64,
    /// Tokens that still work only because of the extended lifetime; the client did not reload them.
    pub stale: AtomicU64,
    /// Tokens that might become stale, and are not yet.
    pub valid: AtomicU64,
    /// Tokens in secrets that a user created.
    pub manually_created: AtomicU64,
    /// Tokens in secrets that a controller made.
    pub auto_generated: AtomicU64,
    /// Tokens in secrets that are marked as invalid.
    pub invalidated: AtomicU64,
}

impl Counts {
    pub(super) fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl ServiceAccountTokens {
    /// Tokens must be signed with one of `keys`.
    #[must_use]
    pub fn new(settings: Settings, keys: KeySet) -> ServiceAccountTokens {
        let keys = Keys::Own(ArcSwap::from_pointee(keys));
        ServiceAccountTokens { settings, counts: Counts::default(), keys }
    }

    /// Tokens must be signed with one of the keys of `signer`.
    #[must_use]
    pub fn external(settings: Settings, signer: Arc<ExternalSigner>) -> ServiceAccountTokens {
        ServiceAccountTokens { settings, counts: Counts::default(), keys: Keys::External(signer) }
    }

    /// From now on tokens must be signed with one of these keys. No effect with an external signer.
    pub fn replace_keys(&self, keys: KeySet) {
        if let Keys::Own(own) = &self.keys {
            own.store(Arc::new(keys));
        }
    }

    /// The number of uses of tokens.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    async fn user_of(&self, token: &str, audiences: &[String]) -> Outcome {
        let Some(jws) = Jws::parse(token) else { return Ok(None) };
        let issuer = jws.unverified().str("iss").unwrap_or_default();
        let is_legacy = issuer == LEGACY_ISSUER;
        if !is_legacy && !self.settings.issuers.iter().any(|it| it == issuer) {
            return Ok(None);
        }
        let payload = self.verified(&jws).await?;
        let claims = Claims::read(payload).map_err(unreadable)?;
        let mut annotations = Vec::new();
        let good_for = self.audiences(&claims, audiences, &mut annotations)?;
        let found = if is_legacy {
            self.check_legacy(token, &claims, &Legacy::read(payload).map_err(unreadable)?).await?
        } else {
            self.check_bound(&claims, Bound::read(payload).map_err(unreadable)?).await?
        };
        annotations.extend(found.annotations);
        Ok(Some(Authenticated {
            user: Arc::new(found.account.user()),
            audiences: good_for,
            annotations,
            warnings: found.warnings,
        }))
    }

    async fn verified<'j>(&self, jws: &'j Jws<'_>) -> Result<&'j Map, AuthError> {
        let candidates = match &self.keys {
            Keys::Own(keys) => keys.load().candidates(jws.key_id()).cloned().collect(),
            Keys::External(signer) => signer.find(jws.key_id()).await,
        };
        let mut errors = Vec::new();
        for key in &candidates {
            match jws.verify(key) {
                Ok(payload) => return Ok(payload),
                Err(error) => errors.push(error),
            }
        }
        let none = AuthError::BadSignature { reason: "invalid signature, no keys found" };
        Err(AuthError::all(errors).unwrap_or(none))
    }

    /// The requested audiences for which the token is valid.
    fn audiences(
        &self,
        claims: &Claims,
        wanted: &[String],
        annotations: &mut Vec<(&'static str, String)>,
    ) -> Result<Vec<String>, AuthError> {
        let implicit = &self.settings.api_audiences;
        let told = match claims.audiences.as_slice() {
            [] => {
                annotations.push(("authentication.k8s.io/legacy-token", claims.subject.clone()));
                Counts::add(&self.counts.legacy);
                implicit
            }
            told => told,
        };
        let wanted = if wanted.is_empty() { implicit } else { wanted };
        let common = intersection(told, wanted);
        if common.is_empty() && !implicit.is_empty() {
            return Err(refused(format!(
                "token audiences {} is invalid for the target audiences {}",
                quoted(told),
                quoted(wanted)
            )));
        }
        Ok(common)
    }

    async fn check_bound(&self, claims: &Claims, bound: Bound) -> Result<Found, AuthError> {
        let now = self.settings.clock.since_epoch();
        if claims.not_before.is_some_and(|it| is_after(it, now, LEEWAY)) {
            return Err(refused("service account token is not valid yet"));
        }
        if claims.expires.is_some_and(|it| is_before(it, now, LEEWAY)) {
            return Err(refused("service account token has expired"));
        }
        if claims.issued.is_some_and(|it| is_after(it, now, LEEWAY)) {
            return Err(refused("service account token is issued in the future"));
        }
        self.check_account(&bound, now).await?;
        self.check_anchors(&bound, now).await?;
        let mut found = Found::default();
        if let Some(warn_after) = bound.warn_after {
            let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
            if is_before(warn_after, now, std::time::Duration::ZERO) {
                Counts::add(&self.counts.stale);
                let late = seconds.saturating_sub(warn_after);
                let text = format!("subject: {}, seconds after warning threshold: {late}", claims.subject);
                found.annotations.push(("authentication.k8s.io/stale-token", text));
            } else {
                Counts::add(&self.counts.valid);
            }
        }
        found.account = Account {
            namespace: bound.namespace,
            name: bound.account.name,
            uid: bound.account.uid,
            pod: bound.pod.map(|it| (it.name, it.uid)),
            node: bound.node.map(|it| (it.name, it.uid)),
            credential_id: credential_id(&claims.id),
        };
        Ok(found)
    }

    async fn check_account(&self, bound: &Bound, now: std::time::Duration) -> Result<(), AuthError> {
        let (namespace, name, uid) = (&bound.namespace, &bound.account.name, &bound.account.uid);
        let account = Known::find(&*self.settings.objects, "serviceaccounts", namespace, name).await;
        let account = account.ok_or_else(|| refused(format!("serviceaccounts {name:?} not found")))?;
        if account.meta.uid != *uid {
            return Err(refused(format!(
                "service account UID ({}) does not match claim ({uid})",
                account.meta.uid
            )));
        }
        if account.is_long_deleted(now) {
            return Err(refused(format!("service account {namespace}/{name} has been deleted")));
        }
        Ok(())
    }

    /// For a token that is bound to a pod, the node is reported but not checked: checking the pod suffices.
    async fn check_anchors(&self, bound: &Bound, now: std::time::Duration) -> Result<(), AuthError> {
        let node = bound.node.as_ref().filter(|_| bound.pod.is_none());
        let anchors = [
            ("secrets", "secret", bound.secret.as_ref()),
            ("pods", "pod", bound.pod.as_ref()),
            ("nodes", "node", node),
        ];
        for (plural, claim, reference) in anchors {
            let Some(reference) = reference else { continue };
            let namespace = if plural == "nodes" { "" } else { bound.namespace.as_str() };
            Anchor { plural, claim, namespace, reference }.check(&*self.settings.objects, now).await?;
        }
        Ok(())
    }
}

impl TokenAuthenticator for ServiceAccountTokens {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        self.user_of(token, audiences).boxed()
    }
}

fn unreadable(_: Malformed) -> AuthError {
    refused("token claims cannot be read")
}

/// Formats a list like Go's `%q`.
fn quoted(list: &[String]) -> String {
    let texts: Vec<String> = list.iter().map(|it| keelson_object::scalar::quote(it)).collect();
    format!("[{}]", texts.join(" "))
}
