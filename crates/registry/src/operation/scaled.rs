//! Write to a scale, as admission plugins see it: one scale replaces another.
//!
//! Upstream: pkg/registry/apps/deployment/storage/storage.go, scaleUpdatedObjectInfo and toScaleUpdateValidation
//! (v1.36.4).

use keelson_object::{Object, Value};

use crate::admission::{self, Request, Rounds};
use crate::error::Result;
use crate::lifecycle::field_managers;
use crate::live::Live;
use crate::resource::Scale;
use crate::scale;

/// Lets plugins change the scale of `object`, which is about to be written.
pub(super) async fn mutate(
    live: &Live,
    request: &Request<'_>,
    at: &Scale,
    object: &mut Object,
) -> Result<()> {
    let of = |object: &Object| field_managers::scale(live, request.context, object, at);
    let (old, mut new) = (request.old.map(of).transpose()?, of(object)?);
    let now = request.context.now().to_string();
    for entry in &mut new.meta.managed_fields {
        // The object does not store when its scale was written; plugins see the current time.
        if let Value::Map(entry) = entry
            && !entry.contains("time")
        {
            entry.set("time", now.as_str());
        }
    }
    admission::mutate(&about(request, old.as_ref()), Some(&mut new)).await?;
    let managers = std::mem::take(&mut object.meta.managed_fields);
    *object = scale::apply(object, &new, at)?;
    object.meta.managed_fields = managers;
    Ok(())
}

/// Lets plugins refuse the scale that `object` would have.
pub(super) async fn validate(request: &Request<'_>, at: &Scale, object: &Object) -> Result<()> {
    let old = request.old.map(|it| scale::of(it, at));
    admission::validate(&about(request, old.as_ref()), Some(&scale::of(object, at))).await
}

fn about<'r>(request: &Request<'r>, old: Option<&'r Object>) -> Request<'r> {
    Request {
        operation: request.operation,
        resource: request.resource,
        subresource: request.subresource,
        place: request.place,
        context: request.context,
        old,
        grace_seconds: None,
        rounds: Rounds::default(),
    }
}
