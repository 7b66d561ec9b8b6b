//! Delete: an object is removed at once, after its grace period, or with its last finalizer.

use std::sync::Arc;

use keelson_authz::Verdict;
use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Frozen, GroupKind, GroupResource, Object, Path};
use keelson_store::{Expect, Write};

use super::write::{self, Proposal, Propose, WriteRequest};
use crate::admission::{self, Operation, Request};
use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::lifecycle::finalizers;
use crate::live::{Live, Place};
use crate::optimistic_write::{Current, Step};
use crate::options::{DeleteOptions, Part};

/// The result of a delete.
pub struct Deleted {
    /// The object as it was last, or as it is while it is terminating.
    pub object: Arc<Frozen>,
    /// Whether it is removed.
    pub gone: bool,
}

/// Removes the object at `place`.
pub async fn delete(
    live: &Live,
    context: &Context,
    place: &Place,
    options: &DeleteOptions,
) -> Result<Deleted> {
    if let Some(reason) = live.resource.strategy.protects(&place.name) {
        let (resource, name) = (live.resource.group_resource(), place.name.to_string());
        return Err(Error::Forbidden { resource, name, reason: reason.to_owned() });
    }
    remove(live, context, place, place, options).await
}

/// Removes the object at `place`. Admission sees the address `shown`.
pub(super) async fn remove(
    live: &Live,
    context: &Context,
    place: &Place,
    shown: &Place,
    options: &DeleteOptions,
) -> Result<Deleted> {
    if let Some(warning) = live.resource.strategy.delete_warning(options) {
        context.warn(warning);
    }
    let request = WriteRequest { live, context, address: place, part: Part::Main };
    let written = write::write(request, Removal { shown, options }).await?;
    Ok(Deleted { object: written.object, gone: written.removed })
}

struct Removal<'r> {
    shown: &'r Place,
    options: &'r DeleteOptions,
}

impl Propose for Removal<'_> {
    fn propose(&mut self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<Proposal> {
        let Some(current) = current else { return Ok(Proposal::NotFound) };
        check_preconditions(request.live, request.address, current, self.options)?;
        Ok(Proposal::Delete(decide(request, &current.object, self)))
    }
}

/// The option that asks for [`delete_unreadable`].
pub const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The verb that [`delete_unreadable`] needs in addition to `delete`.
const UNSAFE_DELETE: &str = "unsafe-delete-ignore-read-errors";

/// Removes what is stored at `place` and cannot be read: no hooks, no finalizers, no admission.
///
/// Upstream: apiserver/pkg/registry/generic/registry/corrupt_obj_deleter.go (v1.36.4).
pub async fn delete_unreadable(live: &Live, context: &Context, place: &Place) -> Result<()> {
    context.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "");
    authorize_unsafe_delete(&Request::new(Operation::Delete, live, context, place)).await?;
    let Some((revision, _)) = live.unreadable(place).await? else {
        let mut errors = FieldErrors::default();
        errors.invalid(
            &Path::root(IGNORE_READ_ERROR),
            true,
            "is exclusively used to delete corrupt object(s), try again by removing this option",
        );
        let GroupResource { group, resource } = live.resource.group_resource();
        return Err(Error::Invalid {
            kind: GroupKind { group, kind: resource },
            name: place.name.to_string(),
            errors,
        });
    };
    let store = &live.objects()?.store;
    store.commit(&live.key(place)?, Expect::Unchanged(revision), Write::Delete).await?;
    Ok(())
}

/// Upstream: apiserver/pkg/endpoints/handlers/delete.go, authorizeUnsafeDelete (v1.36.4).
async fn authorize_unsafe_delete(request: &Request<'_>) -> Result<()> {
    let verdict = request.context.authorize(UNSAFE_DELETE, request.target()).await;
    let reason = match verdict {
        Verdict { error: Some(error), .. } => {
            format!("error while checking permission for \"{UNSAFE_DELETE}\", {error}")
        }
        Verdict { decision, .. } if decision.is_allowed() => return Ok(()),
        Verdict { decision, .. } => {
            format!("not permitted to do \"{UNSAFE_DELETE}\", reason: {}", decision.reason())
        }
    };
    Err(request.forbidden(None, reason))
}

fn check_preconditions(live: &Live, place: &Place, current: &Current, options: &DeleteOptions) -> Result<()> {
    let meta = &current.object.meta;
    let conditions = &options.preconditions;
    if live.resource.strategy.has_own_delete() {
        let uid = conditions.uid.as_ref().map(|it| ("UID", it, &meta.uid));
        let version = conditions.resource_version.as_ref();
        let version = version.map(|it| ("ResourceVersion", it, &meta.resource_version));
        let failed = uid.into_iter().chain(version).find(|(_, asked, found)| asked != found);
        return failed.map_or(Ok(()), |(what, asked, found)| {
            let reason = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}"
            );
            Err(live.conflict(&place.name, reason))
        });
    }
    if let Some(uid) = &conditions.uid
        && *uid != meta.uid
    {
        let reason = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). \
             The object might have been deleted and then recreated",
            meta.uid
        );
        return Err(conflict(live, place, reason));
    }
    if let Some(version) = &conditions.resource_version
        && *version != meta.resource_version
    {
        let reason = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). \
             The object might have been modified",
            meta.resource_version
        );
        return Err(conflict(live, place, reason));
    }
    Ok(())
}

/// Upstream names the kind here, where it names the resource everywhere else.
fn conflict(live: &Live, place: &Place, reason: String) -> Error {
    let resource = GroupResource { group: live.resource.group.clone(), resource: live.resource.kind.clone() };
    Error::Conflict { resource, name: place.name.to_string(), reason }
}

