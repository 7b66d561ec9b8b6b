//! Default requests and limits of containers.

use keelson_object::{Map, Object};

use crate::pods::maps_mut;

/// The annotation that lists the defaults that were set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Sets the defaults of a limit range on the containers of a pod.
///
/// Upstream: plugin/pkg/admission/limitranger/admission.go, mergePodResourceRequirements (v1.36.4).
pub(super) fn give(pod: &mut Object, limits: &Map) {
    let requests = together(limits, "defaultRequest");
    let limits = together(limits, "default");
    if requests.is_empty() && limits.is_empty() {
        return;
    }
    let mut given = Vec::new();
    let spec = pod.fields.map_mut("spec");
    for (key, what) in [("containers", "container"), ("initContainers", "init container")] {
        for container in maps_mut(spec, key) {
            let name = format!("{what} {}", container.str("name").unwrap_or_default());
            // Both are computed before the annotation is written: requests are listed first.
            let set_limits = fill(container, "limits", &limits);
            let set_requests = fill(container, "requests", &requests);
            for (names, word) in [(set_requests, "request"), (set_limits, "limit")] {
                if !names.is_empty() {
                    given.push(format!("{} {word} for {name}", names.join(", ")));
                }
            }
        }
    }
    if !given.is_empty() {
        pod.meta.annotations.set(ANNOTATION, format!("LimitRanger plugin set: {}", given.join("; ")));
    }
}

/// The defaults of a limit range for containers; the last item that names a resource wins.
fn together(limits: &Map, field: &str) -> Map {
    let mut all = Map::new();
    for limit in limits.maps("limits").filter(|it| it.str("type") == Some("Container")) {
        for (name, amount) in limit.map(field).into_iter().flat_map(Map::iter) {
            all.set(name.clone(), amount.clone());
        }
    }
    all
}

/// Fills in defaults; returns the names that were missing, in order.
fn fill(container: &mut Map, field: &str, defaults: &Map) -> Vec<String> {
    let has = container.map("resources").and_then(|it| it.map(field));
    let is_missing = |name: &str| has.is_none_or(|it| !it.contains(name));
    let missing: Vec<_> = defaults.iter().filter(|(name, _)| is_missing(name)).collect();
    let mut names: Vec<String> = missing.iter().map(|(name, _)| name.to_string()).collect();
    names.sort_unstable();
    if !missing.is_empty() {
        let slot = container.map_mut("resources").map_mut(field);
        for (name, amount) in missing {
            slot.set(name.clone(), amount.clone());
        }
        slot.sort_keys();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::give;
    use crate::testing::{map, object};

    #[track_caller]
    fn check(limit: &str, containers: &str, expected: &str, annotation: Option<&str>) {
        let limits = map(&format!(r#"{{"limits":[{limit}]}}"#));
        let mut pod = object(&format!(r#"{{"spec":{{"containers":{containers}}}}}"#));
        give(&mut pod, &limits);
        assert_eq!(pod.fields, map(&format!(r#"{{"spec":{{"containers":{expected}}}}}"#)));
        assert_eq!(pod.meta.annotations.get("kubernetes.io/limit-ranger"), annotation);
    }

    #[test]
    fn a_container_gets_what_it_does_not_ask_for() {
        let limit =
            r#"{"type":"Container","default":{"memory":"1Gi","cpu":"1"},"defaultRequest":{"cpu":"500m"}}"#;
        check(
            limit,
            r#"[{"name":"a"}]"#,
            r#"[{"name":"a","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}]"#,
            Some("LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a"),
        );
        let full =
            r#"[{"name":"a","resources":{"limits":{"cpu":"2","memory":"2Gi"},"requests":{"cpu":"1"}}}]"#;
        check(limit, full, full, None);
        check(r#"{"type":"Pod","max":{"cpu":"1"}}"#, r#"[{"name":"a"}]"#, r#"[{"name":"a"}]"#, None);
    }
}
