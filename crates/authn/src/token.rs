//! Tokens: credentials that are one piece of text.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{AuthError, Authenticated, Outcome};

/// Authenticates tokens: maps a token to a user.
///
/// `Ok(None)` means that the token is not of the kind this authenticator reads. An error means that it is of
/// this kind and invalid.
pub trait TokenAuthenticator: Send + Sync {
    /// Checks a token, which must be valid for one of `audiences`; if `audiences` is empty, any audience is
    /// accepted.
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome>;
}

/// Tries each authenticator until one knows the token. Errors are returned only if no authenticator knows it.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/union/union.go (v1.36.4).
pub struct TokenUnion(Vec<Arc<dyn TokenAuthenticator>>);

impl TokenUnion {
    /// Asks in this order.
    #[must_use]
    pub fn new(authenticators: Vec<Arc<dyn TokenAuthenticator>>) -> TokenUnion {
        TokenUnion(authenticators)
    }
}

impl TokenAuthenticator for TokenUnion {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        async move {
            let mut errors = Vec::new();
            for authenticator in &self.0 {
                match authenticator.authenticate_token(token, audiences).await {
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

/// Gives tokens without audiences the audiences of the server.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/authenticator/audagnostic.go (v1.36.4).
pub struct AudienceAgnostic {
    inner: Arc<dyn TokenAuthenticator>,
    good_for: Vec<String>,
}

impl AudienceAgnostic {
    /// The tokens of `inner` are good for these.
    #[must_use]
    pub fn new(inner: Arc<dyn TokenAuthenticator>, good_for: &[String]) -> AudienceAgnostic {
        AudienceAgnostic { inner, good_for: good_for.to_vec() }
    }
}

impl TokenAuthenticator for AudienceAgnostic {
    fn authenticate_token<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Outcome> {
        async move {
            if audiences.is_empty() {
                return self.inner.authenticate_token(token, audiences).await;
            }
            let common = intersection(&self.good_for, audiences);
            if common.is_empty() {
                return Ok(None);
            }
            let known = self.inner.authenticate_token(token, audiences).await?;
            Ok(known.map(|it| Authenticated { audiences: common, ..it }))
        }
        .boxed()
    }
}

/// The elements that are in both, in the order of the first.
pub(crate) fn intersection(one: &[String], other: &[String]) -> Vec<String> {
    one.iter().filter(|it| other.contains(it)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::{AudienceAgnostic, TokenAuthenticator, TokenUnion};
    use crate::TokenFile;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|&it| it.to_owned()).collect()
    }

    #[track_caller]
    fn check(token: &str, audiences: &[&str], expected: Option<(&str, &[&str])>) {
        let file = |text| Arc::new(TokenFile::parse(text).expect("a token file"));
        let agnostic = AudienceAgnostic::new(file("a,jane,1\n"), &list(&["api", "other"]));
        let union = TokenUnion::new(vec![Arc::new(agnostic), file("b,joe,1\n")]);
        let wanted = list(audiences);
        let found = union.authenticate_token(token, &wanted).now_or_never().expect("nothing waits");
        let found = found.expect("no error").map(|it| (it.user.name.clone(), it.audiences));
        assert_eq!(found, expected.map(|(name, audiences)| (name.to_owned(), list(audiences))), "{token}");
    }

    #[test]
    fn tokens_without_audiences_are_good_for_those_of_the_server() {
        check("a", &[], Some(("jane", &[])));
        check("a", &["other", "third"], Some(("jane", &["other"])));
        check("a", &["third"], None);
        check("b", &["third"], Some(("joe", &[])));
        check("c", &[], None);
    }
}
