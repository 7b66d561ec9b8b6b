//! Changes an object: by a whole new one, or by a function of the old one.

use std::borrow::Cow;
use std::sync::Arc;

use keelson_object::{FieldErrors, Frozen, Object};

use crate::admission::{self, Operation, Request};
use crate::commit::{Current, Race, Step};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::guard::{self, Write};
use crate::lifecycle::owners::{self, Seen};
use crate::lifecycle::{field_managers, meta_rules, system_fields};
use crate::live::{Live, Place};
use crate::options::Part;
use crate::reserve;
use crate::resource::Resource;

use super::create::{self, Owners};
use super::create_permission::CreatePermission;
use super::scaled;

/// The words that clients look for when they lost a race.
const OPTIMISTIC_LOCK: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// What an update gave.
pub struct Updated {
    /// The object as it is now.
    pub object: Arc<Frozen>,
    /// Whether it was not there before.
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
    let rewrite = |old: Option<&Object>| check_uid(live, place, &object, old).map(|()| object.clone());
    change(live, context, place, part, rewrite).await
}

/// Changes the object at `place` by `edit`, which is called again when somebody else was faster.
pub async fn patch(
    live: &Live,
    context: &Context,
    place: &Place,
    part: Part,
    mut edit: impl FnMut(&Object) -> Result<Object>,
) -> Result<Updated> {
    let rewrite = |old: Option<&Object>| match old {
        Some(old) => {
            let object = edit(old)?;
            check_address(place, &object)?;
            // A scale says which object is meant, as a whole new object does; in other patches a uid is a change.
            if part == Part::Scale {
                check_uid(live, place, &object, Some(old))?;
            }
            Ok(object)
        }
        None => Err(live.not_found(&place.name)),
    };
    change(live, context, place, part, rewrite).await
}

async fn change(
    live: &Live,
    context: &Context,
    place: &Place,
    part: Part,
    mut rewrite: impl FnMut(Option<&Object>) -> Result<Object>,
) -> Result<Updated> {
    let mut race = Race::begin(live, place).await?.managers_may_go();
    let permission = CreatePermission::default();
    loop {
        match change_once(context, &mut race, (place, part), &permission, &mut rewrite).await {
            Ok(Some(updated)) => return Ok(updated),
            Ok(None) => {}
            Err(error) => race.excuse(error).await?,
        }
    }
}

async fn change_once(
    context: &Context,
    race: &mut Race<'_>,
    (place, part): (&Place, Part),
    permission: &CreatePermission,
    rewrite: &mut impl FnMut(Option<&Object>) -> Result<Object>,
) -> Result<Option<Updated>> {
    let live = race.live();
    let object = match race.current() {
        Some(current) => {
            let object = rewrite(Some(&current.object))?;
            check_version(live, place, current, &object)?;
            object
        }
        None if live.resource.create_on_update && matches!(part, Part::Main | Part::Status) => {
            let mut object = rewrite(None)?;
            object.meta.resource_version = Default::default();
            object
        }
        None => return Err(live.missing(place).await),
    };
    let draft = Draft { object, owners: Owners::Followed };
    attempt(context, race, (place, part), permission, draft).await
}

/// What somebody wants a place to look like.
pub(super) struct Draft {
    pub(super) object: Object,
    pub(super) owners: Owners,
}

/// Makes a draft ready and writes it, unless somebody else was faster.
pub(super) async fn attempt(
    context: &Context,
    race: &mut Race<'_>,
    (place, part): (&Place, Part),
    permission: &CreatePermission,
    draft: Draft,
) -> Result<Option<Updated>> {
    let live = race.live();
    let Draft { mut object, owners } = draft;
    let old = race.current().map(|it| &it.object);
    match old {
        Some(old) => begin(live, context, part, &mut object, (old, owners))?,
        None => create::begin(live, context, (&place.namespace, part), &mut object, owners)?,
    }
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let subresource = admission::subresource(part);
    let request = Request { subresource, old, ..Request::new(operation, live, context, place) };
    match (part, &live.resource.scale) {
        (Part::Scale, Some(at)) => scaled::mutate(live, &request, at, &mut object).await?,
        _ => admission::mutate(&request, Some(&mut object)).await?,
    }
    match old {
        Some(old) if matches!(object.meta.resource_version.as_str(), "" | "0") => {
            object.meta.resource_version = old.meta.resource_version.clone();
        }
        Some(_) => {}
        None => system_fields::fill(context, &mut object.meta),
    }
    guard::check(live, &write_of(&request, part, &object)).await?;
    let held = match part {
        Part::Main | Part::Scale => reserve::take(live, context, &mut object, old).await?,
        Part::Status | Part::Named(_) => None,
    };
    let done = match judge(live, &request, part, permission, object).await {
        Ok(step) => race.write(context, step).await,
        Err(error) => Err(error),
    };
    reserve::settle(held, matches!(done, Ok(Some(_)))).await;
    let Some(outcome) = done? else { return Ok(None) };
    reserve::let_go(live, context, &outcome).await;
    Ok(Some(Updated { object: outcome.object, created: outcome.created }))
}

