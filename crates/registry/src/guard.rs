//! Guard: permissions that a write needs beyond the verb of its request, such as `escalate`, `bind` and `sign`.
//!
//! A guard has three moments, because upstream checks at three: before the kind prepares the object (the answer is 403),
//! together with validation (the answer is 422 with all errors), and after validation of an object that is valid.

use std::future::ready;

use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, Object};

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

    /// Adds missing permissions to the errors of a change, ahead of what the kind finds wrong with it. The object is
    /// prepared, but not validated.
    fn judge<'g>(&'g self, _write: &'g Write<'g>, _errors: &'g mut FieldErrors) -> BoxFuture<'g, ()> {
        Box::pin(ready(()))
    }

    /// Says why not to an object that is valid, be it new or changed: it is as it would be stored.
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

/// Lets the guard of a resource, if it has one, add to the errors of a change before the kind does.
pub(crate) async fn judge(live: &Live, write: &Write<'_>, errors: &mut FieldErrors) {
    if let Some(guard) = &live.resource.guard {
        guard.judge(write, errors).await;
    }
}

/// Asks the guard of a resource, if it has one, about a valid object.
pub(crate) async fn confirm(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.confirm(write).await,
        None => Ok(()),
    }
}
