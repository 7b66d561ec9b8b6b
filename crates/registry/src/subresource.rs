//! Subresources of an object, besides status and scale.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use keelson_object::{ApiVersion, Object, SmolStr};
use keelson_schema::Schema;

use crate::context::Context;
use crate::error::Result;
use crate::live::{Live, Place};

/// One subresource.
#[derive(Clone)]
pub struct Subresource {
    /// `eviction`.
    pub name: &'static str,
    /// The kind that it accepts and returns, if it is not the kind of the resource.
    pub kind: Option<ForeignKind>,
    /// The verbs, as discovery shows them.
    pub verbs: &'static [&'static str],
    /// The implementation.
    pub deed: Deed,
}

/// A kind that is not the resource's own.
#[derive(Clone, Debug)]
pub struct ForeignKind {
    /// `policy`; empty for the core group.
    pub group: SmolStr,
    /// `v1`.
    pub version: SmolStr,
    /// `Eviction`.
    pub kind: SmolStr,
}

impl ForeignKind {
    /// `policy/v1`.
    pub fn api_version(&self) -> SmolStr {
        ApiVersion::new(self.group.clone(), self.version.clone()).to_string().into()
    }

    /// The schema of such an object.
    pub fn schema(&self) -> Option<Schema> {
        Schema::builtin(&self.group, &self.version, &self.kind)
    }
}

/// The implementation of a subresource.
#[derive(Clone)]
pub enum Deed {
    /// A part of the object that is specific to the kind.
    Part,
    /// A handler for objects that are posted.
    Action(Arc<dyn Action>),
    /// A stream to the node that runs the object.
    Connect,
    /// A subresource of upstream that is not implemented yet, and why.
    NotHere(&'static str),
}

/// A call of an action.
pub struct Call<'a> {
    /// The resource.
    pub live: &'a Arc<Live>,
    /// The user and the circumstances of the request.
    pub context: &'a Context,
    /// The object.
    pub place: &'a Place,
    /// The object that was posted.
    pub body: Object,
}

/// Handles a POST to a subresource.
pub trait Action: Send + Sync + 'static {
    /// Sets defaults, before admission and validation.
    fn default(&self, _body: &mut Object) {}

    /// Whether the body may be in another version than that of discovery.
    fn accepts(&self, _api_version: &str) -> bool {
        false
    }

    /// Completes and checks the body, between mutating and validating admission.
    fn prepare<'a>(&'a self, _call: &'a mut Call<'_>) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Executes the action, and returns the response.
    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>>;
}

impl Subresource {
    /// A part of the object that can be read and changed.
    pub fn part(name: &'static str) -> Subresource {
        Subresource { name, kind: None, verbs: &["get", "patch", "update"], deed: Deed::Part }
    }

    /// An action that is called by posting a `kind`.
    pub fn action(name: &'static str, api_version: &str, kind: &str, action: impl Action) -> Subresource {
        let deed = Deed::Action(Arc::new(action));
        Subresource { name, kind: Some(foreign(api_version, kind)), verbs: &["create"], deed }
    }

    /// A stream that is opened with `kind` as its options.
    pub fn connect(
        name: &'static str,
        api_version: &str,
        kind: &str,
        verbs: &'static [&'static str],
    ) -> Subresource {
        Subresource { name, kind: Some(foreign(api_version, kind)), verbs, deed: Deed::Connect }
    }

    /// A subresource that is known, and refused with the reason.
    pub fn not_here(name: &'static str, api_version: &str, kind: &str, why: &'static str) -> Subresource {
        let kind = Some(foreign(api_version, kind));
        Subresource { name, kind, verbs: &["create"], deed: Deed::NotHere(why) }
    }

    /// Sets other verbs.
    #[must_use]
    pub fn verbs(mut self, verbs: &'static [&'static str]) -> Subresource {
        self.verbs = verbs;
        self
    }
}

fn foreign(api_version: &str, kind: &str) -> ForeignKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ForeignKind { group: group.into(), version: version.into(), kind: kind.into() }
}
