//! Authenticator: the one question that this crate answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use rustls_pki_types::CertificateDer;

use crate::{AuthError, User};

/// Says who sent a request.
///
/// `Ok(None)` is "not one of mine", and the next authenticator is asked. An error means that there were
/// credentials of the kind this authenticator reads and that they are bad.
pub trait Authenticator: Send + Sync {
    /// Looks at what the client presented.
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome>;
}

/// What an authenticator finds out.
pub type Outcome = Result<Option<Authenticated>, AuthError>;

/// What a client presented, the only input of authentication.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// The chain that the client sent in the TLS handshake, its own certificate first. Not verified yet.
    pub peer_certificates: &'a [CertificateDer<'static>],
    /// The headers of the request.
    pub headers: &'a HeaderMap,
    /// The path of the request; empty for a token that somebody asks about.
    pub path: &'a str,
    /// For whom the credentials must be good; empty where that is the server itself.
    pub audiences: &'a [String],
}

/// A user, and for whom the credentials were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// Who it is. Shared, because the same client sends many requests.
    pub user: Arc<User>,
    /// The audiences of a token; empty where credentials have none.
    pub audiences: Vec<String>,
    /// What the audit log is told about the credentials.
    pub annotations: Vec<(&'static str, String)>,
    /// What the client is told about the credentials.
    pub warnings: Vec<&'static str>,
}

impl Authenticated {
    /// A user whose credentials are bound to no audience.
    #[must_use]
    pub fn new(user: Arc<User>) -> Authenticated {
        Authenticated { user, audiences: Vec::new(), annotations: Vec::new(), warnings: Vec::new() }
    }
}
