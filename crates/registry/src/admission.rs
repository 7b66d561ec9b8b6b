//! Admission: plugins check and change objects after authorization and before the object is stored.
//!
//! ```text
//! decoded ──> owners of fields ──> mutate ──> prepare, validate ──> validate ──> commit
//!                                  plugins     the kind's rules     plugins
//! ```
//!
//! All plugins mutate in the order of the chain, then the kind prepares and validates the object, then all
//! plugins validate. A write that loses a race runs admission again, because the object that it changes is a
//! different one.

mod chain;
mod measure;

use std::any::Any;
use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use keelson_authz::Target;
use keelson_object::{Object, Value};
use parking_lot::Mutex;

pub use chain::Chain;
pub use measure::{Measure, Phase, Took};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::lifecycle::field_managers;
use crate::lifecycle::owners::{self, Seen};
use crate::live::{Live, Place};
use crate::options::Part;
use crate::resource::Resource;

/// The operation that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object is created, or posted to a subresource.
    Create,
    /// An object is updated.
    Update,
    /// An object is deleted.
    Delete,
    /// A connection is opened.
    Connect,
}

impl Operation {
    /// Upstream's name: `CREATE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// The attributes of a request that admission sees, besides the object.
pub struct Request<'r> {
    /// The operation.
    pub operation: Operation,
    /// The resource.
    pub resource: &'r Resource,
    /// The subresource; empty for the object itself.
    pub subresource: &'r str,
    /// The namespace and the name of the object. The name is empty if the server is going to generate it.
    pub place: &'r Place,
    /// The user and the circumstances of the request.
    pub context: &'r Context,
    /// The current object, if there is one.
    pub old: Option<&'r Object>,
    /// The grace period of a delete, if it is known.
    pub grace_seconds: Option<i64>,
    /// The state of the chain between plugins and rounds.
    pub rounds: Rounds,
}

/// The rounds of mutating admission for one request. A plugin that changes the object late can ask for a
/// second round, in which the other plugins see the object again. There is at most one second round.
#[derive(Default)]
pub struct Rounds {
    is_second: AtomicBool,
    is_wanted: AtomicBool,
    /// Whether the plugin that was called last does nothing in this phase, for any request.
    is_idle: AtomicBool,
    /// The managedFields from before a plugin replaced the object.
    managers: Mutex<Option<Vec<Value>>>,
    /// The object that later validating plugins see.
    shown: Mutex<Option<Box<Object>>>,
    /// What the plugin that asks for a second round remembers of the first.
    pub memory: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Rounds {
    /// Whether this is the second round.
    pub fn is_second(&self) -> bool {
        self.is_second.load(Ordering::Relaxed)
    }

    /// Asks for a second round, unless there was one.
    pub fn want_second(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }

    fn begins_second(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && !self.is_second.swap(true, Ordering::Relaxed)
    }
}

impl<'r> Request<'r> {
    /// A request for an object itself.
    pub fn new(operation: Operation, live: &'r Live, context: &'r Context, place: &'r Place) -> Request<'r> {
        Request {
            operation,
            resource: &live.resource,
            subresource: "",
            place,
            context,
            old: None,
            grace_seconds: None,
            rounds: Rounds::default(),
        }
    }

    /// Replaces `object` by `new`: for plugins that let others, such as webhooks, write whole objects.
    /// Unreadable managedFields are repaired after all plugins have run.
    pub fn replace(&self, object: &mut Object, mut new: Object) {
        // The decoder keeps a request to reset managedFields; here it is executed.
        if field_managers::is_reset(&new.meta.managed_fields) {
            new.meta.managed_fields.clear();
        }
        if new.meta.managed_fields != object.meta.managed_fields {
            let before = std::mem::take(&mut object.meta.managed_fields);
            self.rounds.managers.lock().get_or_insert(before);
        }
        *object = new;
    }

    /// Shows `object` to the validating plugins after this one, instead of the object that will be stored.
    pub fn show(&self, object: Object) {
        *self.rounds.shown.lock() = Some(Box::new(object));
    }

    /// Whether the request is about this resource or one of its subresources.
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }

