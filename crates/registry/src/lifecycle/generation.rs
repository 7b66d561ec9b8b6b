//! Generation: counts the changes of the desired state.

use keelson_object::Object;

/// A new object has generation 1.
pub fn begin(object: &mut Object) {
    object.meta.generation = 1;
}

/// Increments the generation if any of `fields` differs.
pub fn advance(object: &mut Object, old: &Object, fields: &[&str]) {
    let changed = fields.iter().any(|field| object.fields.get(field) != old.fields.get(field));
    if changed {
        object.meta.generation = old.meta.generation + 1;
    }
}
