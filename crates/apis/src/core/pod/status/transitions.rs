//! Containers that ended and must not run again do not.

use std::collections::{HashMap, HashSet};

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::pod_template::rules::PodRules;

/// Upstream: pkg/apis/core/validation/validation.go, ValidateContainerStateTransition,
/// ValidateInitContainerStateTransition and ValidateEphemeralContainerStateTransition (v1.36.4).
pub(super) fn check(
    new: &Map,
    was: &Map,
    spec: &Map,
    (rules, at, errors): (&PodRules, &Path<'_>, &mut FieldErrors),
) {
    for (list, containers) in super::LISTS {
        if containers != "ephemeralContainers" && all_may_restart(spec, rules) {
            continue;
        }
        let at = at.key(list);
        let again = running_again(new, list);
        let by_name = containers_by_name(spec, containers);
        for (position, old) in was.maps(list).enumerate() {
            let Some(ended) = terminated(old) else { continue };
            let name = old.str("name").unwrap_or_default();
            let Some(times) = again.get(name) else { continue };
            let code = ended.int("exitCode").unwrap_or_default();
            let container = by_name.get(name).copied();
            if containers != "ephemeralContainers" && may_restart(container, containers, (spec, rules), code)
            {
                continue;
            }
            // With restart rules of containers the error is reported once.
            let follows_rules = containers != "ephemeralContainers" && rules.container_restart_rules;
            for _ in 0..if follows_rules { 1 } else { *times } {
                errors.forbidden(
                    &at.index(position).key("state"),
                    "may not be transitioned to non-terminated state",
                );
            }
        }
    }
}

fn terminated(status: &Map) -> Option<&Map> {
    status.map("state")?.map("terminated")
}

/// The containers that are not terminated, by name, and the number of their statuses.
fn running_again<'m>(status: &'m Map, list: &str) -> HashMap<&'m str, usize> {
    let mut names = HashMap::new();
    for container in status.maps(list).filter(|it| terminated(it).is_none()) {
        *names.entry(container.str("name").unwrap_or_default()).or_default() += 1;
    }
    names
}

/// Of several containers with the same name the first counts.
fn containers_by_name<'m>(spec: &'m Map, list: &str) -> HashMap<&'m str, &'m Map> {
    let mut containers = HashMap::new();
    for container in spec.maps(list) {
        containers.entry(container.str("name").unwrap_or_default()).or_insert(container);
    }
    containers
}

/// Whether a rule may restart all containers; or without restart rules of containers, whether the pod's
/// policy restarts them all.
///
/// Upstream: pkg/api/v1/pod/util.go, AllContainersCouldRestart (v1.36.4).
fn all_may_restart(spec: &Map, rules: &PodRules) -> bool {
    if !rules.container_restart_rules {
        return spec.str("restartPolicy") == Some("Always");
    }
    let actions = ["initContainers", "containers"].into_iter().flat_map(|list| {
        spec.maps(list).flat_map(|it| it.maps("restartPolicyRules")).filter_map(|rule| rule.str("action"))
    });
    rules.restart_all_containers && actions.collect::<HashSet<_>>().contains("RestartAllContainers")
}

fn may_restart(container: Option<&Map>, list: &str, (spec, rules): (&Map, &PodRules), code: i64) -> bool {
    if rules.container_restart_rules {
        return container.is_some_and(|it| restarts(it, spec, rules, code));
    }
    let is_sidecar =
        list == "initContainers" && container.is_some_and(|it| it.str("restartPolicy") == Some("Always"));
    is_sidecar || (code != 0 && spec.str("restartPolicy") == Some("OnFailure"))
}

/// Upstream: pkg/api/v1/pod/util.go, ContainerShouldRestart (v1.36.4).
fn restarts(container: &Map, spec: &Map, rules: &PodRules, code: i64) -> bool {
    let own = container.str("restartPolicy");
    if own.is_some() {
        let matching = container.maps("restartPolicyRules").find(|rule| matches_code(rule, code));
        match matching.and_then(|rule| rule.str("action")) {
            Some("Restart") => return true,
            Some("RestartAllContainers") if rules.restart_all_containers => return true,
            _ => {}
        }
    }
    let policy =
        own.filter(|it| matches!(*it, "Always" | "OnFailure" | "Never")).or(spec.str("restartPolicy"));
    match policy {
        Some("OnFailure") => code != 0,
        Some("Never") => false,
        _ => true,
    }
}

fn matches_code(rule: &Map, code: i64) -> bool {
    let Some(codes) = rule.map("exitCodes") else { return false };
    let is_there = codes.list("values").iter().any(|it| it == &Value::Int(code));
    match codes.str("operator") {
        Some("In") => is_there,
        Some("NotIn") => !is_there,
        _ => false,
    }
}
