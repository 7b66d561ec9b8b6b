//! Subresource: what stands below an object besides its status and its scale.

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
    /// What it takes and gives, where that is not the kind of the resource.
    pub kind: Option<ForeignKind>,
    /// What can be done, as discovery tells it.
    pub verbs: &'static [&'static str],
    /// What happens.
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

    /// What such an object may contain.
    pub fn schema(&self) -> Option<Schema> {
        Schema::builtin(&self.group, &self.version, &self.kind)
    }
}

/// What a subresource does.
#[derive(Clone)]
pub enum Deed {
    /// A part of the object that only the kind knows.
    Part,
    /// Somebody takes what is posted and does something.
    Action(Arc<dyn Action>),
    /// A stream to where the object runs.
    Connect,
    /// Something that others do and we do not yet, and why.
    NotHere(&'static str),
}

/// What is asked of an action.
pub struct Call<'a> {
    /// The resource.
    pub live: &'a Arc<Live>,
    /// Who acts, and when.
    pub context: &'a Context,
    /// The object.
    pub place: &'a Place,
    /// What was posted.
    pub body: Object,
}

/// What happens when something is posted to a subresource.
pub trait Action: Send + Sync + 'static {
    /// Fills in what was left out, before admission and validation.
    fn default(&self, _body: &mut Object) {}

    /// Whether what is posted may be in another version than that of discovery.
    fn accepts(&self, _api_version: &str) -> bool {
        false
    }

    /// Settles what is certain before everybody has judged what was posted.
    fn prepare<'a>(&'a self, _call: &'a mut Call<'_>) -> BoxFuture<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Does it, and gives the answer.
    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>>;
}

impl Subresource {
    /// A part of the object that can be read and changed.
    pub fn part(name: &'static str) -> Subresource {
        Subresource { name, kind: None, verbs: &["get", "patch", "update"], deed: Deed::Part }
    }

    /// Something that is done by posting a `kind`.
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

    /// Something that is known, and refused with the reason.
    pub fn not_here(name: &'static str, api_version: &str, kind: &str, why: &'static str) -> Subresource {
        let kind = Some(foreign(api_version, kind));
        Subresource { name, kind, verbs: &["create"], deed: Deed::NotHere(why) }
    }

    /// Other verbs.
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
