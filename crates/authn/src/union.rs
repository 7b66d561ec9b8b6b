//! Asking several authenticators in order.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{AuthError, Authenticator, Credentials, Outcome};

/// Tries each authenticator until one knows the client. Errors are returned only if no authenticator knows
/// it.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/union/union.go (v1.36.4).
pub struct Union(Vec<Arc<dyn Authenticator>>);

impl Union {
    /// Asks in this order.
    #[must_use]
    pub fn new(authenticators: Vec<Arc<dyn Authenticator>>) -> Union {
        Union(authenticators)
    }
}

impl Authenticator for Union {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        async move {
            let mut errors = Vec::new();
            for authenticator in &self.0 {
                match authenticator.authenticate(credentials).await {
                    Ok(Some(authenticated)) => return Ok(Some(authenticated)),
                    Ok(None) => (),
                    Err(error) => errors.push(error),
                }
            }
            AuthError::all(errors).map_or(Ok(None), Err)
        }
        .boxed()
    }
}

/// The first result or the first error ends the search.
///
/// It stands between real authenticators and [`crate::Anonymous`]: a client with bad credentials is not
/// anonymous.
pub struct FailOnError(Vec<Arc<dyn Authenticator>>);

impl FailOnError {
    /// Asks in this order.
    #[must_use]
    pub fn new(authenticators: Vec<Arc<dyn Authenticator>>) -> FailOnError {
        FailOnError(authenticators)
    }
}

impl Authenticator for FailOnError {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        async move {
            for authenticator in &self.0 {
                if let Some(authenticated) = authenticator.authenticate(credentials).await? {
                    return Ok(Some(authenticated));
                }
            }
            Ok(None)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use http::HeaderMap;

    use super::{FailOnError, Union};
    use crate::{Anonymous, AuthError, Authenticated, Authenticator, Credentials, Outcome, User};

    /// Answers always the same.
    struct Fixed(Outcome);

    impl Authenticator for Fixed {
        fn authenticate<'a>(&'a self, _: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
            std::future::ready(self.0.clone()).boxed()
        }
    }

    /// `pass`, `bad`, `crash` or the name of a user.
    fn fixed(word: &str) -> Arc<dyn Authenticator> {
        let outcome = match word {
            "pass" => Ok(None),
            "bad" => Err(AuthError::InvalidBearerToken),
            "crash" => Err(AuthError::Crashed),
            name => Ok(Some(Authenticated::new(Arc::new(User::new(name, &[]))))),
        };
        match word {
            "anonymous" => Arc::new(Anonymous),
            _ => Arc::new(Fixed(outcome)),
        }
    }

    fn ask(authenticator: &dyn Authenticator) -> String {
        let credentials =
            Credentials { peer_certificates: &[], headers: &HeaderMap::new(), path: "", audiences: &[] };
        match authenticator.authenticate(&credentials).now_or_never().expect("nothing waits") {
            Ok(Some(it)) => it.user.name.clone(),
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[track_caller]
    fn check(words: &str, union: &str, fail_on_error: &str) {
        let parts: Vec<_> = words.split_whitespace().map(fixed).collect();
        assert_eq!(ask(&Union::new(parts.clone())), union);
        assert_eq!(ask(&FailOnError::new(parts)), fail_on_error);
    }

    #[test]
    fn the_first_that_knows_the_client_answers() {
        check("", "nobody", "nobody");
        check("pass pass", "nobody", "nobody");
        check("pass jane joe", "jane", "jane");
    }

    #[test]
    fn errors_count_when_nobody_knows_the_client() {
        check("bad", "invalid bearer token", "invalid bearer token");
        check("bad jane", "jane", "invalid bearer token");
        check("bad pass bad", "invalid bearer token", "invalid bearer token");
        check(
            "bad pass crash",
            "[invalid bearer token, authentication failed unexpectedly]",
            "invalid bearer token",
        );
    }

    #[test]
    fn bad_credentials_are_not_anonymous() {
        check("pass anonymous", "system:anonymous", "system:anonymous");
        check("bad anonymous", "system:anonymous", "invalid bearer token");
    }
}
