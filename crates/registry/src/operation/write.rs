//! Write path: the stages of every create, update, patch, server-side apply and delete, in the order of upstream.
//!
//! ```text
//! propose ──> attribute ──> admit ──> authorize ──> reserve ──> validate ──> commit
//!    ^                                                                         │
//!    └───────────────────────── another writer was faster ─────────────────────┘
//! ```
//!
//! - propose: what the request wants to be stored. The operations differ in this stage only.
//! - attribute: namespace and managedFields. What later stages change is not attributed to the client.
//! - admit: mutating admission, then uid and creationTimestamp of a new object.
//! - authorize: permissions beyond the verb of the request, such as `escalate`.
//! - reserve: what the object gets from a shared range, such as IP addresses and ports.
//! - validate: the rules of the kind, validating admission.
//! - commit: the write to the store, if the object has not changed since it was read.

use keelson_object::{FieldErrors, GroupKind, Object, Path, Value};

use super::create_permission::CreatePermission;
use super::delete::Deletion;
use super::scaled;
use crate::admission::{self, Operation, Request};
use crate::context::{Context, DryRun};
use crate::error::{Error, Result};
use crate::guard::{self, Write};
use crate::lifecycle::field_managers::{Conversion, MAX_CONVERSIONS, Wanted};
use crate::lifecycle::{field_managers, meta_rules, naming, system_fields};
use crate::live::{Live, Place};
use crate::optimistic_write::{Current, OptimisticWrite, Outcome, Step};
use crate::options::Part;
use crate::reserve::{self, Held};
use crate::strategy::NameRule;

/// A request that writes one object.
#[derive(Clone, Copy)]
pub(super) struct WriteRequest<'w> {
    pub(super) live: &'w Live,
    pub(super) context: &'w Context,
    /// The namespace and the name in the URL. A create has no name there.
    pub(super) address: &'w Place,
    /// The part of the object that the request may change.
    pub(super) part: Part,
}

