//! Kinds with a spec that users write, a status that they do not, and a generation that counts the specs.

use keelson_object::Object;
use keelson_registry::lifecycle::generation;

use super::status;

/// A new object has no status.
pub(crate) fn prepare_create(object: &mut Object) {
    status::clear(object);
    generation::begin(object);
}

/// The status stays, and another spec is another generation.
pub(crate) fn prepare_update(object: &mut Object, old: &Object) {
    status::keep(object, old);
    generation::advance(object, old, &["spec"]);
}
