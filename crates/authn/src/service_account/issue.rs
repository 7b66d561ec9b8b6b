//! Issuer: issues bound tokens.

use std::sync::Arc;

use keelson_object::Map;

use super::claims::{Bound, Claims, Ref, write};
use super::{ExternalSigner, LEGACY_ISSUER, names};
use crate::AuthError;
use crate::jws::{self, SigningKey};

/// Makes tokens in the name of one issuer.
#[derive(Debug)]
pub struct Issuer {
    name: String,
    signer: Signer,
}

/// The signer of the tokens.
#[derive(Debug)]
enum Signer {
    Key(SigningKey),
    External(Arc<ExternalSigner>),
}

/// The content of a token to be issued.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The namespace of the service account.
    pub namespace: String,
    /// The account.
    pub account: Ref,
    /// The pod that the token is bound to.
    pub pod: Option<Ref>,
    /// The node that it is bound to, or that its pod is on.
    pub node: Option<Ref>,
    /// The secret that it is bound to.
    pub secret: Option<Ref>,
    /// The audiences.
    pub audiences: Vec<String>,
    /// The lifetime, in seconds.
    pub seconds: i64,
    /// The age in seconds from which its use causes a warning.
    pub warn_after: Option<i64>,
}

/// A token, and its id in logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// `JTI=…`.
    pub credential_id: String,
}

impl Issuer {
    /// Signs with `key` as `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, key: SigningKey) -> Issuer {
        Issuer { name: name.into(), signer: Signer::Key(key) }
    }

    /// Has tokens signed elsewhere, as `name`.
    #[must_use]
    pub fn external(name: impl Into<String>, signer: Arc<ExternalSigner>) -> Issuer {
        Issuer { name: name.into(), signer: Signer::External(signer) }
    }

    /// Whether the server has a signing key; an external signer does not sign tokens for secrets.
    #[must_use]
    pub fn has_key(&self) -> bool {
        matches!(self.signer, Signer::Key(_))
    }

    /// Makes a token at `now`, in seconds since 1970.
    ///
    /// Upstream: pkg/serviceaccount/claims.go, Claims (v1.36.4).
    pub async fn issue(&self, order: &Order, now: i64) -> Result<Issued, AuthError> {
        let id = uuid::Uuid::new_v4().to_string();
        let claims = Claims {
            issuer: self.name.clone(),
            audiences: order.audiences.clone(),
            expires: Some(now.saturating_add(order.seconds)),
            not_before: Some(now),
            issued: Some(now),
            id: id.clone(),
            ..Claims::default()
        };
        let bound = Bound {
            namespace: order.namespace.clone(),
            account: order.account.clone(),
            pod: order.pod.clone(),
            secret: order.secret.clone(),
            node: order.node.clone(),
            warn_after: order.warn_after.map(|seconds| now.saturating_add(seconds)),
        };
        let claims = write(&claims, &bound);
        let token = match &self.signer {
            Signer::Key(key) => jws::sign(key, &claims)?,
            Signer::External(signer) => {
                let token = signer.sign(&claims).await;
                token.map_err(|error| AuthError::Signer { reason: error.to_string() })?
            }
        };
        Ok(Issued { token, credential_id: credential_id(&id) })
    }
}

impl Issuer {
    /// Issues a token that is stored in a secret and does not expire.
    ///
    /// Upstream: pkg/serviceaccount/legacy.go, LegacyClaims (v1.36.4).
    pub fn issue_legacy(&self, namespace: &str, account: &Ref, secret: &str) -> Result<String, AuthError> {
        let mut claims = Map::new();
        claims.push_new("iss", LEGACY_ISSUER);
        for (name, value) in [
            ("namespace", namespace),
            ("secret.name", secret),
            ("service-account.name", &account.name),
            ("service-account.uid", &account.uid),
        ] {
            claims.push_new(format!("kubernetes.io/serviceaccount/{name}"), value);
        }
        claims.push_new("sub", names::username(namespace, &account.name));
        match &self.signer {
            Signer::Key(key) => jws::sign(key, &claims),
            Signer::External(_) => {
                Err(AuthError::Signer { reason: "an external signer signs no tokens of secrets".to_owned() })
            }
        }
    }
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/jwt/jwt.go, CredentialIDForJTI (v1.36.4).
pub(super) fn credential_id(id: &str) -> String {
    if id.is_empty() { String::new() } else { format!("JTI={id}") }
}