/// What a request wants to write.
pub(super) trait Propose {
    /// The change of `current`. It is called again when another writer was faster.
    fn propose(&mut self, request: &WriteRequest<'_>, current: Option<&Current>) -> Result<Proposal>;

    /// Receives the conversion that was asked for.
    fn learn(&mut self, _conversion: Conversion) {}
}

/// A change of the object at an address.
pub(super) enum Proposal {
    /// This object is new, or replaces the current one.
    Put(Draft),
    /// The current object is deleted.
    Delete(Deletion),
    /// The request needs an object, and there is none.
    NotFound,
    /// The proposal needs this conversion first.
    Convert(Wanted),
}

/// An object as the client wants it.
pub(super) struct Draft {
    pub(super) object: Object,
    pub(super) managed_fields: ManagedFields,
}

/// Where the managedFields of a draft come from.
pub(super) enum ManagedFields {
    /// They follow from the change.
    Tracked,
    /// A server-side apply has computed them.
    Applied(Vec<Value>),
}

/// Writes what `change` proposes to the object at the address of the request.
pub(super) async fn write(request: WriteRequest<'_>, mut change: impl Propose) -> Result<Outcome> {
    let mut target = OptimisticWrite::begin(request.live, request.address).await?;
    let permission = CreatePermission::default();
    loop {
        match attempt(&request, &mut target, &permission, &mut change).await {
            Ok(Some(outcome)) => {
                reserve::release_removed(request.live, request.context, &outcome).await;
                return in_hub(&request, outcome).await;
            }
            Ok(None) => {}
            Err(error) => target.retry_if_stale(error).await?,
        }
    }
}

/// Goes through all stages once; `None` if another writer was faster.
async fn attempt(
    request: &WriteRequest<'_>,
    target: &mut OptimisticWrite<'_>,
    permission: &CreatePermission,
    change: &mut impl Propose,
) -> Result<Option<Outcome>> {
    match propose(request, target.current(), change).await? {
        Proposal::Convert(_) => {
            Err(Error::Unclassified("managed fields need too many conversions".to_owned()))
        }
        Proposal::NotFound => Err(request.live.missing(request.address).await),
        Proposal::Delete(deletion) => {
            deletion.admit(request, target.current()).await?;
            target.commit(request.context, deletion.step).await
        }
        Proposal::Put(draft) => {
            target.drop_large_managed_fields(matches!(draft.managed_fields, ManagedFields::Tracked));
            let old = target.current().map(|it| &it.object);
            let stages = Stages { request, place: request.address, old };
            let mut object = stages.attribute(draft).await?;
            stages.admit(&mut object).await?;
            stages.authorize(&object).await?;
            store(request, target, Some(permission), object).await
        }
    }
}

/// The change of `current`, after the conversions that it needs.
async fn propose(
    request: &WriteRequest<'_>,
    current: Option<&Current>,
    change: &mut impl Propose,
) -> Result<Proposal> {
    for _ in 0..MAX_CONVERSIONS {
        match change.propose(request, current)? {
            Proposal::Convert(wanted) => change.learn(wanted.convert(request.live).await),
            proposal => return Ok(proposal),
        }
    }
    change.propose(request, current)
}

/// Creates the object of `draft`, which must not exist yet. The name may be generated.
pub(super) async fn create(request: WriteRequest<'_>, draft: Draft) -> Result<Outcome> {
    let (meta, namespace) = (&draft.object.meta, &request.address.namespace);
    let place = Place { namespace: namespace.clone(), name: meta.name.clone() };
    let stages = Stages { request: &request, place: &place, old: None };
    let mut object = stages.attribute(draft).await?;
    stages.admit(&mut object).await?;
    stages.authorize(&object).await?;
    if !object.meta.name.is_empty() || object.meta.generate_name.is_empty() {
        let created = create_named(&request, object).await?;
        return in_hub(&request, created).await;
    }
    let mut last = String::new();
    for _ in 0..naming::ATTEMPTS {
        let mut named = object.clone();
        named.meta.name = naming::generate(&object.meta.generate_name);
        last = named.meta.name.to_string();
        match create_named(&request, named).await {
            Err(Error::AlreadyExists { .. }) => {}
            done => return in_hub(&request, done?).await,
        }
    }
    Err(Error::NoFreeName { resource: request.live.resource.group_resource(), name: last })
}

/// The response shows the object in the version of the request.
async fn in_hub(request: &WriteRequest<'_>, outcome: Outcome) -> Result<Outcome> {
    let object = request.live.to_hub(outcome.object).await?;
    Ok(Outcome { object, ..outcome })
}

async fn create_named(request: &WriteRequest<'_>, object: Object) -> Result<Outcome> {
    let place = Place { namespace: object.meta.namespace.clone(), name: object.meta.name.clone() };
    let mut target = OptimisticWrite::for_new(request.live, &place)?;
    target.drop_large_managed_fields(true);
    if let Some(outcome) = store(request, &mut target, None, object).await? {
        return Ok(outcome);
    }
    Err(Error::AlreadyExists {
        resource: request.live.resource.group_resource(),
        being_deleted: target.current().is_some_and(|it| it.object.meta.is_being_deleted()),
        name: place.name.to_string(),
    })
}

/// The stages of an admitted object: reserve, validate, commit.
async fn store(
    request: &WriteRequest<'_>,
    target: &mut OptimisticWrite<'_>,
    permission: Option<&CreatePermission>,
    mut object: Object,
) -> Result<Option<Outcome>> {
    let old = target.current().map(|it| &it.object);
    let stages = Stages { request, place: target.place(), old };
    let held = stages.reserve(&mut object).await?;
    let written = match stages.validate(permission, object).await {
        Ok(step) => target.commit(request.context, step).await,
        Err(error) => Err(error),
    };
    reserve::settle(held, matches!(written, Ok(Some(_)))).await;
    written
}

/// The stages between the proposal and the commit.
struct Stages<'s> {
    request: &'s WriteRequest<'s>,
    /// Where the object is, or will be.
    place: &'s Place,
    old: Option<&'s Object>,
}

