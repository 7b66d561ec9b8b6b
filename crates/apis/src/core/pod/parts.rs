//! Parts of a pod that have addresses of their own: ephemeral containers, and the sizes of containers.

use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;

use super::qos;
use crate::shared::edit::parts;
use crate::shared::pod_template::{self, PodRules};

pub(super) const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";
pub(super) const RESIZE: &str = "resize";
pub(super) const BINDING: &str = "binding";
pub(super) const EVICTION: &str = "eviction";

/// Pods that a node made on its own have this; nobody else can change them.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// The lists whose containers can be resized.
const RESIZED_LISTS: [&str; 2] = ["containers", "initContainers"];

/// Leaves only what belongs to the part.
pub(super) fn prepare(part: &str, object: &mut Object, old: &Object) {
    match part {
        EPHEMERAL_CONTAINERS => keep_all_but_ephemeral_containers(object, old),
        RESIZE => keep_all_but_sizes(object, old),
        // Whoever binds or evicts a pod starts from what is there, and owns nothing of it.
        BINDING | EVICTION => {
            object.meta.managed_fields = old.meta.managed_fields.clone();
            return;
        }
        _ => object.fields = old.fields.clone(),
    }
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

/// Containers that were added, removed, renamed or moved stay so; validation refuses that.
///
/// Upstream: pkg/registry/core/pod/strategy.go, dropNonResizeUpdates (v1.36.4).
fn keep_all_but_sizes(object: &mut Object, old: &Object) {
    let empty = Map::new();
    let new = object.fields.map("spec").cloned().unwrap_or_default();
    if order_errors(&new, old.fields.map("spec").unwrap_or(&empty)).next().is_some() {
        return;
    }
    keep_all(object, old);
    let spec = object.fields.map_mut("spec");
    spec.keep("resources", &new);
    for list in RESIZED_LISTS {
        for (container, new) in parts(spec, list).zip(new.maps(list)) {
            container.keep("resources", new);
            container.keep("resizePolicy", new);
        }
    }
}

/// Everything but the version that the client saw.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/meta.go, ResetObjectMetaForStatus (v1.36.4).
fn keep_all(object: &mut Object, old: &Object) {
    object.fields = old.fields.clone();
    let (meta, old) = (&mut object.meta, &old.meta);
    meta.labels = old.labels.clone();
    meta.annotations = old.annotations.clone();
    meta.finalizers = old.finalizers.clone();
    meta.owner_references = old.owner_references.clone();
    meta.deletion_timestamp = old.deletion_timestamp;
}

/// What is wrong with a change of the part.
pub(super) fn check(part: &str, object: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (new, was) = (object.fields.map("spec").unwrap_or(&empty), old.fields.map("spec").unwrap_or(&empty));
    let is_mirror = old.meta.annotations.get(MIRROR).is_some();
    match part {
        EPHEMERAL_CONTAINERS if is_mirror => {
            refuse(errors, "static pods do not support ephemeral containers")
        }
        EPHEMERAL_CONTAINERS => check_ephemeral_containers(new, was, errors),
        RESIZE if is_mirror => refuse(errors, "static pods cannot be resized"),
        RESIZE if was.at("os.name").and_then(Value::as_str) == Some("windows") => {
            refuse(errors, "windows pods cannot be resized");
        }
        RESIZE => check_resize(object, old, errors),
        _ => {}
    }
}

/// Upstream reports this at a path whose only element has no name.
fn refuse(errors: &mut FieldErrors, why: &str) {
    errors.forbidden(&Path::root("[]"), why);
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodEphemeralContainersUpdate (v1.36.4).
fn check_ephemeral_containers(new: &Map, was: &Map, errors: &mut FieldErrors) {
    const LIST: &str = "ephemeralContainers";
    pod_template::check_spec(new, None, &PodRules::default(), &Path::root("spec"), errors);
    let spec_at = Path::root("spec");
    let at = spec_at.key(LIST);
    for old in was.maps(LIST) {
        let name = old.str("name").unwrap_or_default();
        match new.maps(LIST).filter(|it| it.str("name") == Some(name)).last() {
            None => {
                errors.forbidden(&at, format!("existing ephemeral containers {name:?} may not be removed\n"));
            }
            Some(there) if there != old => {
                errors.forbidden(&at, format!("existing ephemeral containers {name:?} may not be changed\n"));
            }
            Some(_) => {}
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodResize (v1.36.4): what can be changed at all.
fn check_resize(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let (empty, at) = (Map::new(), Path::root("spec"));
    let (new, was) = (object.fields.map("spec").unwrap_or(&empty), old.fields.map("spec").unwrap_or(&empty));
    pod_template::check_spec(new, None, &PodRules::default(), &at, errors);
    let class = qos::class(old);
    if class != qos::compute(new) {
        errors.invalid(&at, class.as_str(), "Pod QOS Class may not change as a result of resizing");
    }
    if !node_resizes(old) {
        errors.forbidden(&at, "Pod running on node without support for resize");
    }
    let mut is_moved = false;
    for (at, why) in order_errors(new, was) {
        is_moved = true;
        errors.forbidden(&Path::root(&at), why);
    }
    if is_moved {
        return;
    }
    for list in RESIZED_LISTS.into_iter().rev() {
        for (position, (container, old)) in new.maps(list).zip(was.maps(list)).enumerate() {
            let list_at = at.key(list);
            let at = list_at.index(position);
            check_removed(container, old, &at.key("resources"), errors);
            if !only_cpu_and_memory_differ(container, old) {
                match list {
                    "containers" => {
                        errors.forbidden(&Path::root("spec"), "only cpu and memory resources are mutable");
                    }
                    _ => errors.forbidden(
                        &at,
                        "only cpu and memory resources for init or sidecar containers are mutable",
                    ),
                }
            }
        }
    }
}

/// Whether the node of a running pod tells the sizes of containers, which only nodes do that can change them.
fn node_resizes(old: &Object) -> bool {
    let statuses = old.fields.map("status").into_iter().flat_map(|it| it.maps("containerStatuses"));
    let mut running = statuses.filter(|it| it.map("state").is_some_and(|state| state.contains("running")));
    running.next().is_none_or(|it| it.map("resources").is_some())
}

/// Where containers are not the same ones in the same order.
fn order_errors<'s>(new: &'s Map, was: &'s Map) -> impl Iterator<Item = (String, String)> + use<'s> {
    RESIZED_LISTS.into_iter().flat_map(move |list| {
        let is_longer = new.list(list).len() != was.list(list).len();
        let length = is_longer
            .then(|| (format!("spec.{list}"), format!("{list} may not be added or removed on resize")));
        let pairs = new.maps(list).zip(was.maps(list)).enumerate();
        let renamed = pairs.filter(move |(_, (new, was))| !is_longer && new.str("name") != was.str("name"));
        let names = renamed.map(move |(position, _)| {
            let text = format!("{list} may not be renamed or reordered on resize");
            (format!("spec.{list}[{position}].name"), text)
        });
        length.into_iter().chain(names)
    })
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResize (v1.36.4).
fn check_removed(container: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for list in ["requests", "limits"] {
        let amounts = |it: &Map| it.map("resources").and_then(|it| it.map(list)).cloned().unwrap_or_default();
        let (new, old) = (amounts(container), amounts(old));
        if old.iter().any(|(name, _)| !new.contains(name)) {
            errors.forbidden(&at.key(list), format!("resource {list} cannot be removed"));
        }
    }
}

fn only_cpu_and_memory_differ(container: &Map, old: &Map) -> bool {
    let rest = |container: &Map| {
        let mut container = container.clone();
        if let Some(resources) = crate::shared::edit::part(&mut container, "resources") {
            for list in ["requests", "limits"] {
                if let Some(list) = crate::shared::edit::part(resources, list) {
                    list.retain(|name, _| !matches!(name, "cpu" | "memory"));
                }
            }
            resources.retain(|_, value| !value.is_empty());
        }
        container.retain(|name, value| name != "resources" || !value.is_empty());
        container
    };
    rest(container) == rest(old)
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

    /// What becomes of `old` when somebody puts `new` to its part, and what is wrong with that.
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
        assert_eq!(errors(&ephemeral("i:2")), [format!("{start} changed\n")]);
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
