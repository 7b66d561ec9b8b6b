//! What must hold for the containers of a pod.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

use super::Around;

/// Checks the three lists of containers.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainers, validateInitContainers and
/// validateEphemeralContainers (v1.36.4): names are unique among all containers; a collision is reported where the
/// later list has it.
pub(super) fn check(around: &Around<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let spec = around.spec;
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
        errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name));
    }
    if container.str("image").is_none_or(str::is_empty) {
        errors.required(&at.key("image"), "");
    }
}