impl Stages<'_> {
    /// Sets what a client cannot choose, and managedFields.
    async fn attribute(&self, draft: Draft) -> Result<Object> {
        let WriteRequest { live, context, address, part } = *self.request;
        let Draft { mut object, managed_fields } = draft;
        match self.old {
            Some(old) => {
                if !live.resource.is_custom() {
                    object.kind = old.kind.clone();
                }
                object.api_version = old.api_version.clone();
                object.meta.generation = old.meta.generation;
                system_fields::settle_namespace(&live.resource, &old.meta.namespace, &mut object)?;
            }
            None => {
                if context.dry_run == DryRun::Off {
                    object.meta.resource_version = Default::default();
                }
                system_fields::wipe(&mut object.meta);
                system_fields::settle_namespace(&live.resource, &address.namespace, &mut object)?;
            }
        }
        match managed_fields {
            ManagedFields::Tracked => {
                field_managers::follow(live, context, part, &mut object, self.old).await;
            }
            ManagedFields::Applied(entries) => object.meta.managed_fields = entries,
        }
        // Field ownership distinguishes empty from absent; nothing after this does.
        live.resource.arrange(&mut object);
        Ok(object)
    }

    /// Runs mutating admission, then assigns what plugins must not see: uid and creationTimestamp of a new object.
    async fn admit(&self, object: &mut Object) -> Result<()> {
        let WriteRequest { live, context, part, .. } = *self.request;
        let request = self.admission();
        if let (None, Some(reason)) = (self.old, live.resource.create_refusal) {
            return Err(request.forbidden(Some(object), reason));
        }
        match (part, &live.resource.scale) {
            (Part::Scale, Some(at)) => scaled::mutate(live, &request, at, object).await?,
            _ => admission::mutate(&request, Some(object)).await?,
        }
        match self.old {
            Some(old) if matches!(object.meta.resource_version.as_str(), "" | "0") => {
                object.meta.resource_version = old.meta.resource_version.clone();
            }
            Some(_) => {}
            None => system_fields::fill(context, &mut object.meta),
        }
        Ok(())
    }

    async fn authorize(&self, object: &Object) -> Result<()> {
        guard::check(self.request.live, &self.guarded(object)).await
    }

    async fn reserve(&self, object: &mut Object) -> Result<Option<Held>> {
        let WriteRequest { live, context, part, .. } = *self.request;
        match part {
            Part::Main | Part::Scale => reserve::take(live, context, object, self.old).await,
            Part::Status | Part::Named(_) => Ok(None),
        }
    }

    /// Prepares and validates the object. The errors of the kind come before the checks that need a valid object.
    async fn validate(&self, permission: Option<&CreatePermission>, mut object: Object) -> Result<Step> {
        let WriteRequest { live, part, .. } = *self.request;
        self.check_kind(&mut object).await?;
        guard::confirm(live, &self.guarded(&object)).await?;
        let request = self.admission();
        if let (None, Some(permission)) = (self.old, permission) {
            permission.check(&request).await?;
        }
        match (part, &live.resource.scale) {
            (Part::Scale, Some(at)) => scaled::validate(&request, at, &object).await?,
            _ => admission::validate(&request, Some(&object)).await?,
        }
        Ok(match self.old {
            Some(old) if is_last_update(live, &object, old) => Step::Remove(object),
            _ => Step::Put(object),
        })
    }

    /// Brings the object into the form in which it is stored, or reports all its errors.
    ///
    /// Upstream: apiserver/pkg/registry/rest/create.go, BeforeCreate, and update.go, BeforeUpdate (v1.36.4).
    async fn check_kind(&self, object: &mut Object) -> Result<()> {
        let WriteRequest { live, context, part, .. } = *self.request;
        let (resource, strategy) = (&live.resource, &live.resource.strategy);
        self.prepare(object);
        let mut errors = FieldErrors::default();
        if object.kind != resource.kind {
            errors.invalid(&Path::root("kind"), object.kind.as_str(), format!("must be {}", resource.kind));
            let name = object.meta.name.to_string();
            let kind = GroupKind { group: resource.group.clone(), kind: object.kind.clone() };
            return Err(Error::Invalid { kind, name, errors });
        }
        meta_rules::check(&object.meta, resource.scope, strategy.name_rule(), &mut errors);
        if let Some(old) = self.old {
            meta_rules::check_update(&object.meta, &old.meta, &mut errors);
        }
        if resource.owned_finalizers {
            meta_rules::check_finalizer_owners(&object.meta, &mut errors);
        }
        match (self.old, part) {
            (None, _) => strategy.validate(context, object, &mut errors),
            (Some(old), part) => {
                guard::judge(live, &self.guarded(object), &mut errors).await;
                match part {
                    Part::Main | Part::Scale => strategy.validate_update(context, object, old, &mut errors),
                    Part::Status => strategy.validate_status_update(context, object, old, &mut errors),
                    Part::Named(part) => strategy.validate_part_update(part, object, old, &mut errors),
                }
            }
        }
        if self.old.is_none() && errors.is_empty() && strategy.name_rule() == NameRule::PathSegmentLast {
            meta_rules::check_path(&object.meta, &mut errors);
        }
        if !errors.is_empty() {
            let name = object.meta.name.to_string();
            return Err(Error::Invalid { kind: resource.group_kind(), name, errors });
        }
        self.warnings(object).into_iter().for_each(|warning| context.warn(warning));
        resource.canonicalize(object);
        if let Some(old) = self.old {
            field_managers::keep_times(object, old);
        }
        Ok(())
    }

    fn prepare(&self, object: &mut Object) {
        let WriteRequest { live, context, part, .. } = *self.request;
        let strategy = &live.resource.strategy;
        let Some(old) = self.old else { return strategy.prepare_create(context, object) };
        match part {
            Part::Main | Part::Scale => strategy.prepare_update(context, object, old),
            Part::Status => strategy.prepare_status_update(context, object, old),
            Part::Named(part) => strategy.prepare_part_update(context, part, object, old),
        }
        system_fields::carry_over(&mut object.meta, &old.meta);
    }

    /// Warnings about the part of the object that the request may change.
    fn warnings(&self, object: &Object) -> Vec<String> {
        let resource = &self.request.live.resource;
        match (self.old, self.request.part) {
            (None, _) => resource.warnings(object, None),
            (Some(old), Part::Main | Part::Scale) => resource.warnings(object, Some(old)),
            (Some(_), Part::Status) => resource.strategy.status_warnings(object),
            (Some(_), Part::Named(_)) => Vec::new(),
        }
    }

    fn admission(&self) -> Request<'_> {
        let WriteRequest { live, context, part, .. } = *self.request;
        let operation = if self.old.is_some() { Operation::Update } else { Operation::Create };
        let subresource = admission::subresource(part);
        Request { subresource, old: self.old, ..Request::new(operation, live, context, self.place) }
    }

    fn guarded<'w>(&'w self, object: &'w Object) -> Write<'w> {
        let WriteRequest { context, address, part, .. } = *self.request;
        let Place { namespace, name } = address;
        Write { context, namespace, name, part, object, old: self.old }
    }
}

/// Whether an update removes the last finalizer of an object that is being deleted.
fn is_last_update(live: &Live, object: &Object, old: &Object) -> bool {
    let waits = object.meta.deletion_grace_period_seconds.unwrap_or_default() > 0;
    let is_free = |it: &Object| it.meta.finalizers.is_empty() && live.resource.strategy.may_go(it);
    object.meta.is_being_deleted() && !waits && is_free(object) && !is_free(old)
}
