//! Strategy: the hooks of a kind.
//!
//! The engine calls them in one place and in upstream's order; no kind can change the order. Every method has a
//! default, so a kind says only what is special about it.

use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Object};

use crate::context::Context;
use crate::options::Part;
use crate::options::{DeleteOptions, Propagation};

/// What a name of this kind must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: most kinds.
    Subdomain,
    /// A DNS label (RFC 1123): namespaces.
    Label,
    /// A DNS label that begins with a letter (RFC 1035): services.
    Label1035,
    /// Anything that fits into a path: RBAC.
    PathSegment,
    /// What can be a key of a config map: candidates for leases.
    ConfigMapKey,
    /// A DNS subdomain; what a name is generated from is not looked at.
    FinalSubdomain,
    /// Anything that fits into a path, looked at when nothing else is wrong.
    PathSegmentLast,
}

/// What is special about a kind.
pub trait Strategy: Send + Sync + 'static {
    /// Fills in what the client left out. Runs on every decode.
    fn default(&self, _object: &mut Object) {}

    /// Brings a stored object to what clients of today expect, after [`Strategy::default`]. Runs on every object that
    /// was read from a store to which others write, too: some fields follow from others, and older versions of
    /// Kubernetes did not have them.
    ///
    /// Upstream: apiserver/pkg/registry/generic/registry/store.go, Decorator (v1.36.4).
    fn decorate(&self, object: &mut Object) {
        self.canonicalize(object);
    }

    /// Owns the fields that clients must not set on create.
    fn prepare_create(&self, _context: &Context, _object: &mut Object) {}

    /// Owns the fields that clients must not change on update.
    fn prepare_update(&self, _context: &Context, _object: &mut Object, _old: &Object) {}

    /// Owns everything but the status. The default takes all other fields from the old object.
    fn prepare_status_update(&self, _context: &Context, object: &mut Object, old: &Object) {
        let status = object.fields.remove("status");
        object.fields = old.fields.clone();
        match status {
            Some(status) => object.fields.set("status", status),
            None => {
                object.fields.remove("status");
            }
        }
    }

    /// Owns everything but a part that only the kind knows. The default leaves nothing to change.
    fn prepare_part_update(
        &self,
        _context: &Context,
        _part: &'static str,
        object: &mut Object,
        old: &Object,
    ) {
        object.fields = old.fields.clone();
    }

    /// Adds what counts as said by the client although it did not say it: upstream fills it in before it looks who
    /// owns what. Runs on a copy from which nothing but the owners is taken.
    fn fill_owned(&self, _object: &mut Object) {}

    /// Whether `fill_owned` does anything: it needs a copy of the object, and most kinds can do without.
    fn fills_owned(&self) -> bool {
        false
    }

    /// The fields that a part of the object does not write, so that nobody becomes their owner through it. `None` is
    /// the usual: the object does not write its status, the status not the spec.
    fn reset_fields(&self, _part: Part) -> Option<&'static [&'static str]> {
        None
    }

    /// What is wrong with a new object.
    fn validate(&self, _context: &Context, _object: &Object, _errors: &mut FieldErrors) {}

    /// What is wrong with a change. The default asks whether the result is valid.
    fn validate_update(&self, context: &Context, object: &Object, _old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
    }

    /// What is wrong with a change of the status.
    fn validate_status_update(
        &self,
        _context: &Context,
        _object: &Object,
        _old: &Object,
        _errors: &mut FieldErrors,
    ) {
    }

    /// What is wrong with a change of a part that only the kind knows.
    fn validate_part_update(
        &self,
        _part: &'static str,
        _object: &Object,
        _old: &Object,
        _errors: &mut FieldErrors,
    ) {
    }

    /// What the client should know about an object that is accepted; `old` is what it replaces.
    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// What the client should know about a status that is accepted.
    fn status_warnings(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Brings a valid object to its one canonical form.
    fn canonicalize(&self, _object: &mut Object) {}

    /// How a field selector is refused that names a field which cannot be selected, where the kind has its own words.
    fn unknown_field(&self, _label: &str) -> Option<String> {
        None
    }

    /// What a name must look like.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// How many seconds an object gets to go, given what the client asked for; `None` if the kind goes at once.
    fn grace_seconds(&self, _object: &Object, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// What becomes of dependents when neither the client nor a finalizer says.
    fn propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// Why the object called `name` cannot be deleted, whether it exists or not. The deletion of a collection does not
    /// ask, as upstream's does not.
    fn protects(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// The warning for a client that deletes such an object.
    fn delete_warning(&self, _options: &DeleteOptions) -> Option<&'static str> {
        None
    }

    /// Runs when an object becomes terminating.
    fn begin_delete(&self, _object: &mut Object) {}

    /// Whether the first DELETE only marks an object, with [`Strategy::mark_deleted`], and leaves the rest to a
    /// controller. Preconditions fail in the words of the store then.
    fn has_own_delete(&self) -> bool {
        false
    }

    /// Marks an object that is not terminating yet, for kinds that have a DELETE of their own.
    fn mark_deleted(&self, _object: &mut Object, _now: Time) {}

    /// Whether an object that is being deleted may go, as far as the kind is concerned.
    fn may_go(&self, _object: &Object) -> bool {
        true
    }
}

/// A kind with nothing special about it.
pub struct Plain;

impl Strategy for Plain {}
