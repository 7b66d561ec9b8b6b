//! Anonymous: everybody who presents nothing.

use std::sync::Arc;
use std::sync::LazyLock;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Authenticated, Authenticator, Credentials, Outcome, User};

static ANONYMOUS: LazyLock<Arc<User>> = LazyLock::new(|| Arc::new(User::anonymous()));

/// Takes everybody for `system:anonymous`. Comes last, behind [`crate::FailOnError`].
pub struct Anonymous;

impl Authenticator for Anonymous {
    fn authenticate<'a>(&'a self, _: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        std::future::ready(Ok(Some(Authenticated::new(ANONYMOUS.clone())))).boxed()
    }
}
