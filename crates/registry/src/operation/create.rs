//! Makes an object.

use std::borrow::Cow;
use std::sync::Arc;

use keelson_object::{FieldErrors, Frozen, Object, Value};

use crate::admission::{self, Operation, Request};
use crate::commit::{Race, Step};
use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::guard::{self, Write};
use crate::lifecycle::owners::{self, Seen};
use crate::lifecycle::{field_managers, meta_rules, naming, system_fields};
use crate::live::{Live, Place};
use crate::options::Part;
use crate::reserve;
use crate::strategy::NameRule;

/// Makes `object` in `namespace` (empty for cluster-scoped resources).
pub async fn create(
    live: &Live,
    context: &Context,
    namespace: &str,
    mut object: Object,
) -> Result<Arc<Frozen>> {
    owners::once(context, &mut object.meta, Seen::InRequest);
    // What is no number counts for nothing. A dry run does not come as far as the store, which objects.
    if context.dry_run == DryRun::Off
        && object.meta.resource_version.parse::<u64>().is_ok_and(|version| version != 0)
    {
        return Err(Error::Unclassified(
            "resourceVersion should not be set on objects to be created".to_owned(),
        ));
    }
    begin(live, context, (namespace, Part::Main), &mut object, Owners::Followed)?;
    let place = Place { namespace: object.meta.namespace.clone(), name: object.meta.name.clone() };
    let request = Request::new(Operation::Create, live, context, &place);
    admission::mutate(&request, Some(&mut object)).await?;
    // Who changes objects sees them before they are anybody's.
    system_fields::fill(context, &mut object.meta);
    let write = Write { context, namespace, name: "", part: Part::Main, object: &object, old: None };
    guard::check(live, &write).await?;
    if object.meta.name.is_empty() && !object.meta.generate_name.is_empty() {
        return create_with_generated_name(live, context, object).await;
    }
    create_named(live, context, object).await
}

async fn create_with_generated_name(live: &Live, context: &Context, object: Object) -> Result<Arc<Frozen>> {
    let mut last = String::new();
    for _ in 0..naming::ATTEMPTS {
        let mut attempt = object.clone();
        attempt.meta.name = naming::generate(&object.meta.generate_name);
        last = attempt.meta.name.to_string();
        match create_named(live, context, attempt).await {
            Err(Error::AlreadyExists { .. }) => {}
            done => return done,
        }
    }
    Err(Error::NoFreeName { resource: live.resource.group_resource(), name: last })
}

async fn create_named(live: &Live, context: &Context, mut object: Object) -> Result<Arc<Frozen>> {
    let held = reserve::take(live, context, &mut object, None).await?;
    let made = make(live, context, &mut object).await;
    reserve::settle(held, made.is_ok()).await;
    made
}

async fn make(live: &Live, context: &Context, object: &mut Object) -> Result<Arc<Frozen>> {
    ready(live, context, object)?;
    let place = Place { namespace: object.meta.namespace.clone(), name: object.meta.name.clone() };
    let namespace = &place.namespace;
    let write = Write { context, namespace, name: &place.name, part: Part::Main, object, old: None };
    guard::confirm(live, &write).await?;
    admission::validate(&Request::new(Operation::Create, live, context, &place), Some(&*object)).await?;
    let mut race = Race::for_new(live, &place)?.managers_may_go();
    loop {
        if let Some(current) = race.current() {
            return Err(Error::AlreadyExists {
                resource: live.resource.group_resource(),
                name: place.name.to_string(),
                being_deleted: current.object.meta.is_being_deleted(),
            });
        }
        if let Some(outcome) = race.write(context, Step::Put(Cow::Borrowed(&*object))).await? {
            return Ok(outcome.object);
        }
    }
}

/// Where the owners of fields come from.
pub(super) enum Owners {
    /// They follow from what is written.
    Followed,
    /// An apply has found them.
    Known(Vec<Value>),
}

/// Says of a new object whose it is: what comes after this is nobody's wish.
pub(super) fn begin(
    live: &Live,
    context: &Context,
    (namespace, part): (&str, Part),
    object: &mut Object,
    owners: Owners,
) -> Result<()> {
    let resource = &live.resource;
    if context.dry_run == DryRun::Off {
        object.meta.resource_version = Default::default();
    }
    system_fields::wipe(&mut object.meta);
    system_fields::settle_namespace(resource, namespace, object)?;
    match owners {
        Owners::Followed => field_managers::follow(live, context, part, object, None),
        Owners::Known(entries) => object.meta.managed_fields = entries,
    }
    // Whether something is empty or not there has told who owns it; from here on it is the same.
    resource.arrange(object);
    Ok(())
}

/// Brings a new object into the state in which it is stored, or says what is wrong with it.
///
/// Upstream: apiserver/pkg/registry/rest/create.go, BeforeCreate (v1.36.4).
pub(super) fn ready(live: &Live, context: &Context, object: &mut Object) -> Result<()> {
    let resource = &live.resource;
    resource.strategy.prepare_create(context, object);
    let mut errors = FieldErrors::default();
    meta_rules::check(&object.meta, resource.scope, resource.strategy.name_rule(), &mut errors);
    if resource.owned_finalizers {
        meta_rules::check_finalizer_owners(&object.meta, &mut errors);
    }
    resource.strategy.validate(context, object, &mut errors);
    if errors.is_empty() && resource.strategy.name_rule() == NameRule::PathSegmentLast {
        meta_rules::check_path(&object.meta, &mut errors);
    }
    super::update::refuse_if_any(resource, &object.meta.name, errors)?;
    resource.warnings(object, None).into_iter().for_each(|warning| context.warn(warning));
    resource.canonicalize(object);
    Ok(())
}
