//! Validation of containers, init containers and ephemeral containers.

mod env;
mod handlers;
mod mounts;
mod ports;
mod restart;
mod security;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path};

pub(super) use self::restart::check_pull_policy;
use super::Around;
use super::resources::{self, Owner};
use crate::shared::edit::is_set;

/// Checks all lists of containers. Names are unique among all of them; a collision is reported where the later list
/// has it.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainers, validateInitContainers and
/// validateEphemeralContainers (v1.36.4).
pub(super) fn check(around: &Around<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut names = HashSet::new();
    check_regular(around, &at.key("containers"), &mut names, errors);
    check_init(around, &at.key("initContainers"), &mut names, errors);
    check_ephemeral(around, &at.key("ephemeralContainers"), &mut names, errors);
}

/// The names that were seen so far.
type Names<'s> = HashSet<&'s str>;

fn name(container: &Map) -> &str {
    container.str("name").unwrap_or_default()
}

fn check_regular<'s>(around: &Around<'s>, at: &Path<'_>, names: &mut Names<'s>, errors: &mut FieldErrors) {
    let spec = around.spec;
    if spec.list("containers").is_empty() {
        errors.required(at, "");
        return;
    }
    for (position, container) in spec.maps("containers").enumerate() {
        let at = at.index(position);
        check_common(container, &at, around, errors);
        if !names.insert(name(container)) {
            errors.duplicate(&at.key("name"), name(container));
        }
        handlers::check(container, &at, around, errors);
        restart::check_policy(container, &at, around.rules, errors);
    }
    ports::check_host_ports(spec.maps("containers"), at, errors);
}

fn check_init<'s>(around: &Around<'s>, at: &Path<'_>, names: &mut Names<'s>, errors: &mut FieldErrors) {
    let spec = around.spec;
    const ENDS: &str = "may not be set for init containers without restartPolicy=Always";
    for (position, container) in spec.maps("initContainers").enumerate() {
        let list_at = at;
        let at = at.index(position);
        check_common(container, &at, around, errors);
        restart::check_init_policy(container, &at, around.rules, errors);
        if names.contains(name(container)) {
            errors.duplicate(&at.key("name"), name(container));
        } else if !name(container).is_empty() {
            names.insert(name(container));
        }
        // They run one after the other, so that only a container itself can be in its way. Upstream counts each as
        // the first of its list.
        ports::check_host_ports(std::iter::once(container), list_at, errors);
        if container.str("restartPolicy") == Some("Always") {
            handlers::check(container, &at, around, errors);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if is_set(container, field) {
                errors.forbidden(&at.key(field), ENDS);
            }
        }
        if !around.rules.restart_resize_of_init {
            restart::check_init_resize(container, &at.key("resizePolicy"), errors);
        }
    }
}

/// Fields that ephemeral containers cannot have, in upstream's order; the flag marks those that may be empty.
const NOT_EPHEMERAL: [(&str, bool); 9] = [
    ("ports", true),
    ("resources", true),
    ("resizePolicy", true),
    ("restartPolicy", false),
    ("restartPolicyRules", true),
    ("livenessProbe", false),
    ("readinessProbe", false),
    ("startupProbe", false),
    ("lifecycle", false),
];

fn check_ephemeral<'s>(around: &Around<'s>, at: &Path<'_>, names: &mut Names<'s>, errors: &mut FieldErrors) {
    let spec = around.spec;
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    if spec.list("ephemeralContainers").is_empty() {
        return;
    }
    // Nameless init containers count here.
    names.extend(spec.maps("initContainers").map(name));
    let others = names.clone();
    for (position, container) in spec.maps("ephemeralContainers").enumerate() {
        let at = at.index(position);
        check_common(container, &at, around, errors);
        check_image_of_pod(container, &at, errors);
        if !names.insert(name(container)) {
            errors.duplicate(&at.key("name"), name(container));
        }
        let target = container.str("targetContainerName").unwrap_or_default();
        if !target.is_empty() && !others.contains(target) {
            errors.not_found(&at.key("targetContainerName"), target);
        }
        for (field, may_be_empty) in NOT_EPHEMERAL {
            let value = container.get(field);
            if value.is_some_and(|it| if may_be_empty { !it.is_empty() } else { !it.is_null() }) {
                errors.forbidden(&at.key(field), DETAIL);
            }
        }
        let mounts_at = at.key("volumeMounts");
        for (position, mount) in container.maps("volumeMounts").enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if mount.get(field).is_some_and(|it| !it.is_empty()) {
                    errors.forbidden(&mounts_at.index(position).key(field), DETAIL);
                }
            }
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerCommon (v1.36.4).
fn check_common(container: &Map, at: &Path<'_>, around: &Around<'_>, errors: &mut FieldErrors) {
    let name = name(container);
    if name.is_empty() {
        errors.required(&at.key("name"), "");
    } else {
        errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name));
    }
    if container.str("image").is_none_or(str::is_empty) {
        errors.required(&at.key("image"), "");
    }
    check_message_policy(container, &at.key("terminationMessagePolicy"), errors);
    ports::check(container, &at.key("ports"), errors);
    env::check(container, &at.key("env"), around.rules, errors);
    env::check_from(container, &at.key("envFrom"), errors);
    mounts::check(container, at, around, errors);
    let pull_policy = container.str("imagePullPolicy").unwrap_or_default();
    check_pull_policy(pull_policy, &at.key("imagePullPolicy"), errors);
    if let Some(resources) = container.map("resources") {
        resources::check(resources, Owner::Container, around, &at.key("resources"), errors);
    }
    restart::check_resize_policy(container, &at.key("resizePolicy"), around.restart_policy(), errors);
    if let Some(context) = container.map("securityContext") {
        security::check(context, &at.key("securityContext"), around, errors);
    }
}

fn check_message_policy(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
    match container.str("terminationMessagePolicy").unwrap_or_default() {
        "" => errors.required(at, ""),
        policy if POLICIES.contains(&policy) => {}
        policy => errors.not_supported(at, policy, &POLICIES),
    }
}

/// Checks the rules that apply to pods, not to templates.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainersOnlyForPod (v1.36.4).
pub(crate) fn check_for_pod(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for list in ["containers", "initContainers"] {
        let at = at.key(list);
        for (position, container) in spec.maps(list).enumerate() {
            check_image_of_pod(container, &at.index(position), errors);
        }
    }
}

/// The image of a container of a pod stands without spaces around it.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateContainerOnlyForPod (v1.36.4).
pub(crate) fn check_image_of_pod(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let image = container.str("image").unwrap_or_default();
    if image.trim().len() != image.len() {
        errors.invalid(&at.key("image"), image, "must not have leading or trailing whitespace");
    }
}
