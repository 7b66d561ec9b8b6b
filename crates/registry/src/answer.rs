//! Answer: a resource of which nothing is stored, such as SubjectAccessReview.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::Context;
use crate::error::Result;

/// Answers a POST to a resource of which nothing is stored.
pub trait Answer: Send + Sync + 'static {
    /// The answer to `body`, which was posted in `namespace` (empty for the cluster).
    fn answer<'a>(
        &'a self,
        context: &'a Context,
        namespace: &'a str,
        body: Object,
    ) -> BoxFuture<'a, Result<Object>>;
}
