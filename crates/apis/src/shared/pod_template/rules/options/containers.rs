//! Features that the containers of an old object use.

use keelson_object::Map;

/// Whether an environment variable comes from a file.
pub(super) fn reads_file(container: &Map) -> bool {
    container.maps("env").any(|it| it.map("valueFrom").is_some_and(|it| it.map("fileKeyRef").is_some()))
}

/// Upstream: pkg/api/pod/util.go, containerRestartRulesInUse (v1.36.4).
pub(crate) fn has_restart_rules(spec: &Map) -> bool {
    spec.maps("initContainers").any(|it| {
        it.str("restartPolicy").is_some_and(|policy| policy != "Always") || !it.list(RULES).is_empty()
    }) || spec.maps("containers").any(|it| it.str("restartPolicy").is_some())
}

/// Upstream: pkg/api/pod/util.go, restartAllContainersActionInUse (v1.36.4).
pub(super) fn restarts_all(spec: &Map) -> bool {
    let mut rules = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| spec.maps(list))
        .flat_map(|it| it.maps(RULES));
    rules.any(|rule| rule.str("action") == Some("RestartAllContainers"))
        || spec.maps("initContainers").any(|it| is_sidecar(it) && !it.list(RULES).is_empty())
}

/// Upstream: pkg/api/pod/util.go, hasRestartContainerForNonSidecarInitContainer (v1.36.4).
pub(super) fn restarts_to_resize_init(spec: &Map) -> bool {
    let mut policies =
        spec.maps("initContainers").filter(|it| !is_sidecar(it)).flat_map(|it| it.maps("resizePolicy"));
    policies.any(|it| it.str("restartPolicy") == Some("RestartContainer"))
}

const RULES: &str = "restartPolicyRules";

fn is_sidecar(container: &Map) -> bool {
    container.str("restartPolicy") == Some("Always")
}
