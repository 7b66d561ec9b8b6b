//! Strategy: the hooks of a kind.
//!
//! The engine calls them in one place and in upstream's order; no kind can change the order. Every method has
//! a default, so a kind implements only what is special about it.

use keelson_object::scalar::Time;
use keelson_object::{FieldErrors, Object};

use crate::context::Context;
use crate::options::Part;
use crate::options::{DeleteOptions, Propagation};

/// The rule for names of a kind.
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
    /// A valid key of a ConfigMap: LeaseCandidates.
    ConfigMapKey,
    /// A DNS subdomain; the generateName is not validated.
    FinalSubdomain,
    /// Anything that fits into a path, validated only if nothing else is wrong.
    PathSegmentLast,
}

/// The rules of a kind.
pub trait Strategy: Send + Sync + 'static {
    /// Sets defaults. Runs on every decode.
    fn default(&self, _object: &mut Object) {}

    /// Brings a stored object to what clients of today expect, after [`Strategy::default`]. Runs on every
    /// object that was read from a store to which other servers write, too: some fields are derived from
    /// others, and older versions of Kubernetes did not have them.
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

    /// Owns everything but a part that is specific to the kind. By default nothing can be changed.
    fn prepare_part_update(
        &self,
        _context: &Context,
        _part: &'static str,
        object: &mut Object,
        old: &Object,
    ) {
        object.fields = old.fields.clone();
    }

    /// Sets fields that count as set by the client although it did not send them: upstream sets them before
    /// it computes field ownership. Runs on a copy that is used for field ownership only.
    fn fill_owned(&self, _object: &mut Object) {}

    /// Whether `fill_owned` does anything: it needs a copy of the object, and most kinds can do without.
    fn fills_owned(&self) -> bool {
        false
    }

    /// The fields that a part of the object does not write, so that no manager becomes their owner through
    /// it. `None` is the usual: the object does not write its status, the status does not write the spec.
    fn reset_fields(&self, _part: Part) -> Option<&'static [&'static str]> {
        None
    }

    /// Validates a new object.
    fn validate(&self, _context: &Context, _object: &Object, _errors: &mut FieldErrors) {}

    /// Validates an update. By default the result must be valid.
    fn validate_update(&self, context: &Context, object: &Object, _old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
    }

    /// Validates an update of the status.
    fn validate_status_update(
        &self,
        _context: &Context,
        _object: &Object,
        _old: &Object,
        _errors: &mut FieldErrors,
    ) {
    }

    /// Validates an update of a part that is specific to the kind.
    fn validate_part_update(
        &self,
        _part: &'static str,
        _object: &Object,
        _old: &Object,
        _errors: &mut FieldErrors,
    ) {
    }

    /// The warnings about an object that is accepted; `old` is the object that it replaces.
    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// The warnings about a status that is accepted.
    fn status_warnings(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Brings a valid object to its one canonical form.
    fn canonicalize(&self, _object: &mut Object) {}

    /// The error for a field selector with a field that cannot be selected, if the kind words it differently.
    fn unknown_field(&self, _label: &str) -> Option<String> {
        None
    }

    /// The rule for names.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// The grace period in seconds, given the one that the client asked for; `None` if the kind has none.
    fn grace_seconds(&self, _object: &Object, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// The propagation policy if neither the client nor a finalizer specifies one.
    fn propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// Why the object called `name` cannot be deleted, whether it exists or not. Like upstream, the deletion
    /// of a collection does not check this.
    fn protects(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// The warning for a client that deletes such an object.
    fn delete_warning(&self, _options: &DeleteOptions) -> Option<&'static str> {
        None
    }

    /// Runs when an object becomes terminating.
    fn begin_delete(&self, _object: &mut Object) {}

    /// Whether the first DELETE only marks an object, with [`Strategy::mark_deleted`], and leaves the rest to
    /// a controller. Failed preconditions are then worded as those of the store.
    fn has_own_delete(&self) -> bool {
        false
    }

    /// Marks an object that is not terminating yet, for kinds that have a DELETE of their own.
    fn mark_deleted(&self, _object: &mut Object, _now: Time) {}

    /// Whether the kind allows that an object that is being deleted is removed.
    fn may_go(&self, _object: &Object) -> bool {
        true
    }
}

/// A kind with nothing special about it.
pub struct Plain;

impl Strategy for Plain {}
