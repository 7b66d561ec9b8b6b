//! Access: the authenticator and the authorizers behind reviews, token requests and escalation checks.

use std::fmt;
use std::sync::Arc;

use keelson_authn::Authenticator;
use keelson_authn::service_account::Issuer;
use keelson_authz::rbac::Rbac;
use keelson_authz::{AlwaysDeny, Authorizer};

/// The server's own authentication and authorization, which reviews answer from.
#[derive(Clone)]
pub struct Access {
    /// Authenticates tokens.
    pub authenticator: Arc<dyn Authenticator>,
    /// Decides about access.
    pub authorizer: Arc<dyn Authorizer>,
    /// The RBAC rules, whether or not RBAC is an authorization mode.
    pub rbac: Arc<Rbac>,
    /// The audiences of tokens that name none.
    pub api_audiences: Vec<String>,
    /// Issues service account tokens; without it none are issued.
    pub tokens: Option<Tokens>,
}

/// How service account tokens are issued.
#[derive(Clone)]
pub struct Tokens {
    /// Signs them.
    pub issuer: Arc<Issuer>,
    /// The longest lifetime that can be requested, in seconds.
    pub max_seconds: Option<i64>,
    /// Whether tokens of pods live longer than kubelets request.
    pub extended: bool,
    /// The extended lifetime in seconds.
    pub extended_seconds: i64,
}

impl Default for Access {
    /// No user is known, and nothing is allowed.
    fn default() -> Access {
        Access {
            authenticator: Arc::new(keelson_authn::Union::new(Vec::new())),
            authorizer: Arc::new(AlwaysDeny),
            rbac: Arc::default(),
            api_audiences: Vec::new(),
            tokens: None,
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("api_audiences", &self.api_audiences).finish_non_exhaustive()
    }
}
