//! Updates of the status that leave everything else alone, labels and annotations included.

use keelson_object::Object;

/// Takes everything but the status from the old object.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/meta.go, ResetObjectMetaForStatus (v1.36.4).
pub(crate) fn take_status_only(object: &mut Object, old: &Object) {
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
    use super::take_status_only;
    use crate::shared::testing::{text, tree};
    use keelson_object::Object;

    fn object(content: &str) -> Object {
        Object::from_value(tree(content)).expect("an object")
    }

    #[test]
    fn nothing_but_the_status_is_taken() {
        let old = object(r#"{"metadata": {"labels": {"a": "old"}}, "spec": 1, "status": 1}"#);
        let mut new = object(r#"{"metadata": {"labels": {"a": "new"}}, "spec": 2, "status": 2}"#);
        take_status_only(&mut new, &old);
        assert_eq!(new.meta.labels.get("a"), Some("old"));
        assert_eq!(new.fields.int("spec"), Some(1));
        assert_eq!(new.fields.int("status"), Some(2));
        let mut none = object("{}");
        take_status_only(&mut none, &old);
        assert_eq!(text(&none.fields.into()), r#"{"spec":1}"#);
    }
}
