//! Validation of restart rules, resize policies and pull policies.

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Path};

use crate::shared::pod_template::rules::PodRules;

/// Checks when an image is pulled.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePullPolicy (v1.36.4).
pub(in crate::shared::pod_template) fn check_pull_policy(
    policy: &str,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    match policy {
        "Always" | "IfNotPresent" | "Never" => {}
        "" => errors.required(at, ""),
        _ => errors.not_supported(at, policy, &["Always", "IfNotPresent", "Never"]),
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateResizePolicy (v1.36.4).
pub(super) fn check_resize_policy(container: &Map, at: &Path<'_>, of_pod: &str, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for (position, policy) in container.maps("resizePolicy").enumerate() {
        let resource = policy.str("resourceName").unwrap_or_default();
        let restart = policy.str("restartPolicy").unwrap_or_default();
        if !seen.insert(resource) {
            errors.duplicate(&at.index(position), resource);
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.required(at, ""),
            _ => errors.not_supported(at, resource, &["cpu", "memory"]),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.required(at, ""),
            _ => errors.not_supported(at, restart, &["NotRequired", "RestartContainer"]),
        }
        if of_pod == "Never" && restart != "NotRequired" {
            errors.invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// A regular init container cannot be restarted for a resize.
pub(super) fn check_init_resize(container: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, policy) in container.maps("resizePolicy").enumerate() {
        if policy.str("restartPolicy") == Some("RestartContainer") {
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.invalid(&at.index(position).key("restartPolicy"), "RestartContainer", detail);
        }
    }
}

/// Checks when a container of the main list restarts.
pub(super) fn check_policy(container: &Map, at: &Path<'_>, rules: &PodRules, errors: &mut FieldErrors) {
    if rules.container_restart_rules {
        check_rules(container, at, rules, errors);
    } else if container.str("restartPolicy").is_some() {
        errors.forbidden(&at.key("restartPolicy"), "may not be set for non-init containers");
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateInitContainerRestartPolicy (v1.36.4).
pub(super) fn check_init_policy(container: &Map, at: &Path<'_>, rules: &PodRules, errors: &mut FieldErrors) {
    let has_rules = !container.list("restartPolicyRules").is_empty();
    match container.str("restartPolicy") {
        None if has_rules => errors.required(&at.key("restartPolicy"), NEEDS_POLICY),
        None => {}
        Some("Always") if !rules.container_restart_rules => {}
        Some(policy) if !rules.container_restart_rules => {
            errors.not_supported(&at.key("restartPolicy"), policy, &["Always"]);
        }
        Some("Always") if !rules.restart_all_containers && has_rules => {
            let detail = "restartPolicyRules are not allowed for init containers with restart policy Always";
            errors.forbidden(&at.key("restartPolicyRules"), detail);
        }
        Some("Always") if !rules.restart_all_containers => {}
        Some(_) => check_rules(container, at, rules, errors),
    }
}

const NEEDS_POLICY: &str = "must specify restartPolicy when restart rules are used";

/// Upstream: pkg/apis/core/validation/validation.go, validateContainerRestartPolicy (v1.36.4).
fn check_rules(container: &Map, at: &Path<'_>, rules: &PodRules, errors: &mut FieldErrors) {
    const POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
    const OPERATORS: [&str; 2] = ["In", "NotIn"];
    const MAX_RULES: usize = 20;
    const MAX_CODES: usize = 255;
    let actions: &[&str] =
        if rules.restart_all_containers { &["Restart", "RestartAllContainers"] } else { &["Restart"] };
    let list = container.list("restartPolicyRules");
    match container.str("restartPolicy") {
        None if list.is_empty() => return,
        None => errors.required(&at.key("restartPolicy"), NEEDS_POLICY),
        Some(policy) if POLICIES.contains(&policy) => {}
        Some(policy) => errors.not_supported(&at.key("restartPolicy"), policy, &POLICIES),
    }
    let at = at.key("restartPolicyRules");
    if list.len() > MAX_RULES {
        errors.too_many(&at, list.len(), MAX_RULES);
    }
    for (position, rule) in container.maps("restartPolicyRules").enumerate() {
        let at = at.index(position);
        let action = rule.str("action").unwrap_or_default();
        if !actions.contains(&action) {
            errors.not_supported(&at.key("action"), action, actions);
        }
        let codes_at = at.key("exitCodes");
        let Some(codes) = rule.map("exitCodes") else {
            errors.required(&codes_at, "must be specified");
            continue;
        };
        let operator = codes.str("operator").unwrap_or_default();
        if !OPERATORS.contains(&operator) {
            errors.not_supported(&codes_at.key("operator"), operator, &OPERATORS);
        }
        if codes.list("values").len() > MAX_CODES {
            errors.too_many(&codes_at.key("values"), codes.list("values").len(), MAX_CODES);
        }
    }
}
