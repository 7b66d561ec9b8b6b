//! System fields: the fields of the metadata that only the server sets.

use keelson_object::{Object, ObjectMeta};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::resource::{Resource, Scope};

/// Clears system fields that a client sent.
pub fn wipe(meta: &mut ObjectMeta) {
    meta.creation_timestamp = None;
    meta.uid = Default::default();
    meta.deletion_timestamp = None;
    meta.deletion_grace_period_seconds = None;
}

/// Sets the uid and creationTimestamp of a new object.
pub fn fill(context: &Context, meta: &mut ObjectMeta) {
    meta.creation_timestamp = Some(context.now());
    meta.uid = uuid::Uuid::new_v4().to_string().into();
}

/// Copies fields that an update cannot change from the old object.
///
/// Upstream: apiserver/pkg/registry/rest/update.go, BeforeUpdate (v1.36.4).
pub fn carry_over(meta: &mut ObjectMeta, old: &ObjectMeta) {
    if meta.uid.is_empty() {
        meta.uid = old.uid.clone();
    }
    if old.creation_timestamp.is_some() {
        meta.creation_timestamp = old.creation_timestamp;
    }
    if old.deletion_timestamp.is_some() {
        meta.deletion_timestamp = old.deletion_timestamp;
    }
    if meta.deletion_grace_period_seconds.is_none() {
        meta.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
    }
}

/// Sets the namespace of the object to that of the request; refuses an object with another namespace.
pub fn settle_namespace(resource: &Resource, namespace: &str, object: &mut Object) -> Result<()> {
    let expected = if resource.scope == Scope::Namespaced { namespace } else { "" };
    let meta = &mut object.meta;
    // The namespace of a cluster-scoped object is silently dropped, as upstream does.
    if meta.namespace.is_empty() || expected.is_empty() {
        meta.namespace = expected.into();
    }
    if meta.namespace == expected {
        return Ok(());
    }
    Err(Error::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request".to_owned(),
    ))
}