/// How an object is deleted.
pub(super) struct Deletion {
    pub(super) step: Step,
    /// The writes with which upstream does the same.
    writes: Writes,
    grace_seconds: Option<i64>,
    /// The address that admission sees.
    shown: Place,
}

/// The writes with which upstream deletes an object. We write once, but admission runs for each of them.
enum Writes {
    /// The removal.
    Remove,
    /// The deletionTimestamp, then the removal.
    MarkThenRemove,
    /// The finalizers, then the removal.
    FinalizeThenRemove,
}

impl Deletion {
    /// Runs admission for each of upstream's writes. A repeated delete changes nothing, and is not admitted again.
    ///
    /// Upstream: apiserver/pkg/registry/generic/registry/store.go, Delete (v1.36.4), where its cache is up to date.
    pub(super) async fn admit(&self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<()> {
        let WriteRequest { live, context, .. } = *request;
        let Some(Current { object: old, .. }) = current else { return Ok(()) };
        let (first, second) = match (&self.step, &self.writes) {
            (Step::Keep, _) => (None, None),
            (Step::Remove(marked), Writes::MarkThenRemove) => (Some(old), Some(marked)),
            (Step::Remove(_), Writes::FinalizeThenRemove) => (Some(old), Some(old)),
            _ => (Some(old), None),
        };
        for old in first.into_iter().chain(second.filter(|_| context.dry_run == DryRun::Off)) {
            let request = Request::new(Operation::Delete, live, context, &self.shown);
            let request = Request { old: Some(old), grace_seconds: self.grace_seconds, ..request };
            admission::mutate(&request, None).await?;
            admission::validate(&request, None).await?;
        }
        Ok(())
    }
}

/// Upstream: apiserver/pkg/registry/rest/delete.go, BeforeDelete, and generic/registry/store.go, Delete (v1.36.4).
fn decide(request: &WriteRequest<'_>, old: &Object, removal: &Removal<'_>) -> Deletion {
    let WriteRequest { live, context, .. } = *request;
    let (options, shown) = (removal.options, removal.shown.clone());
    let asked = options.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let mut object = old.clone();
    let strategy = &live.resource.strategy;
    if strategy.has_own_delete() && old.meta.deletion_timestamp.is_none() {
        strategy.mark_deleted(&mut object, context.now());
        live.resource.canonicalize(&mut object);
        return Deletion { step: Step::Put(object), writes: Writes::Remove, grace_seconds: asked, shown };
    }
    let graceful = match grace(live, context, &mut object, asked) {
        Grace::Pending => {
            return Deletion { step: Step::Keep, writes: Writes::Remove, grace_seconds: asked, shown };
        }
        Grace::Waits => true,
        Grace::None => false,
    };
    let is_told = graceful && old.meta.deletion_timestamp.is_none();
    let grace_seconds = if is_told { object.meta.deletion_grace_period_seconds } else { asked };
    let usual = live.resource.strategy.propagation();
    object.meta.finalizers = finalizers::for_delete(&object.meta, options, usual);
    let pending = !object.meta.finalizers.is_empty() || !live.resource.strategy.may_go(&object);
    if !graceful && pending {
        mark(&mut object, context.now());
    }
    if pending {
        live.resource.strategy.begin_delete(&mut object);
        live.resource.canonicalize(&mut object);
    }
    let waits = graceful && object.meta.deletion_grace_period_seconds.unwrap_or_default() > 0;
    let writes = match (graceful, old.meta.finalizers.is_empty()) {
        (true, _) => Writes::MarkThenRemove,
        (false, true) => Writes::Remove,
        (false, false) => Writes::FinalizeThenRemove,
    };
    let step = if pending || waits { Step::Put(object) } else { Step::Remove(object) };
    Deletion { step, writes, grace_seconds, shown }
}

enum Grace {
    /// The kind has no grace period, or it is over.
    None,
    /// The grace period begins, or becomes shorter.
    Waits,
    /// The grace period began with an earlier delete, and goes on.
    Pending,
}

fn grace(live: &Live, context: &Context, object: &mut Object, asked: Option<i64>) -> Grace {
    let Some(given) = live.resource.strategy.grace_seconds(object, asked) else { return Grace::None };
    let meta = &mut object.meta;
    let Some(deadline) = meta.deletion_timestamp else {
        meta.deletion_timestamp = Some(Time::from_unix(context.now().unix().saturating_add(given)));
        meta.deletion_grace_period_seconds = Some(given);
        if meta.generation > 0 {
            meta.generation += 1;
        }
        return Grace::Waits;
    };
    let had = meta.deletion_grace_period_seconds.unwrap_or_default();
    if had == 0 {
        return Grace::None;
    }
    let Some(asked) = asked else { return Grace::Pending };
    if asked >= had {
        return Grace::Pending;
    }
    // A grace period only becomes shorter, and does not end in the past.
    let now = context.now();
    let shortened = Time::from_unix(deadline.unix() - had + asked);
    meta.deletion_timestamp = Some(shortened.max(now));
    meta.deletion_grace_period_seconds = Some(if shortened < now && asked != 0 { 1 } else { asked });
    Grace::Waits
}

/// Marks an object that waits for its finalizers as terminating.
fn mark(object: &mut Object, now: Time) {
    let meta = &mut object.meta;
    if meta.deletion_timestamp.is_none() && meta.generation > 0 {
        meta.generation += 1;
    }
    if meta.deletion_timestamp.is_none_or(|then| then > now) {
        meta.deletion_timestamp = Some(now);
    }
    meta.deletion_grace_period_seconds = Some(0);
}
