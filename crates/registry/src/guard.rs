//! Guard: permissions that a write needs beyond the verb of its request, such as `escalate`, `bind` and `sign`.
//!
//! A guard is called three times, because upstream checks three times: before the kind prepares the object
//! (the response is 403), together with validation (the response is 422 with all errors), and after
//! validation of an object that is valid.

use std::future::ready;

use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, Object};

use crate::context::Context;
use crate::error::Result;
use crate::live::Live;
use crate::options::Part;

/// A write that is about to happen, after mutating admission.
pub struct Write<'w> {
    /// The user and the circumstances of the request.
    pub context: &'w Context,
    /// The namespace of the request.
    pub namespace: &'w str,
    /// The name in the URL; empty for a POST.
    pub name: &'w str,
    /// The part of the object that the request may change.
    pub part: Part,
    /// The new object.
    pub object: &'w Object,
    /// The current object.
    pub old: Option<&'w Object>,
}

/// Refuses writes.
pub trait Guard: Send + Sync + 'static {
    /// Refuses a write before the kind has prepared the object.
    fn check<'g>(&'g self, _write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        Box::pin(ready(Ok(())))
    }

    /// Adds missing permissions to the errors of an update, before the errors of the kind. The object is
    /// prepared, but not validated.
    fn judge<'g>(&'g self, _write: &'g Write<'g>, _errors: &'g mut FieldErrors) -> BoxFuture<'g, ()> {
        Box::pin(ready(()))
    }

    /// Refuses a write of a valid object, new or changed. The object is as it would be stored.
    fn confirm<'g>(&'g self, _write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        Box::pin(ready(Ok(())))
    }
}

/// Calls the guard of a resource, if it has one, before the kind prepares the object.
pub(crate) async fn check(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.check(write).await,
        None => Ok(()),
    }
}

/// Lets the guard of a resource, if it has one, add to the errors of an update before the kind does.
pub(crate) async fn judge(live: &Live, write: &Write<'_>, errors: &mut FieldErrors) {
    if let Some(guard) = &live.resource.guard {
        guard.judge(write, errors).await;
    }
}

/// Calls the guard of a resource, if it has one, for a valid object.
pub(crate) async fn confirm(live: &Live, write: &Write<'_>) -> Result<()> {
    match &live.resource.guard {
        Some(guard) => guard.confirm(write).await,
        None => Ok(()),
    }
}