    /// Whether the request is about objects of this resource, and not about a subresource.
    pub fn is_object_of(&self, group: &str, plural: &str) -> bool {
        self.subresource.is_empty() && self.is_of(group, plural)
    }

    /// The namespace as policies see it: a Namespace is in itself.
    ///
    /// Upstream: apiserver/pkg/endpoints/request/requestinfo.go, NewRequestInfo (v1.36.4).
    pub fn namespace(&self) -> &str {
        if self.is_of("", "namespaces") { &self.place.name } else { &self.place.namespace }
    }

    /// The target of the request, as authorizers see it.
    pub fn target(&self) -> Target<'_> {
        let version = self.context.api_version.as_str();
        Target::Resource {
            namespace: self.namespace(),
            api_group: &self.resource.group,
            api_version: version.rsplit('/').next().unwrap_or(version),
            resource: &self.resource.plural,
            subresource: self.subresource,
            name: &self.place.name,
        }
    }

    /// Whether an object is created or updated.
    pub fn is_write(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
    }

    /// The error of a plugin that refuses the request.
    ///
    /// Upstream: apiserver/pkg/admission/errors.go, NewForbidden and extractResourceName (v1.36.4).
    pub fn forbidden(&self, object: Option<&Object>, reason: impl Into<String>) -> Error {
        let meta = object.map(|it| &it.meta);
        let names = [Some(&self.place.name), meta.map(|it| &it.name), meta.map(|it| &it.generate_name)];
        let name = names.into_iter().flatten().find(|it| !it.is_empty()).map_or("Unknown", |it| it.as_str());
        let resource = self.resource.group_resource();
        Error::Forbidden { resource, name: name.to_owned(), reason: reason.into() }
    }
}

/// The decision of a plugin: `Ok`, or the error with which it refuses the request.
pub type Ruling<'p> = BoxFuture<'p, Result<()>>;

/// An admission plugin.
pub trait Plugin: Send + Sync + 'static {
    /// The name by which operators enable and disable it: `NamespaceLifecycle`.
    fn name(&self) -> &'static str;

    /// Whether the plugin handles such a request.
    fn handles(&self, request: &Request<'_>) -> bool;

    /// Changes the object, or refuses it. A delete has no object.
    fn mutate<'p>(&'p self, request: &'p Request<'_>, _object: Option<&'p mut Object>) -> Ruling<'p> {
        request.rounds.is_idle.store(true, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }

    /// Validates the object as it would be stored.
    fn validate<'p>(&'p self, request: &'p Request<'_>, _object: Option<&'p Object>) -> Ruling<'p> {
        request.rounds.is_idle.store(true, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }
}

/// Runs mutating admission, and repairs what plugins must not break.
pub async fn mutate(request: &Request<'_>, mut object: Option<&mut Object>) -> Result<()> {
    if let Some(chain) = &request.context.admission {
        chain.mutate(request, object.as_deref_mut()).await?;
    }
    if let Some(object) = object.filter(|_| request.is_write()) {
        keep_managers(request, object);
        owners::once(request.context, &mut object.meta, Seen::InResult);
    }
    Ok(())
}

/// Runs validating admission.
pub async fn validate(request: &Request<'_>, object: Option<&Object>) -> Result<()> {
    match &request.context.admission {
        Some(chain) => chain.validate(request, object).await,
        None => Ok(()),
    }
}

/// Restores the managedFields from before, if plugins have made them unreadable.
///
/// Upstream: apiserver/pkg/endpoints/handlers/fieldmanager/admission.go, Admit (v1.36.4).
fn keep_managers(request: &Request<'_>, object: &mut Object) {
    let Some(before) = request.rounds.managers.lock().take() else { return };
    if let Some(problem) = field_managers::problem(&object.meta.managed_fields) {
        object.meta.managed_fields = before;
        request.context.warn(format!(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
             mutating admission controller; please fix your requests: {problem}"
        ));
    }
}

/// The subresource by which a part is written.
pub(crate) fn subresource(part: Part) -> &'static str {
    match part {
        Part::Main => "",
        Part::Status => "status",
        Part::Scale => "scale",
        Part::Named(name) => name,
    }
}
