//! Validation of pod status updates by nodes.

mod addresses;
mod claims;
mod devices;
mod transitions;

pub(super) use addresses::warnings;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::whole;
use crate::shared::pod_template::rules::PodRules;
use crate::shared::pod_template::rules::security::check_id;

/// The lists of container statuses, and the lists of their containers.
const LISTS: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", "ephemeralContainers"),
];

/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodStatusUpdate (v1.36.4).
pub(super) fn check(object: &Object, old: &Object, rules: &PodRules, errors: &mut FieldErrors) {
    whole::check_annotations(object, old, rules, errors);
    let (new, was) = (whole::status(object), whole::status(old));
    let (spec, at) = (whole::spec(object), Path::root("status"));
    check_conditions(new, &at.key("conditions"), errors);
    check_nominated(new, was, (whole::spec(old), rules), (&at.key("nominatedNodeName"), errors));
    check_generation(new, &at.key("observedGeneration"), errors);
    let class = new.str("qosClass").unwrap_or_default();
    if class != was.str("qosClass").unwrap_or_default() {
        errors.invalid(&at.key("qosClass"), class, "field is immutable");
    }
    transitions::check(new, was, whole::spec(old), (rules, &at, errors));
    claims::check(new, spec, &at, errors);
    addresses::check(new, was, rules, (&at, errors));
    for (list, _) in LISTS {
        check_users(new, list, spec, (&at.key(list), errors));
    }
    devices::check(new, spec, &at, errors);
    if rules.image_volume_digest {
        LISTS.iter().for_each(|(list, _)| check_image_volumes(new, list, &at.key(list), errors));
    }
}

fn check_generation(holder: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(number) = holder.int("observedGeneration").filter(|number| *number < 0) {
        errors.invalid(at, number, "must be a non-negative integer");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validatePodConditions (v1.36.4).
fn check_conditions(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, condition) in status.maps("conditions").enumerate() {
        let at = at.index(position);
        check_generation(condition, &at.key("observedGeneration"), errors);
        let kind = condition.str("type").unwrap_or_default();
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            // The path is upstream's.
            errors.invalid_each(&at.key("Type"), kind, name_rules::qualified_name(kind));
        }
    }
}

/// A nominated node can be set while the pod is not assigned to a node.
fn check_nominated(
    new: &Map,
    was: &Map,
    (spec, rules): (&Map, &PodRules),
    (at, errors): (&Path<'_>, &mut FieldErrors),
) {
    let name = new.str("nominatedNodeName").unwrap_or_default();
    if name.is_empty() || name == was.str("nominatedNodeName").unwrap_or_default() {
        return;
    }
    errors.invalid_each(at, name, name_rules::dns1123_subdomain(name));
    let is_bound = spec.str("nodeName").is_some_and(|it| !it.is_empty());
    if is_bound && rules.nominated_until_bound {
        errors.forbidden(at, "may not be set on pods that are already bound to a node");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerStatusUsers (v1.36.4).
fn check_users(status: &Map, list: &str, spec: &Map, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    let os = spec.map("os").map_or("linux", |os| os.str("name").unwrap_or_default());
    for (position, container) in status.maps(list).enumerate() {
        let Some(user) = container.at("user.linux").and_then(Value::as_map) else { continue };
        let container_at = at.index(position);
        let at = container_at.key("user.linux");
        match os {
            "windows" => errors.forbidden(&at, "cannot be set for a windows pod"),
            "linux" => {
                for field in ["uid", "gid"] {
                    check_id(user.get(field), &at.key(field), errors);
                }
                let at = at.key("supplementalGroups");
                for (position, group) in user.list("supplementalGroups").iter().enumerate() {
                    check_id(Some(group), &at.index(position), errors);
                }
            }
            _ => {}
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateVolumeStatus (v1.36.4). The path is upstream's.
fn check_image_volumes(status: &Map, list: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    const MAX_REFERENCE: usize = 256;
    for (position, container) in status.maps(list).enumerate() {
        let container_at = at.index(position);
        let at = container_at.key("volumeMounts");
        for (position, mount) in container.maps("volumeMounts").enumerate() {
            let Some(image) = mount.at("volumeStatus.image").and_then(Value::as_map) else { continue };
            let mount_at = at.index(position);
            let at = mount_at.key("volumeStatus.imageVolumeStatus.imageRef");
            match image.str("imageRef").unwrap_or_default().len() {
                0 => errors.required(&at, "imageRef must not be empty"),
                length if length > MAX_REFERENCE => errors.too_long(&at, MAX_REFERENCE),
                _ => {}
            }
        }
    }
}
