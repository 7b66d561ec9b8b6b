//! Kinds with a spec that users write, a status that they do not, and a generation that counts the specs.

use keelson_object::Object;
use keelson_registry::lifecycle::generation;

/// A new object has no status.
pub(crate) fn prepare_create(object: &mut Object) {
    object.fields.remove("status");
    generation::begin(object);
}

/// The status stays, and another spec is another generation.
pub(crate) fn prepare_update(object: &mut Object, old: &Object) {
    object.fields.keep("status", &old.fields);
    generation::advance(object, old, &["spec"]);
}

/// Everything but the status stays, labels and annotations included.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/meta.go, ResetObjectMetaForStatus (v1.36.4).
pub(crate) fn prepare_status_update(object: &mut Object, old: &Object) {
    let mut fields = old.fields.clone();
    fields.keep("status", &object.fields);
    object.fields = fields;
    object.meta.labels = old.meta.labels.clone();
    object.meta.annotations = old.meta.annotations.clone();
    object.meta.finalizers = old.meta.finalizers.clone();
    object.meta.owner_references = old.meta.owner_references.clone();
}

#[cfg(test)]
mod tests {
    use super::prepare_status_update;
    use crate::shared::testing::{text, tree};
    use keelson_object::Object;

    fn object(content: &str) -> Object {
        Object::from_value(tree(content)).expect("an object")
    }

    #[test]
    fn nothing_but_the_status_is_taken() {
        let old = object(r#"{"metadata": {"labels": {"a": "old"}}, "spec": 1, "status": 1}"#);
        let mut new = object(r#"{"metadata": {"labels": {"a": "new"}}, "spec": 2, "status": 2}"#);
        prepare_status_update(&mut new, &old);
        assert_eq!(new.meta.labels.get("a"), Some("old"));
        assert_eq!(new.fields.int("spec"), Some(1));
        assert_eq!(new.fields.int("status"), Some(2));
        let mut none = object("{}");
        prepare_status_update(&mut none, &old);
        assert_eq!(text(&none.fields.into()), r#"{"spec":1}"#);
    }
}
