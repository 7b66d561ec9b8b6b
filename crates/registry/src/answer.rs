//! Answer: a resource of which nothing is stored, such as a review of somebody's access.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::Context;
use crate::error::Result;

/// Who answers what is posted to a resource.
pub trait Answer: Send + Sync + 'static {
    /// The answer to `body`, which was posted in `namespace` (empty for the cluster).
    fn answer<'a>(
        &'a self,
        context: &'a Context,
        namespace: &'a str,
        body: Object,
    ) -> BoxFuture<'a, Result<Object>>;
}
