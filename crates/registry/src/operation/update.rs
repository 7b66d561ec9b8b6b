//! Update and patch: a whole new object, or a function of the current one.

use std::sync::Arc;

use keelson_object::{FieldErrors, Frozen, Object};

use super::write::{self, Draft, ManagedFields, Proposal, Propose, WriteRequest};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::lifecycle::owners::{self, Seen};
use crate::live::{Live, Place};
use crate::optimistic_write::Current;
use crate::options::Part;

/// The text that clients look for after a conflict.
const OPTIMISTIC_LOCK: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// The result of an update.
pub struct Updated {
    /// The object as it is now.
    pub object: Arc<Frozen>,
    /// Whether the update created it.
    pub created: bool,
}

/// Replaces the object at `place` by `object`.
pub async fn update(
    live: &Live,
    context: &Context,
    place: &Place,
    part: Part,
    mut object: Object,
) -> Result<Updated> {
    check_address(place, &object)?;
    owners::once(context, &mut object.meta, Seen::InRequest);
    let request = WriteRequest { live, context, address: place, part };
    let written = write::write(request, Replacement { object }).await?;
    Ok(Updated { object: written.object, created: written.created })
}

/// Changes the object at `place` by `edit`, which is called again if another writer was faster.
pub async fn patch(
    live: &Live,
    context: &Context,
    place: &Place,
    part: Part,
    edit: impl FnMut(&Object) -> Result<Object>,
) -> Result<Updated> {
    let request = WriteRequest { live, context, address: place, part };
    let written = write::write(request, Edit { edit }).await?;
    Ok(Updated { object: written.object, created: written.created })
}

/// The body of an update.
struct Replacement {
    object: Object,
}

impl Propose for Replacement {
    fn propose(&mut self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<Proposal> {
        let WriteRequest { live, address, part, .. } = *request;
        let creates = live.resource.create_on_update && matches!(part, Part::Main | Part::Status);
        if current.is_none() && !creates {
            return Ok(Proposal::NotFound);
        }
        check_uid(live, address, &self.object, current.map(|it| &it.object))?;
        let mut object = self.object.clone();
        match current {
            Some(current) => check_version(live, address, current, &object)?,
            None => object.meta.resource_version = Default::default(),
        }
        Ok(Proposal::Put(Draft { object, managed_fields: ManagedFields::Tracked }))
    }
}

/// A patch: a function of the current object.
struct Edit<F> {
    edit: F,
}

impl<F: FnMut(&Object) -> Result<Object>> Propose for Edit<F> {
    fn propose(&mut self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<Proposal> {
        let WriteRequest { live, address, part, .. } = *request;
        let Some(current) = current else { return Ok(Proposal::NotFound) };
        let object = (self.edit)(&current.object)?;
        check_address(address, &object)?;
        // The uid in a scale identifies its object, as in an update. In other patches the uid is a change.
        if part == Part::Scale {
            check_uid(live, address, &object, Some(&current.object))?;
        }
        check_version(live, address, current, &object)?;
        Ok(Proposal::Put(Draft { object, managed_fields: ManagedFields::Tracked }))
    }
}

/// Checks that the name and the namespace in a body agree with the URL.
pub fn check_address(place: &Place, object: &Object) -> Result<()> {
    if object.meta.name.is_empty() {
        return Err(Error::BadRequest(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            place.name
        )));
    }
    if object.meta.name != place.name {
        return Err(Error::BadRequest(format!(
            "the name of the object ({}) does not match the name on the URL ({})",
            object.meta.name, place.name
        )));
    }
    if !object.meta.namespace.is_empty()
        && !place.namespace.is_empty()
        && object.meta.namespace != place.namespace
    {
        return Err(Error::BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Checks the uid in a body: it is a precondition.
///
/// Upstream: apiserver/pkg/storage/interfaces.go, Preconditions.Check, and errors.go, StorageError (v1.36.4).
fn check_uid(live: &Live, place: &Place, object: &Object, old: Option<&Object>) -> Result<()> {
    let there = old.map(|old| old.meta.uid.as_str()).unwrap_or_default();
    let meant = &object.meta.uid;
    if meant.is_empty() || meant == there {
        return Ok(());
    }
    let key = live.key(place)?;
    let reason = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: UID in precondition: {meant}, UID in object meta: {there}"
    );
    Err(live.conflict(&place.name, reason))
}

/// Checks the resourceVersion in a body: the client must have read the current object.
pub(super) fn check_version(live: &Live, place: &Place, current: &Current, object: &Object) -> Result<()> {
    let (meta, there) = (&object.meta, &current.object.meta);
    if meta.resource_version.is_empty() || meta.resource_version == "0" {
        if !live.resource.unconditional_update {
            let mut errors = FieldErrors::default();
            let at = keelson_object::Path::root("metadata.resourceVersion");
            errors.invalid(&at, 0, "must be specified for an update");
            // Upstream names the resource where the kind belongs.
            let group_resource = live.resource.group_resource();
            let kind =
                keelson_object::GroupKind { group: group_resource.group, kind: group_resource.resource };
            return Err(Error::Invalid { kind, name: place.name.to_string(), errors });
        }
        // Mutating admission sees an empty resourceVersion; it is filled in later.
        return Ok(());
    }
    if meta.resource_version.parse::<u64>().is_err() {
        return Err(Error::Unclassified(format!(
            "strconv.ParseUint: parsing {:?}: invalid syntax",
            meta.resource_version
        )));
    }
    if meta.resource_version != there.resource_version {
        return Err(live.conflict(&place.name, OPTIMISTIC_LOCK));
    }
    Ok(())
}
