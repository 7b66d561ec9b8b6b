//! Status subresource: which fields writes of the main resource and of the status leave alone.

use keelson_object::Object;
use keelson_registry::options::Part;

/// Removes the status that a client sends with a new object.
pub(crate) fn clear(object: &mut Object) {
    object.fields.remove("status");
}

/// Leaves the status as it is.
pub(crate) fn keep(object: &mut Object, old: &Object) {
    object.fields.keep("status", &old.fields);
}

/// Leaves every field but the status as it is.
pub(crate) fn take(object: &mut Object, old: &Object) {
    let mut fields = old.fields.clone();
    fields.keep("status", &object.fields);
    object.fields = fields;
}

/// Leaves everything but the status as it is, labels and the like included.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/helpers.go, ResetObjectMetaForStatus (v1.36.4).
pub(crate) fn alone(object: &mut Object, old: &Object) {
    take(object, old);
    let (meta, there) = (&mut object.meta, &old.meta);
    meta.generation = there.generation;
    meta.deletion_timestamp = there.deletion_timestamp;
    meta.labels = there.labels.clone();
    meta.annotations = there.annotations.clone();
    meta.finalizers = there.finalizers.clone();
    meta.owner_references = there.owner_references.clone();
}

/// The fields whose ownership is not recorded when a status is written [`alone`].
pub(crate) fn reset_alone(part: Part) -> Option<&'static [&'static str]> {
    matches!(part, Part::Status).then_some(&["metadata", "spec"])
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;

    use super::alone;
    use crate::shared::testing::tree;

    #[test]
    fn a_write_of_the_status_changes_nothing_else() {
        let object = |text: &str| Object::from_value(tree(text)).unwrap();
        let old = object(r#"{"metadata": {"labels": {"a": "b"}, "generation": 2}, "spec": {"x": 1}}"#);
        let mut new = object(r#"{"metadata": {"labels": {"c": "d"}}, "spec": {"x": 2}, "status": {"y": 3}}"#);
        alone(&mut new, &old);
        let expected =
            r#"{"metadata": {"labels": {"a": "b"}, "generation": 2}, "spec": {"x": 1}, "status": {"y": 3}}"#;
        assert_eq!(new, object(expected));
    }
}
