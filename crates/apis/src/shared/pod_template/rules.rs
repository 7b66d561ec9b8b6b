//! What must hold for the spec of a pod, wherever it stands.

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, Path};

/// What a pod does when a container ends.
const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// Checks a template: labels, then the spec.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodTemplateSpec (v1.36.4).
pub(crate) fn check(template: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(labels) = template.map("metadata").and_then(|meta| meta.map("labels")) {
        validate_labels(labels, &at.key("labels"), errors);
    }
    let spec_at = at.key("spec");
    check_spec(template.map("spec").unwrap_or(&Map::new()), &spec_at, errors);
    if template.map("spec").is_some_and(|spec| !spec.list("ephemeralContainers").is_empty()) {
        let detail = "ephemeral containers not allowed in pod template";
        errors.forbidden(&spec_at.key("ephemeralContainers"), detail);
    }
}

/// Checks containers and the restart policy.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec (v1.36.4), in its order.
pub(crate) fn check_spec(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_containers(spec, at, errors);
    let at = at.key("restartPolicy");
    match spec.str("restartPolicy").unwrap_or_default() {
        "" => errors.required(&at, ""),
        policy if RESTART_POLICIES.contains(&policy) => {}
        policy => errors.not_supported(&at, policy, &RESTART_POLICIES),
    }
}

/// Names are unique among all containers; a collision is reported where the later list has it.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainers, validateInitContainers and
/// validateEphemeralContainers (v1.36.4).
fn check_containers(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if spec.list("containers").is_empty() {
        errors.required(&at.key("containers"), "");
    }
    let mut names = HashSet::new();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let at = at.key(list);
        for (position, container) in spec.maps(list).enumerate() {
            let at = at.index(position);
            check_container(container, &at, errors);
            let name = container.str("name").unwrap_or_default();
            let counts = list != "initContainers" || !name.is_empty();
            if names.contains(name) {
                errors.duplicate(&at.key("name"), name);
            } else if counts {
                names.insert(name);
            }
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerCommon (v1.36.4): name and image.
fn check_container(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let name = container.str("name").unwrap_or_default();
    if name.is_empty() {
        errors.required(&at.key("name"), "");
    } else {
        for message in name_rules::dns1123_label(name) {
            errors.invalid(&at.key("name"), name, message);
        }
    }
    if container.str("image").is_none_or(str::is_empty) {
        errors.required(&at.key("image"), "");
    }
}
