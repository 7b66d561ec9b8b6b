//! Guard: who may write what, beyond the right to write at all. Who gives rights away must have them.

use std::future::ready;

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::Context;
use crate::error::Result;
use crate::live::Live;
use crate::options::Part;

/// What is about to be written. Plugins have changed it already.
pub struct Write<'w> {
    /// By whom, and how.
    pub context: &'w Context,
    /// The namespace of the request.
    pub namespace: &'w str,
    /// The name in the address; empty where an object is posted.
    pub name: &'w str,
    /// Which part of the object it is about.
    pub part: Part,
    /// What is to be there.
    pub object: &'w Object,
    /// What is there.
    pub old: Option<&'w Object>,
}

/// Refuses writes.
pub trait Guard: Send + Sync + 'static {
    /// Says why not, before the kind has looked at the object.
    fn check<'g>(&'g self, _write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        Box::pin(ready(Ok(())))
    }

    /// Says why not to a change that is right in itself: the object is as it would be stored.
    fn confirm<'g>(&'g self, _write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        Box::pin(ready(Ok(())))
    }
}

/// Asks the guard of a resource, if it has one, before the kind is asked.
pub(crate) async fn check(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.check(write).await,
        None => Ok(()),
    }
}

/// Asks the guard of a resource, if it has one, after the kind was asked.
pub(crate) async fn confirm(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.confirm(write).await,
        None => Ok(()),
    }
}
