//! Server-side apply: who owns which field, and what becomes of an object when one of its managers says what it
//! wants.
//!
//! ```text
//! live     replicas: 3, image: a        hpa (Update) owns .spec.replicas, kubectl (Apply) owns .spec.image
//! applied  image: b                     by kubectl: the image changes
//! applied  image: b, replicas: 1        by kubectl: a conflict with "hpa", unless it is forced
//! applied  (neither)                    by kubectl: the image goes, nobody wants it any more
//! ```
//!
//! A [`Tracker`] knows the kind of an endpoint. [`Tracker::update`] follows every write that is no apply,
//! [`Tracker::apply`] is the apply itself. Both work on whole objects as trees, `metadata.managedFields` in them.
//!
//! Upstream: apimachinery/pkg/util/managedfields, structured-merge-diff (v1.36.4, v6).

mod collect;
mod compare;
mod conflict;
mod element;
mod field_set;
mod filter;
mod managers;
mod merge;
mod named;
mod place;
mod remove;
mod rest;
mod scale;
mod tree;
mod update;
mod upgrade;
mod validate;
mod values;

pub use conflict::{Cause, Conflict, Conflicts};
pub use element::Element;
pub use field_set::FieldSet;
pub use filter::Filter;
pub use managers::{Id, Managed, Managers, Operation, differ_in_times_only};
pub use remove::extract;
pub use scale::{ReplicasPaths, managers_of_scale, managers_of_scaled};
pub use tree::{Tree, Written};
pub(crate) use values::{go_plain, go_type};

use std::sync::LazyLock;

use keelson_object::scalar::Time;
use keelson_object::{Map, SmolStr, Value};
use keelson_schema::Schema;

use upgrade::{KUBECTL, bare, put_managed_fields, take_managed_fields};
use validate::{Duplicates, validate};

/// The manager of what was there before anything was applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The name of a manager is not longer.
const MAX_NAME: usize = 128;

/// Follows who owns which field of the objects of one endpoint.
#[derive(Clone, Copy)]
pub struct Tracker<'t> {
    /// The version of the request, `apps/v1`; objects come and go in it.
    pub api_version: &'t str,
    /// The kind.
    pub kind: &'t str,
    /// The subresource; empty for the resource itself.
    pub subresource: &'t str,
    /// By version, the fields that the endpoint does not write.
    pub reset: &'t [(SmolStr, Filter)],
    /// The other versions of the kind.
    pub versions: &'t dyn Versions,
    /// How the annotation of client-side apply is read and written.
    pub json: Json,
    /// The time of the request.
    pub now: Time,
}

/// What the versions of a kind look like.
pub trait Versions {
    /// What objects look like in a version; `None` if there is no such version.
    fn types(&self, api_version: &str) -> Option<Types<'_>>;
    /// The object in another version.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError>;
}

/// What objects look like.
#[derive(Clone, Copy)]
pub enum Types<'t> {
    /// The table of a built-in kind says it.
    Known(&'t Schema),
    /// The structural schema of a custom resource says it.
    Structural(&'t keelson_structural::Schema),
    /// Nothing says it: maps are granular, lists are atomic.
    Deduced,
}

/// Why an object is not to be had in a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertError {
    /// There is no such version any more.
    Missing,
    /// It went wrong.
    Failed(String),
}

/// A kind with one version.
#[derive(Clone, Copy)]
pub struct OneVersion<'t> {
    /// The version.
    pub api_version: &'t str,
    /// What objects look like.
    pub types: Types<'t>,
}

impl Versions for OneVersion<'_> {
    fn types(&self, api_version: &str) -> Option<Types<'_>> {
        (api_version == self.api_version).then_some(self.types)
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> Result<Value, ConvertError> {
        Err(ConvertError::Missing)
    }
}

/// JSON, which this crate does not know itself.
#[derive(Clone, Copy)]
pub struct Json {
    /// Reads a text; `None` if it is not JSON.
    pub read: fn(&str) -> Option<Value>,
    /// Writes a tree as it is.
    pub write: fn(&Value) -> String,
}

/// Whether fields are taken from other managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Fields that others have set otherwise are conflicts.
    No,
    /// Fields that others have set otherwise are taken from them.
    Yes,
}

/// Why an apply does not happen. The texts are upstream's and are for clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Other managers own fields that would change.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The patch is wrong: 400.
    #[error("{0}")]
    BadRequest(String),
    /// What upstream answers with 500: among others, what the schema does not allow.
    #[error("{0}")]
    Internal(String),
}

