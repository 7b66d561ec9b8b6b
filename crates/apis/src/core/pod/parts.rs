//! Parts of a pod that have addresses of their own: ephemeral containers, and the sizes of containers.

use std::collections::HashMap;

use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;

use super::difference::{difference, differing};
use super::same::same_map;
use super::{resize, whole};
use crate::shared::pod_template::rules::annotations::MIRROR;
use crate::shared::pod_template::{Gates, PodRules};

pub(super) const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";
pub(super) const RESIZE: &str = "resize";
pub(super) const BINDING: &str = "binding";
pub(super) const EVICTION: &str = "eviction";

/// Keeps only the changes that belong to the subresource.
pub(super) fn prepare(part: &str, object: &mut Object, old: &Object, gates: &Gates) {
    match part {
        EPHEMERAL_CONTAINERS => keep_all_but_ephemeral_containers(object, old),
        RESIZE => resize::prepare(object, old, &gates.pod_rules(None)),
        // A binding or an eviction starts from the stored pod, and owns none of its fields.
        BINDING | EVICTION => {
            object.meta.managed_fields = old.meta.managed_fields.clone();
            return;
        }
        _ => object.fields = old.fields.clone(),
    }
    gates.drop_from(object, Some(old));
    generation::advance(object, old, &["spec"]);
}

/// Upstream: pkg/registry/core/pod/strategy.go, dropNonEphemeralContainerUpdates (v1.36.4).
fn keep_all_but_ephemeral_containers(object: &mut Object, old: &Object) {
    let containers = object.fields.map("spec").map(|it| it.list("ephemeralContainers").to_vec());
    keep_all(object, old);
    let spec = object.fields.map_mut("spec");
    match containers.filter(|it| !it.is_empty()) {
        Some(containers) => spec.set("ephemeralContainers", containers),
        None => {
            spec.remove("ephemeralContainers");
        }
    }
}

/// Everything but the version that the client saw.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/meta.go, ResetObjectMetaForStatus (v1.36.4).
pub(super) fn keep_all(object: &mut Object, old: &Object) {
    object.fields = old.fields.clone();
    let (meta, old) = (&mut object.meta, &old.meta);
    meta.labels = old.labels.clone();
    meta.annotations = old.annotations.clone();
    meta.finalizers = old.finalizers.clone();
    meta.owner_references = old.owner_references.clone();
    meta.deletion_timestamp = old.deletion_timestamp;
}

/// Checks an update of the subresource.
pub(super) fn check(
    part: &str,
    object: &Object,
    old: &Object,
    (rules, errors): (&PodRules, &mut FieldErrors),
) {
    let is_mirror = old.meta.annotations.get(MIRROR).is_some();
    match part {
        EPHEMERAL_CONTAINERS if is_mirror => {
            refuse(errors, "static pods do not support ephemeral containers");
        }
        EPHEMERAL_CONTAINERS => {
            whole::check_changed(object, old, rules, errors);
            check_ephemeral_containers(whole::spec(object), whole::spec(old), errors);
        }
        RESIZE if is_mirror => refuse(errors, "static pods cannot be resized"),
        RESIZE if whole::spec(old).at("os.name").and_then(Value::as_str) == Some("windows") => {
            refuse(errors, "windows pods cannot be resized");
        }
        RESIZE => resize::check(object, old, rules, errors),
        _ => {}
    }
}

