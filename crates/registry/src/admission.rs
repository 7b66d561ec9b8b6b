//! Admission: plugins check and change objects after authorization and before the object is stored.
//!
//! ```text
//! decoded ──> owners of fields ──> mutate ──> prepare, validate ──> validate ──> commit
//!                                  plugins     the kind's rules     plugins
//! ```
//!
//! All plugins mutate in the order of the chain, then the kind has its say, then all plugins validate. A write that
//! loses a race runs admission again, because the object it changes is another one.

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

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object is made, or something is done by a subresource that takes an object.
    Create,
    /// An object is changed.
    Update,
    /// An object is removed.
    Delete,
    /// A stream is opened.
    Connect,
}

impl Operation {
    /// What upstream calls it: `CREATE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// What is judged, beside the object.
pub struct Request<'r> {
    /// What is to be done.
    pub operation: Operation,
    /// To an object of what.
    pub resource: &'r Resource,
    /// To which part of it; empty for the object itself.
    pub subresource: &'r str,
    /// To which object. The name of an object that is to be named by us is empty.
    pub place: &'r Place,
    /// By whom, and how.
    pub context: &'r Context,
    /// The object as it is, where there is one.
    pub old: Option<&'r Object>,
    /// How long an object that is removed may take, as far as anybody says.
    pub grace_seconds: Option<i64>,
    /// How often the chain has been asked.
    pub rounds: Rounds,
}

/// How often the chain has been asked to change an object. A plugin that changes it late may want that the others look
/// at it again; they do so once.
#[derive(Default)]
pub struct Rounds {
    is_second: AtomicBool,
    is_wanted: AtomicBool,
    /// Whether the plugin that was just asked has nothing to say at this time, ever.
    is_idle: AtomicBool,
    /// Who managed which fields before a plugin wrote something else.
    managers: Mutex<Option<Vec<Value>>>,
    /// What is shown to those who judge from now on.
    shown: Mutex<Option<Box<Object>>>,
    /// What the plugin that asks for a second round remembers of the first.
    pub memory: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Rounds {
    /// Whether everybody has been asked before.
    pub fn is_second(&self) -> bool {
        self.is_second.load(Ordering::Relaxed)
    }

    /// Lets everybody look again, if they have not done so.
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

    /// Puts `new` in the place of `object`: for plugins that let others write whole objects. Whether these know who
    /// manages which fields is seen to when all plugins are done.
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

    /// Shows `object` to those who judge after this plugin, instead of what will be stored.
    pub fn show(&self, object: Object) {
        *self.rounds.shown.lock() = Some(Box::new(object));
    }

    /// Whether it is about objects of this resource, or parts of them.
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }

    /// Whether it is about objects of this resource themselves.
    pub fn is_object_of(&self, group: &str, plural: &str) -> bool {
        self.subresource.is_empty() && self.is_of(group, plural)
    }

    /// The namespace as policies see it: a Namespace is in itself.
    ///
    /// Upstream: apiserver/pkg/endpoints/request/requestinfo.go, NewRequestInfo (v1.36.4).
    pub fn namespace(&self) -> &str {
        if self.is_of("", "namespaces") { &self.place.name } else { &self.place.namespace }
    }

    /// What the request is about, as authorizers see it.
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

    /// Whether something is made or changed.
    pub fn is_write(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
    }

    /// The answer of a plugin that says no.
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

/// What a plugin says: nothing against it, or why not.
pub type Ruling<'p> = BoxFuture<'p, Result<()>>;

/// One policy.
pub trait Plugin: Send + Sync + 'static {
    /// The name by which operators switch it: `NamespaceLifecycle`.
    fn name(&self) -> &'static str;

    /// Whether it has anything to say to such a request.
    fn handles(&self, request: &Request<'_>) -> bool;

    /// Changes the object, or refuses it. There is none when something is deleted.
    fn mutate<'p>(&'p self, request: &'p Request<'_>, _object: Option<&'p mut Object>) -> Ruling<'p> {
        request.rounds.is_idle.store(true, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }

    /// Refuses the object as it would be stored.
    fn validate<'p>(&'p self, request: &'p Request<'_>, _object: Option<&'p Object>) -> Ruling<'p> {
        request.rounds.is_idle.store(true, Ordering::Relaxed);
        Box::pin(ready(Ok(())))
    }
}

/// Lets every plugin change the object, or refuse it, and puts right what none of them may spoil.
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

/// Lets every plugin refuse the object.
pub async fn validate(request: &Request<'_>, object: Option<&Object>) -> Result<()> {
    match &request.context.admission {
        Some(chain) => chain.validate(request, object).await,
        None => Ok(()),
    }
}

/// Managers that cannot be read any more are those from before.
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
