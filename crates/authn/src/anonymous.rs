//! Anonymous authentication: the user of requests without credentials.

use std::sync::Arc;
use std::sync::LazyLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Authenticated, Authenticator, Credentials, Outcome, User};

static ANONYMOUS: LazyLock<Arc<User>> = LazyLock::new(|| Arc::new(User::anonymous()));

/// Authenticates every request as `system:anonymous`. Comes last, behind [`crate::FailOnError`].
pub struct Anonymous;

impl Authenticator for Anonymous {
    fn authenticate<'a>(&'a self, _: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        std::future::ready(Ok(Some(Authenticated::new(ANONYMOUS.clone())))).boxed()
    }
}

/// Authenticates requests for the listed paths as `system:anonymous`, and no other requests.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/anonymous/anonymous.go (v1.36.4).
pub struct AnonymousAt {
    /// The whole paths: `/healthz`.
    pub paths: Vec<String>,
}

impl Authenticator for AnonymousAt {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        if self.paths.iter().any(|path| path == credentials.path) {
            return Anonymous.authenticate(credentials);
        }
        std::future::ready(Ok(None)).boxed()
    }
}
