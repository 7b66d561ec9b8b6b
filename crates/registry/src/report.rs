//! Report: a resource whose objects are determined on every read, such as ComponentStatus.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use keelson_codec::stored;
use keelson_object::{Frozen, Object};

use crate::error::{Error, Result};

/// Determines the objects of a resource of which nothing is stored.
pub trait Report: Send + Sync + 'static {
    /// The objects as they are now, in the order of their names.
    fn report(&self) -> BoxFuture<'_, Vec<Object>>;
}

/// The objects of a report, as if they were stored.
pub(crate) async fn objects(report: &Arc<dyn Report>) -> Result<Vec<Arc<Frozen>>> {
    let freeze = |object: &Object| {
        let frozen = stored::decode(&stored::encode(object), 0, &[]);
        frozen.map(Arc::new).map_err(|error| Error::Bug(error.to_string()))
    };
    report.report().await.iter().map(freeze).collect()
}
