//! Putting authenticated users into the group `system:authenticated`.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Authenticated, Authenticator, Credentials, Outcome, User};

/// Adds `system:authenticated` to the groups of every user that the inner authenticator knows.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/group/authenticated_group_adder.go (v1.36.4).
pub struct AuthenticatedGroup(Arc<dyn Authenticator>);

impl AuthenticatedGroup {
    /// Around `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Authenticator>) -> AuthenticatedGroup {
        AuthenticatedGroup(inner)
    }
}

impl Authenticator for AuthenticatedGroup {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        async move { Ok(self.0.authenticate(credentials).await?.map(with_group)) }.boxed()
    }
}

fn with_group(mut authenticated: Authenticated) -> Authenticated {
    let user = &authenticated.user;
    let has_one = user.is_in_group(User::ALL_AUTHENTICATED) || user.is_in_group(User::ALL_UNAUTHENTICATED);
    if user.name != User::ANONYMOUS && !has_one {
        Arc::make_mut(&mut authenticated.user).groups.push(User::ALL_AUTHENTICATED.to_owned());
    }
    authenticated
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::with_group;
    use crate::{Authenticated, User};

    #[track_caller]
    fn check(name: &str, groups: &[&str], expected: &[&str]) {
        let before = Authenticated::new(Arc::new(User::new(name, groups)));
        assert_eq!(with_group(before).user.groups, expected);
    }

    #[test]
    fn who_is_known_is_authenticated() {
        check("jane", &[], &["system:authenticated"]);
        check("jane", &["dev"], &["dev", "system:authenticated"]);
    }

    #[test]
    fn the_group_is_not_added_twice_or_against_the_credentials() {
        check("jane", &["system:authenticated", "dev"], &["system:authenticated", "dev"]);
        check("jane", &["system:unauthenticated"], &["system:unauthenticated"]);
        check("system:anonymous", &[], &[]);
    }
}
