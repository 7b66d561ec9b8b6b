//! Guard: who may write what, beyond the right to write at all. Who gives rights away must have them.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::Context;
use crate::error::Result;
use crate::live::Live;

/// What is about to be written. Plugins have changed it already; the kind has not looked at it yet.
pub struct Write<'w> {
    /// By whom, and how.
    pub context: &'w Context,
    /// The namespace of the request.
    pub namespace: &'w str,
    /// The name in the address; empty where an object is posted.
    pub name: &'w str,
    /// What is to be there.
    pub object: &'w Object,
    /// What is there.
    pub old: Option<&'w Object>,
}

/// Refuses writes.
pub trait Guard: Send + Sync + 'static {
    /// Says why not.
    fn check<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>>;
}

/// Asks the guard of a resource, if it has one.
pub(crate) async fn ask(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.check(write).await,
        None => Ok(()),
    }
}
