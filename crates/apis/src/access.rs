//! Access: who is asked about users and their rights.

use std::fmt;
use std::sync::Arc;

use keelson_authn::Authenticator;
use keelson_authn::service_account::Issuer;
use keelson_authz::rbac::Rbac;
use keelson_authz::{AlwaysDeny, Authorizer};

/// The server's own authentication and authorization, which reviews answer from.
#[derive(Clone)]
pub struct Access {
    /// Knows whose token it is.
    pub authenticator: Arc<dyn Authenticator>,
    /// Knows who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Knows who has which role, whether or not roles decide.
    pub rbac: Arc<Rbac>,
    /// For whom tokens are good that are not made for anybody in particular.
    pub api_audiences: Vec<String>,
    /// Makes tokens of service accounts; without it nobody gets one.
    pub tokens: Option<Tokens>,
}

/// How tokens of service accounts are made.
#[derive(Clone)]
pub struct Tokens {
    /// Signs them.
    pub issuer: Arc<Issuer>,
    /// The longest life that can be asked for, in seconds.
    pub max_seconds: Option<i64>,
    /// Whether tokens of pods live longer than kubelets ask.
    pub extended: bool,
    /// How many seconds they live then.
    pub extended_seconds: i64,
}

impl Default for Access {
    /// Nobody is known, and nothing is allowed.
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
