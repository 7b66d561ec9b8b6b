//! Authenticator: the trait of this crate.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use rustls_pki_types::CertificateDer;

use crate::{AuthError, User};

/// Authenticates requests: maps the credentials of a request to a user.
///
/// `Ok(None)` means that the credentials are not of the kind this authenticator reads, and the next one is
/// tried. An error means that they are of this kind and invalid.
pub trait Authenticator: Send + Sync {
    /// Checks the credentials of the client.
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome>;
}

/// The result of an authenticator.
pub type Outcome = Result<Option<Authenticated>, AuthError>;

/// What a client presented, the only input of authentication.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// The chain that the client sent in the TLS handshake, its own certificate first. Not verified yet.
    pub peer_certificates: &'a [CertificateDer<'static>],
    /// The headers of the request.
    pub headers: &'a HeaderMap,
    /// The path of the request; empty when a token is checked without a request (TokenReview).
    pub path: &'a str,
    /// The audiences for which the credentials must be valid; empty means those of the server itself.
    pub audiences: &'a [String],
}

/// A user, and the audiences of the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The user. Shared, because the same client sends many requests.
    pub user: Arc<User>,
    /// The audiences of a token; empty where credentials have none.
    pub audiences: Vec<String>,
    /// Annotations for the audit event.
    pub annotations: Vec<(&'static str, String)>,
    /// Warnings for the client.
    pub warnings: Vec<&'static str>,
}

impl Authenticated {
    /// A user whose credentials are not bound to an audience.
    #[must_use]
    pub fn new(user: Arc<User>) -> Authenticated {
        Authenticated { user, audiences: Vec::new(), annotations: Vec::new(), warnings: Vec::new() }
    }
}