impl Tracker<'_> {
    /// Follows a write that is no apply: `new` is what is to be stored in the place of `live`, `None` if it is
    /// created. Afterwards `new` has its `managedFields`; none at all after an error, which no client gets to see.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/fieldmanager.go, FieldManager.Update (v1.36.4).
    pub fn update(&self, live: Option<Value>, new: &mut Value, manager: &str) -> Result<(), Refusal> {
        let mut live = live.unwrap_or_else(|| self.empty());
        let there = entries(take_managed_fields(&mut live));
        let given = match take_managed_fields(new) {
            Some(Value::List(entries)) => Some(entries),
            _ => None,
        };
        let live = Written { object: Tree::Whole(&live), entries: &there };
        let followed = self.follow(Some(live), Tree::Whole(new), given, manager)?;
        put_managed_fields(new, followed);
        Ok(())
    }

    /// The same for trees without `managedFields`: gives the entries of `new`, for which the client sent those in
    /// `given`.
    pub fn follow(
        &self,
        live: Option<Written<'_>>,
        new: Tree<'_>,
        given: Option<Vec<Value>>,
        manager: &str,
    ) -> Result<Vec<Value>, Refusal> {
        let empty;
        let live = match live {
            Some(live) => live,
            None => {
                empty = self.empty();
                Written { object: Tree::Whole(&empty), entries: &[] }
            }
        };
        let mut managers = self.managers_of_update(live.entries, given);
        if managers.is_empty() && !live.object.uid().is_empty() {
            // Nothing was ever applied, and nobody followed from the start: that begins with the first apply.
            return Ok(Vec::new());
        }
        self.track_checked(live.object, new, &mut managers, manager)?;
        managers.cap();
        Ok(managers.into_entries())
    }

    /// Applies `patch` to `live`, `None` if there is no object yet. Gives the object with its `managedFields`; it may
    /// have nulls, unsorted keys and no defaults.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/fieldmanager.go, FieldManager.Apply (v1.36.4).
    pub fn apply(
        &self,
        live: Option<Value>,
        patch: &Value,
        manager: &str,
        force: Force,
    ) -> Result<Value, Refusal> {
        let mut live = live.unwrap_or_else(|| self.empty());
        let there = take_managed_fields(&mut live);
        let managers = Managers::from_entries(entries(there))
            .map_err(|error| Refusal::Internal(format!("failed to decode managed fields: {error}")))?;
        let given = gvk_of(patch);
        if given != self.gvk(self.api_version) {
            return Err(Refusal::BadRequest(format!("invalid object type: {given}")));
        }
        let again = (manager == KUBECTL && force == Force::No).then(|| managers.clone());
        let (object, managers) = match (self.attempt(&live, patch, managers, (manager, force)), again) {
            (Err(Refusal::Conflicts(conflicts)), Some(managers)) => {
                match self.conflicts_beyond_annotation(&live, &conflicts) {
                    None => return Err(Refusal::Conflicts(conflicts)),
                    Some(rest) if !rest.0.is_empty() => return Err(Refusal::Conflicts(rest)),
                    Some(_) => self.attempt(&live, patch, managers, (manager, Force::Yes))?,
                }
            }
            (done, _) => done?,
        };
        let mut object = object.unwrap_or(live);
        if manager == KUBECTL {
            self.keep_annotation(&mut object, patch);
        }
        put_managed_fields(&mut object, managers.into_entries());
        Ok(object)
    }

    /// One try: the new object, `None` if nothing changes, and its managers.
    fn attempt(
        &self,
        live: &Value,
        patch: &Value,
        mut managers: Managers,
        by: (&str, Force),
    ) -> Result<(Option<Value>, Managers), Refusal> {
        let (manager, force) = by;
        if managers.is_empty() {
            let empty = self.empty();
            self.track_checked((&empty).into(), live.into(), &mut managers, BEFORE_FIRST_APPLY).map_err(
                |error| Refusal::Internal(format!("failed to create manager for existing fields: {error}")),
            )?;
        }
        let metadata = patch.as_map().and_then(|it| it.map("metadata"));
        if metadata.is_some_and(|it| matches!(it.get("managedFields"), Some(Value::List(_)))) {
            return Err(Refusal::BadRequest("metadata.managedFields must be nil".to_owned()));
        }
        self.check(Tree::Whole(patch), Duplicates::Refused, "failed to create typed patch object", "")?;
        self.check(Tree::Whole(live), Duplicates::Allowed, "failed to create typed live object", "")?;
        let id = Id::applier(manager, self.subresource);
        let object = self.merge_patch(live, patch, &mut managers, (&id, force))?;
        if object.is_some()
            && let Some(managed) = managers.get_mut(&id)
        {
            managed.time = Some(self.now);
        }
        Ok((object, managers))
    }

    /// Checks both objects and gives what differs to someone who updates.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/structuredmerge.go, structuredMergeManager.Update (v1.36.4).
    fn track_checked(
        &self,
        live: Tree<'_>,
        new: Tree<'_>,
        managers: &mut Managers,
        manager: &str,
    ) -> Result<(), Refusal> {
        self.check(new, Duplicates::Allowed, "failed to convert new object", "to smd typed")?;
        self.check(live, Duplicates::Allowed, "failed to convert live object", "to smd typed")?;
        let id = Id::updater(manager, self.api_version, self.subresource);
        self.track(live, new, managers, id).map_err(|error| {
            let object = shown(&new.whole());
            Refusal::Internal(format!("failed to update ManagedFields ({object}): {error}"))
        })
    }

    /// The managers that a write starts from. A client may set them; one that does not know them loses nothing.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/fieldmanager.go, decodeLiveOrNew (v1.36.4).
    fn managers_of_update(&self, live: &[Value], new: Option<Vec<Value>>) -> Managers {
        let of_live = || Managers::from_entries(live.to_vec()).unwrap_or_default();
        match new {
            Some(new) if self.subresource.is_empty() => {
                if is_reset(&new) {
                    return Managers::default();
                }
                match Managers::from_entries(new) {
                    Ok(managers) if !managers.is_empty() => managers,
                    _ => of_live(),
                }
            }
            _ => of_live(),
        }
    }

    /// An object of the kind in which nothing is set.
    fn empty(&self) -> Value {
        let mut value = bare(self.api_version, self.kind);
        if let Some(Types::Known(schema)) = self.versions.types(self.api_version) {
            let done = schema.conform(&mut value);
            debug_assert!(done.is_ok(), "nothing in it can be wrong: {done:?}");
        }
        value
    }

    fn check(&self, object: Tree<'_>, duplicates: Duplicates, what: &str, to: &str) -> Result<(), Refusal> {
        let space = if to.is_empty() { "" } else { " " };
        validate(self.place(self.api_version)?, object, duplicates).map_err(|error| {
            Refusal::Internal(format!("{what} ({}){space}{to}: {error}", shown(&object.whole())))
        })
    }

    /// `apps/v1, Kind=Deployment`.
    fn gvk(&self, api_version: &str) -> String {
        gvk(api_version, self.kind)
    }
}