/// Upstream reports this at a path whose only element has no name.
pub(super) fn refuse(errors: &mut FieldErrors, why: &str) {
    errors.forbidden(&Path::root("[]"), why);
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodEphemeralContainersUpdate (v1.36.4).
fn check_ephemeral_containers(new: &Map, was: &Map, errors: &mut FieldErrors) {
    const LIST: &str = "ephemeralContainers";
    let at = Path::root("spec.ephemeralContainers");
    let by_name: HashMap<&str, &Map> =
        new.maps(LIST).map(|it| (it.str("name").unwrap_or_default(), it)).collect();
    for old in was.maps(LIST) {
        let name = old.str("name").unwrap_or_default();
        match by_name.get(name) {
            None => {
                errors.forbidden(
                    &at,
                    format!("existing ephemeral containers {} may not be removed\n", quote(name)),
                );
            }
            Some(there) if !same_map(there, old) => {
                let changed = difference(&differing(there, old), there, old);
                let detail =
                    format!("existing ephemeral containers {} may not be changed\n{changed}", quote(name));
                errors.forbidden(&at, detail);
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{FieldErrors, Object};
    use keelson_registry::Strategy as _;

    use super::{BINDING, EPHEMERAL_CONTAINERS, MIRROR, RESIZE};
    use crate::core::pod::Pod;
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, created, decoded, text, tree};

    const OLD: &str = r#"{"metadata": {"name": "a"}, "spec": {"containers": [
        {"name": "a", "image": "i:1", "resources": {"requests": {"cpu": "1", "x.y/z": "1"}, "limits": {"x.y/z": "1"}}},
        {"name": "b", "image": "i:1"}]}}"#;

    fn pod() -> Pod {
        Pod(Gates::default())
    }

    fn old() -> Object {
        created(&pod(), "v1 Pod", OLD)
    }

    /// The result of putting `new` to a subresource of `old`, and the errors.
    fn put(part: &'static str, old: &Object, new: &str) -> (Object, Vec<String>) {
        let mut object = decoded(&pod(), "v1 Pod", new);
        object.meta.generation = old.meta.generation;
        pod().prepare_part_update(&context(), part, &mut object, old);
        let mut errors = FieldErrors::default();
        pod().validate_part_update(part, &object, old, &mut errors);
        (object, errors.iter().map(|error| format!("{error}")).collect())
    }

    fn spec(containers: &str) -> String {
        format!(
            r#"{{"metadata": {{"name": "a", "labels": {{"x": "y"}}}}, "spec": {{"nodeName": "n", {containers}}}}}"#
        )
    }

    #[test]
    fn ephemeral_containers_are_added_and_nothing_else_changes() {
        let new = spec(r#""containers": [], "ephemeralContainers": [{"name": "e", "image": "i:1"}]"#);
        let (object, errors) = put(EPHEMERAL_CONTAINERS, &old(), &new);
        assert_eq!(errors, [""; 0]);
        assert_eq!(object.meta.generation, 2);
        assert!(object.meta.labels.is_empty());
        let (mut found, expected) = (object.fields.clone(), old().fields);
        let added = found.map_mut("spec").remove("ephemeralContainers").unwrap_or_default();
        assert_eq!(found, expected);
        assert_eq!(added.as_list().map(<[_]>::len), Some(1), "{}", text(&added));
    }

    #[test]
    fn ephemeral_containers_stay_as_they_are() {
        let ephemeral =
            |image: &str| spec(&format!(r#""ephemeralContainers": [{{"name": "e", "image": "{image}"}}]"#));
        let (with, _) = put(EPHEMERAL_CONTAINERS, &old(), &ephemeral("i:1"));
        let errors = |new: &str| put(EPHEMERAL_CONTAINERS, &with, new).1;
        let start = "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be";
        assert_eq!(errors(&ephemeral("i:1")), [""; 0]);
        assert_eq!(
            errors(&ephemeral("i:2")),
            [format!("{start} changed\n-  \"image\": \"i:1\"\n+  \"image\": \"i:2\"\n")]
        );
        assert_eq!(errors(&spec(r#""ephemeralContainers": []"#)), [format!("{start} removed\n")]);
    }

    fn check_resize(containers: &str, expected: &[&str]) {
        let new = spec(&format!(r#""containers": {containers}"#));
        assert_eq!(put(RESIZE, &old(), &new).1, expected, "{containers}");
    }

    #[test]
    fn only_sizes_are_resized() {
        let new = spec(
            r#""containers": [{"name": "a", "image": "other:2", "resources": {"requests": {"cpu": "2", "x.y/z": "1"},
                "limits": {"x.y/z": "1"}}}, {"name": "b", "image": "other:2"}]"#,
        );
        let (object, errors) = put(RESIZE, &old(), &new);
        assert_eq!(errors, [""; 0]);
        let spec = object.fields.map("spec").cloned().unwrap_or_default();
        let first = spec.maps("containers").next().cloned().unwrap_or_default();
        assert_eq!(first.str("image"), Some("i:1"));
        assert_eq!(first.at("resources.requests.cpu"), Some(&"2".into()));
        assert_eq!((spec.str("nodeName"), object.meta.generation), (None, 2));
    }

    #[test]
    fn containers_stay_the_same_ones_in_the_same_order() {
        let a = r#"{"name": "a", "image": "i:1", "resources": {"requests": {"cpu": "1", "x.y/z": "1"},
            "limits": {"x.y/z": "1"}}}"#;
        check_resize(
            &format!("[{a}]"),
            &["spec.containers: Forbidden: containers may not be added or removed on resize"],
        );
        check_resize(
            &format!(r#"[{a}, {{"name": "c", "image": "i:1"}}]"#),
            &["spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize"],
        );
    }

    #[test]
    fn only_cpu_and_memory_can_be_resized_and_not_taken_away() {
        check_resize(
            r#"[{"name": "a", "image": "i:1", "resources": {"requests": {"cpu": "1", "x.y/z": "2"}, "limits": {"x.y/z": "2"}}},
                {"name": "b", "image": "i:1"}]"#,
            &["spec: Forbidden: only cpu and memory resources are mutable"],
        );
        check_resize(
            r#"[{"name": "a", "image": "i:1", "resources": {"requests": {"memory": "1Gi", "x.y/z": "1"},
                "limits": {"x.y/z": "1"}}}, {"name": "b", "image": "i:1"}]"#,
            &["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
        );
    }

    #[test]
    fn the_class_of_a_pod_does_not_change_with_its_size() {
        check_resize(
            r#"[{"name": "a", "image": "i:1", "resources": {"requests": {"x.y/z": "1"}, "limits": {"x.y/z": "1"}}},
                {"name": "b", "image": "i:1"}]"#,
            &[
                "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing",
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
            ],
        );
    }

    #[test]
    fn pods_of_nodes_themselves_have_no_parts_that_change() {
        let mut mirror = old();
        mirror.meta.annotations.set(MIRROR, "x");
        for (part, expected) in [
            (EPHEMERAL_CONTAINERS, "[]: Forbidden: static pods do not support ephemeral containers"),
            (RESIZE, "[]: Forbidden: static pods cannot be resized"),
        ] {
            assert_eq!(put(part, &mirror, OLD).1, [expected]);
        }
    }

    #[test]
    fn who_binds_owns_nothing() {
        let mut old = old();
        old.meta.managed_fields = vec![tree(r#"{"manager": "m"}"#)];
        let (object, errors) = put(BINDING, &old, &spec(r#""containers": []"#));
        assert_eq!(errors, [""; 0]);
        assert_eq!(object.meta.managed_fields, old.meta.managed_fields);
        assert_eq!(object.fields.at("spec.nodeName"), Some(&"n".into()));
    }
}
