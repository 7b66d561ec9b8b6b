//! Resizing: the amounts of cpu and memory of containers, and of a pod as a whole, while it runs.

use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::same::{same, same_amounts, same_but, same_map};
use super::{qos, whole};
use crate::shared::edit::parts;
use crate::shared::lookup::Lookup;
use crate::shared::pod_template::rules::PodRules;

/// The lists whose containers can be resized.
const LISTS: [&str; 2] = ["containers", "initContainers"];

/// The resources that can be resized.
const RESIZED: [&str; 2] = ["cpu", "memory"];

/// Keeps only changes of resources and resize policies. Containers that were added, removed, renamed or moved
/// are kept; validation rejects that.
///
/// Upstream: pkg/registry/core/pod/strategy.go, dropNonResizeUpdates (v1.36.4).
pub(super) fn prepare(object: &mut Object, old: &Object, rules: &PodRules) {
    let was = whole::spec(old);
    if LISTS.iter().any(|list| whole::spec(object).list(list).len() != was.list(list).len()) {
        return;
    }
    let new = whole::spec(object).clone();
    super::parts::keep_all(object, old);
    let spec = object.fields.map_mut("spec");
    if rules.pod_level_resize {
        spec.keep("resources", &new);
    }
    for list in LISTS {
        if !new.maps(list).zip(was.maps(list)).all(|(new, was)| new.str("name") == was.str("name")) {
            spec.keep(list, &new);
            continue;
        }
        for (container, new) in parts(spec, list).zip(new.maps(list)) {
            container.keep("resources", new);
            container.keep("resizePolicy", new);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodResize (v1.36.4).
pub(super) fn check(object: &Object, old: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    let (new, was, at) = (whole::spec(object), whole::spec(old), Path::root("spec"));
    whole::check(object, rules, errors);
    if qos::class(old) != qos::compute(new) {
        let class = whole::status(object).str("qosClass").unwrap_or_default();
        errors.invalid(&at, class, "Pod QOS Class may not change as a result of resizing");
    }
    if !node_resizes(old) {
        errors.forbidden(&at, "Pod running on node without support for resize");
    }
    if has_amounts(new) || has_amounts(was) {
        if !rules.pod_level_resize {
            let detail = "resize of pods with pod-level resources is forbidden when \
                InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
            return super::parts::refuse(errors, detail);
        }
        check_pod_level(new, was, &at, errors);
    }
    if !whole::status(old).list("nodeAllocatableResourceClaimStatuses").is_empty() {
        errors.forbidden(&at, "pods with node allocatable resource claims cannot be resized");
    }
    if !check_order(new, was, &at, errors) {
        return;
    }
    check_removed(new, was, rules, (&at, errors));
    check_others(new, was, rules, (&at, errors));
    // Everything else was taken from the old pod, except for empty resources.
    if errors.is_empty()
        && !has_amounts(new)
        && !has_amounts(was)
        && !same(new.get("resources"), was.get("resources"))
    {
        errors.forbidden(&at, "only cpu and memory resources are mutable");
    }
}

/// Whether the pod has pod-level requests or limits.
fn has_amounts(spec: &Map) -> bool {
    let list = |field| spec.map("resources").and_then(|it| it.map(field));
    [list("requests"), list("limits")].into_iter().flatten().any(|it| !it.is_empty())
}

/// Whether the node of a running pod reports the resources of containers, which only nodes do that support
/// resizing.
///
/// Upstream: pkg/apis/core/validation/validation.go, isPodResizeRequestSupported (v1.36.4).
fn node_resizes(old: &Object) -> bool {
    let is_running = |it: &&Map| it.map("state").is_some_and(|state| state.map("running").is_some());
    let running = whole::status(old).maps("containerStatuses").find(is_running);
    running.is_none_or(|it| it.map("resources").is_some())
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodLevelResourcesResize (v1.36.4).
fn check_pod_level(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let resources_at = at.key("resources");
    let (new, was) = (new.map("resources"), was.map("resources"));
    if was.is_some() && new.is_none() {
        return errors.forbidden(&resources_at, "pod-level resources cannot be removed");
    }
    for list in ["requests", "limits"] {
        if was.is_some_and(|was| is_removed(new, Some(was), list)) {
            errors.forbidden(&resources_at.key(list), format!("pod-level resource {list} cannot be removed"));
        }
    }
    fn claims(resources: Option<&Map>) -> &[Value] {
        resources.map(|it| it.list("claims")).unwrap_or_default()
    }
    if !same_lists(new, was) || claims(new) != claims(was) {
        errors.forbidden(at, "only cpu and memory resources are mutable at pod-level");
    }
}

/// Whether only cpu and memory differ.
fn same_lists(new: Option<&Map>, was: Option<&Map>) -> bool {
    fn amounts<'m>(resources: Option<&'m Map>, list: &str) -> Option<&'m Map> {
        resources?.map(list)
    }
    ["requests", "limits"].iter().all(|list| same_amounts(amounts(new, list), amounts(was, list), &RESIZED))
}

/// Checks that the containers are the same ones in the same order; returns whether they are.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePodResizeContainerOrdering (v1.36.4).
fn check_order(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let mut is_kept = true;
    for list in LISTS {
        let at = at.key(list);
        if new.list(list).len() != was.list(list).len() {
            is_kept = false;
            errors.forbidden(&at, format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (position, (new, was)) in new.maps(list).zip(was.maps(list)).enumerate() {
            if new.str("name") != was.str("name") {
                is_kept = false;
                let detail = format!("{list} may not be renamed or reordered on resize");
                errors.forbidden(&at.index(position).key("name"), detail);
            }
        }
    }
    is_kept
}

fn is_sidecar(container: &Map) -> bool {
    container.str("restartPolicy") == Some("Always")
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerResize (v1.36.4).
fn check_removed(new: &Map, was: &Map, rules: &PodRules, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    for list in LISTS.into_iter().rev() {
        let list_at = at.key(list);
        for (position, (new, was)) in new.maps(list).zip(was.maps(list)).enumerate() {
            if list == "initContainers" && !rules.init_container_resize && !is_sidecar(was) {
                continue;
            }
            let container_at = list_at.index(position);
            let at = container_at.key("resources");
            for list in ["requests", "limits"] {
                if is_removed(new.map("resources"), was.map("resources"), list) {
                    errors.forbidden(&at.key(list), format!("resource {list} cannot be removed"));
                }
            }
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, resourcesRemoved (v1.36.4).
fn is_removed(new: Option<&Map>, was: Option<&Map>, list: &str) -> bool {
    let new = Lookup::of(new.and_then(|it| it.map(list)));
    was.and_then(|it| it.map(list)).into_iter().flat_map(Map::iter).any(|(name, _)| !new.contains(name))
}

/// Checks that only cpu and memory change, and only in containers that can be resized.
fn check_others(new: &Map, was: &Map, rules: &PodRules, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    for (new, was) in new.maps("containers").zip(was.maps("containers")) {
        if !is_kept(new, was) {
            errors.forbidden(at, "only cpu and memory resources are mutable");
        }
    }
    let list_at = at.key("initContainers");
    for (position, (new, was)) in new.maps("initContainers").zip(was.maps("initContainers")).enumerate() {
        let at_container = list_at.index(position);
        let is_changed = !same_map(new, was);
        if !is_sidecar(new) && !rules.init_container_resize {
            if is_changed {
                errors.forbidden(at, "resources for non-sidecar init containers are immutable");
            }
            continue;
        }
        if !is_kept(new, was) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            errors.forbidden(&at_container, detail);
        }
        let restarts = |it: &&Map| it.str("restartPolicy") == Some("RestartContainer");
        if is_changed && !is_sidecar(new) {
            for _ in new.maps("resizePolicy").filter(restarts) {
                let detail =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                errors.forbidden(&at_container, detail);
            }
        }
    }
}

/// Whether a container is unchanged except for cpu and memory. Upstream drops claims here, so containers with
/// claims cannot be resized.
///
/// Upstream: pkg/apis/core/validation/validation.go, dropCPUMemoryResourcesFromContainer (v1.36.4).
fn is_kept(new: &Map, was: &Map) -> bool {
    let resources = was.map("resources");
    same_but(new, was, "resources")
        && same_lists(new.map("resources"), resources)
        && resources.is_none_or(|it| it.list("claims").is_empty())
}