/// The manager of a request that names none: what its user agent begins with.
///
/// Upstream: apiserver/pkg/endpoints/handlers/create.go, prefixFromUserAgent (v1.36.4).
pub fn manager_of_user_agent(user_agent: &str) -> String {
    let mut name = String::new();
    let first = user_agent.split('/').next().unwrap_or_default();
    for c in first.chars().filter(|c| is_printed(*c)) {
        if name.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        name.push(c);
    }
    name
}

/// Whether Go's `unicode.IsPrint` holds: quoting leaves such characters as they are.
fn is_printed(c: char) -> bool {
    matches!(c, '"' | '\\')
        || keelson_object::scalar::quote(c.encode_utf8(&mut [0; 4])).chars().nth(1) == Some(c)
}

/// The fields that nobody owns: they say which object it is.
///
/// Upstream: apimachinery/pkg/util/managedfields/internal/stripmeta.go (v1.36.4).
fn unowned() -> &'static FieldSet {
    static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
        FieldSet::of_fields(&[
            "apiVersion",
            "kind",
            "metadata",
            "metadata.name",
            "metadata.namespace",
            "metadata.creationTimestamp",
            "metadata.selfLink",
            "metadata.uid",
            "metadata.clusterName",
            "metadata.generation",
            "metadata.managedFields",
            "metadata.resourceVersion",
        ])
    });
    &UNOWNED
}

/// Whether a client asks to forget all managers: an empty list, or a list of one empty entry.
fn is_reset(entries: &[Value]) -> bool {
    match entries {
        [] => true,
        [Value::Map(only)] => only.iter().all(|(_, value)| value.is_empty()),
        _ => false,
    }
}

fn entries(managed_fields: Option<Value>) -> Vec<Value> {
    if let Some(Value::List(entries)) = managed_fields { entries } else { Vec::new() }
}

/// `default/web; apps/v1, Kind=Deployment`.
fn shown(object: &Value) -> String {
    const NONE: &Map = &Map::new();
    let metadata = object.as_map().and_then(|it| it.map("metadata")).unwrap_or(NONE);
    let text = |key: &str| metadata.str(key).unwrap_or_default().to_owned();
    format!("{}/{}; {}", text("namespace"), text("name"), gvk_of(object))
}

fn gvk_of(object: &Value) -> String {
    let text = |key: &str| object.as_map().and_then(|it| it.str(key)).unwrap_or_default();
    gvk(text("apiVersion"), text("kind"))
}

fn gvk(api_version: &str, kind: &str) -> String {
    // Go prints the core group as an empty one.
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}

#[cfg(test)]
mod tests;