/// What is to be done with an object, once everybody has agreed to it.
async fn judge(
    live: &Live,
    request: &Request<'_>,
    part: Part,
    permission: &CreatePermission,
    mut object: Object,
) -> Result<Step<'static>> {
    match request.old {
        Some(old) => ready(live, request, part, &mut object, old).await?,
        None => create::ready(live, request.context, &mut object)?,
    }
    guard::confirm(live, &write_of(request, part, &object)).await?;
    if request.old.is_none() {
        permission.check(request).await?;
    }
    match (part, &live.resource.scale) {
        (Part::Scale, Some(at)) => scaled::validate(request, at, &object).await?,
        _ => admission::validate(request, Some(&object)).await?,
    }
    Ok(match request.old {
        Some(old) => step(live, object, old),
        None => Step::Put(Cow::Owned(object)),
    })
}

fn write_of<'w>(request: &'w Request<'_>, part: Part, object: &'w Object) -> Write<'w> {
    let Request { context, place, old, .. } = *request;
    Write { context, namespace: &place.namespace, name: &place.name, part, object, old }
}

/// What a body says of its place must agree with the address.
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

/// Whoever names a uid means that object and no other, not even a new one.
///
/// Upstream: apiserver/pkg/storage/interfaces.go, Preconditions.Check, and errors.go, StorageError (v1.36.4).
fn check_uid(live: &Live, place: &Place, object: &Object, old: Option<&Object>) -> Result<()> {
    let there = old.map(|old| old.meta.uid.as_str()).unwrap_or_default();
    let meant = &object.meta.uid;
    if meant.is_empty() || meant == there || (old.is_none() && !live.resource.create_on_update) {
        return Ok(());
    }
    let key = live.key(place)?;
    let reason = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition \
         failed: UID in precondition: {meant}, UID in object meta: {there}"
    );
    Err(live.conflict(&place.name, reason))
}

/// Optimistic concurrency: what was read must be what is there.
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
        // Who changes objects sees that none was named; it is filled in after that.
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

/// Says of a changed object whose it is: what comes after this is nobody's wish.
fn begin(
    live: &Live,
    context: &Context,
    part: Part,
    object: &mut Object,
    (old, owners): (&Object, Owners),
) -> Result<()> {
    let resource = &live.resource;
    object.kind = old.kind.clone();
    object.api_version = old.api_version.clone();
    system_fields::settle_namespace(resource, &old.meta.namespace, object)?;
    object.meta.generation = old.meta.generation;
    match owners {
        Owners::Followed => field_managers::follow(live, context, part, object, Some(old)),
        Owners::Known(entries) => object.meta.managed_fields = entries,
    }
    // Whether something is empty or not there has told who owns it; from here on it is the same.
    resource.arrange(object);
    Ok(())
}

/// Brings a changed object into the state in which it is stored, or says what is wrong with it.
///
/// Upstream: apiserver/pkg/registry/rest/update.go, BeforeUpdate (v1.36.4).
async fn ready(
    live: &Live,
    request: &Request<'_>,
    part: Part,
    object: &mut Object,
    old: &Object,
) -> Result<()> {
    let (context, resource, strategy) = (request.context, &live.resource, &live.resource.strategy);
    match part {
        Part::Main | Part::Scale => strategy.prepare_update(context, object, old),
        Part::Status => strategy.prepare_status_update(context, object, old),
        Part::Named(part) => strategy.prepare_part_update(context, part, object, old),
    }
    system_fields::carry_over(&mut object.meta, &old.meta);
    let mut errors = FieldErrors::default();
    meta_rules::check(&object.meta, resource.scope, strategy.name_rule(), &mut errors);
    meta_rules::check_update(&object.meta, &old.meta, &mut errors);
    if resource.owned_finalizers {
        meta_rules::check_finalizer_owners(&object.meta, &mut errors);
    }
    guard::judge(live, &write_of(request, part, object), &mut errors).await;
    match part {
        Part::Main | Part::Scale => strategy.validate_update(context, object, old, &mut errors),
        Part::Status => strategy.validate_status_update(context, object, old, &mut errors),
        Part::Named(part) => strategy.validate_part_update(part, object, old, &mut errors),
    }
    refuse_if_any(resource, &object.meta.name, errors)?;
    // Of a part only what it is about: what is wrong with the rest was said before.
    let warnings = match part {
        Part::Main | Part::Scale => resource.warnings(object, Some(old)),
        Part::Status => strategy.status_warnings(object),
        Part::Named(_) => Vec::new(),
    };
    warnings.into_iter().for_each(|warning| context.warn(warning));
    resource.canonicalize(object);
    field_managers::keep_times(object, old);
    Ok(())
}

/// An object that is being deleted goes with the last thing that held it.
fn step(live: &Live, object: Object, old: &Object) -> Step<'static> {
    let waits = object.meta.deletion_grace_period_seconds.unwrap_or_default() > 0;
    let free = |it: &Object| it.meta.finalizers.is_empty() && live.resource.strategy.may_go(it);
    if object.meta.is_being_deleted() && !waits && free(&object) && !free(old) {
        return Step::Remove(Cow::Owned(object));
    }
    Step::Put(Cow::Owned(object))
}

pub(super) fn refuse_if_any(resource: &Resource, name: &str, errors: FieldErrors) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Error::Invalid { kind: resource.group_kind(), name: name.to_owned(), errors })
}
