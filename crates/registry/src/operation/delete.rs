//! Removes an object, at once, after a while, or when its finalizers agree.

use std::borrow::Cow;
use std::sync::Arc;

use keelson_authz::Verdict;
use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Frozen, GroupKind, GroupResource, Object, Path};
use keelson_store::{Expect, Write};

use crate::admission::{self, Operation, Request};
use crate::commit::{Current, Outcome, Race, Step};
use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::lifecycle::finalizers;
use crate::live::{Live, Place};
use crate::options::DeleteOptions;
use crate::reserve;

/// What a delete gave.
pub struct Deleted {
    /// The object as it was last, or as it is while it waits.
    pub object: Arc<Frozen>,
    /// Whether it is gone.
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

/// Removes the object at `place`; plugins are told that it is the one at `told`.
pub(super) async fn remove(
    live: &Live,
    context: &Context,
    place: &Place,
    told: &Place,
    options: &DeleteOptions,
) -> Result<Deleted> {
    if let Some(warning) = live.resource.strategy.delete_warning(options) {
        context.warn(warning);
    }
    let mut race = Race::begin(live, place).await?;
    loop {
        match delete_once(context, &mut race, (place, told), options).await {
            Ok(Some(outcome)) => {
                reserve::let_go(live, context, &outcome).await;
                return Ok(Deleted { object: outcome.object, gone: outcome.removed });
            }
            Ok(None) => {}
            Err(error) => race.excuse(error).await?,
        }
    }
}

async fn delete_once(
    context: &Context,
    race: &mut Race<'_>,
    (place, told): (&Place, &Place),
    options: &DeleteOptions,
) -> Result<Option<Outcome>> {
    let live = race.live();
    let Some(current) = race.current() else { return Err(live.missing(place).await) };
    check_preconditions(live, place, current, options)?;
    let plan = decide(live, context, &current.object, options);
    for old in plan.judged(&current.object, context.dry_run) {
        let request = Request::new(Operation::Delete, live, context, told);
        let request = Request { old: Some(old), grace_seconds: plan.grace_seconds, ..request };
        admission::mutate(&request, None).await?;
        admission::validate(&request, None).await?;
    }
    race.write(context, plan.step).await
}

/// The option that asks for [`delete_unreadable`].
pub const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The verb that [`delete_unreadable`] needs beside `delete`: what depends on the object cannot be known.
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

/// How an object goes.
struct Plan {
    step: Step<'static>,
    way: Way,
    /// How long it may take, as far as anybody says.
    grace_seconds: Option<i64>,
}

/// The way to the last step. Upstream writes twice on all but the first, and has both writes judged; we write once.
enum Way {
    /// It is removed as it is.
    Straight,
    /// It is told to go before.
    Marked,
    /// It is relieved of finalizers before.
    Emptied,
}

impl Plan {
    /// What is shown to those who judge, in order. Who asks again for what is under way changes nothing.
    ///
    /// Upstream: apiserver/pkg/registry/generic/registry/store.go, Delete (v1.36.4), where its cache is up to date.
    fn judged<'p>(&'p self, old: &'p Object, dry_run: DryRun) -> impl Iterator<Item = &'p Object> {
        let (first, second) = match (&self.step, &self.way) {
            (Step::Keep, _) => (None, None),
            (Step::Remove(marked), Way::Marked) => (Some(old), Some(marked.as_ref())),
            (Step::Remove(_), Way::Emptied) => (Some(old), Some(old)),
            _ => (Some(old), None),
        };
        first.into_iter().chain(second.filter(|_| dry_run == DryRun::Off))
    }
}

/// Upstream: apiserver/pkg/registry/rest/delete.go, BeforeDelete, and generic/registry/store.go, Delete (v1.36.4).
fn decide(live: &Live, context: &Context, old: &Object, options: &DeleteOptions) -> Plan {
    let asked = options.grace_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let mut object = old.clone();
    let graceful = match grace(live, context, &mut object, asked) {
        Grace::Pending => return Plan { step: Step::Keep, way: Way::Straight, grace_seconds: asked },
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
    let way = match (graceful, old.meta.finalizers.is_empty()) {
        (true, _) => Way::Marked,
        (false, true) => Way::Straight,
        (false, false) => Way::Emptied,
    };
    let step =
        if pending || waits { Step::Put(Cow::Owned(object)) } else { Step::Remove(Cow::Owned(object)) };
    Plan { step, way, grace_seconds }
}

enum Grace {
    /// The kind goes at once, or is due.
    None,
    /// The object was told to go and gets some time.
    Waits,
    /// It was told before, and has that time still.
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
    // Only shorter: back by what it had, forward by what it gets, never into the past.
    let now = context.now();
    let shortened = Time::from_unix(deadline.unix() - had + asked);
    meta.deletion_timestamp = Some(shortened.max(now));
    meta.deletion_grace_period_seconds = Some(if shortened < now && asked != 0 { 1 } else { asked });
    Grace::Waits
}

/// An object that waits for its finalizers only.
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
