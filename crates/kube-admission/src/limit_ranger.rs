//! LimitRanger: enforces the limits of a namespace on pods and claims, and sets default requests and limits.

mod constraint;
mod defaults;

use keelson_object::{Map, Object};
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::aggregate::aggregate;
use crate::amounts::{self, Amounts, PodLevel};
use crate::plugins::Settings;

/// The plugin.
pub(crate) struct LimitRanger {
    pod_level: PodLevel,
}

impl LimitRanger {
    /// A plugin for these feature gates.
    pub(crate) fn new(settings: &Settings) -> LimitRanger {
        let is_on = settings.is_on("PodLevelResources");
        LimitRanger { pod_level: if is_on { PodLevel::Counts } else { PodLevel::Ignored } }
    }
}

impl Plugin for LimitRanger {
    fn name(&self) -> &'static str {
        "LimitRanger"
    }

    /// The resources of a pod change by its size alone.
    ///
    /// Upstream: plugin/pkg/admission/limitranger/admission.go, SupportsAttributes (v1.36.4).
    fn handles(&self, request: &Request<'_>) -> bool {
        match (request.operation, request.subresource) {
            (Operation::Update, "resize") | (Operation::Create, "") if request.is_of("", "pods") => true,
            (Operation::Create | Operation::Update, "") => request.is_of("", "persistentvolumeclaims"),
            _ => false,
        }
    }

    /// Upstream: plugin/pkg/admission/limitranger/admission.go, PodMutateLimitFunc (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(pod) = object.filter(|_| request.resource.plural == "pods") else { return Ok(()) };
            for limits in ranges(request).await? {
                defaults::give(pod, limits.fields.map("spec").unwrap_or(&NONE));
            }
            Ok(())
        })
    }

    /// Upstream: plugin/pkg/admission/limitranger/admission.go, PodValidateLimitFunc (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let Some(spec) = object.and_then(|it| it.fields.map("spec")) else { return Ok(()) };
            for limits in ranges(request).await? {
                let limits = limits.fields.map("spec").unwrap_or(&NONE);
                let problems = match request.resource.plural.as_str() {
                    "pods" => pod_problems(spec, limits, self.pod_level),
                    _ => claim_problems(spec, limits),
                };
                if let Some(reason) = aggregate(problems) {
                    return Err(request.forbidden(object, reason));
                }
            }
            Ok(())
        })
    }
}

static NONE: Map = Map::new();

/// The limit ranges of the namespace; none if the object is terminating.
async fn ranges(request: &Request<'_>) -> Result<Vec<Object>> {
    if request.old.is_some_and(|it| it.meta.is_being_deleted()) {
        return Ok(Vec::new());
    }
    let live = request.context.reach("", "limitranges")?;
    let snapshot = live.cache()?.at_hand().await;
    if snapshot.is_empty() {
        return Ok(Vec::new());
    }
    snapshot.namespace(&request.place.namespace).map(|(_, it)| live.thaw(it)).collect()
}

fn pod_problems(spec: &Map, limits: &Map, pod_level: PodLevel) -> Vec<String> {
    let mut problems = Vec::new();
    for limit in limits.maps("limits") {
        match limit.str("type") {
            Some("Container") => {
                for container in spec.maps("containers").chain(spec.maps("initContainers")) {
                    let resources = container.map("resources").unwrap_or(&NONE);
                    let asked = constraint::Asked::of(resources);
                    constraint::check(limit, &asked, &mut problems);
                }
            }
            Some("Pod") => {
                let asked = constraint::Asked {
                    requests: amounts::of_pod(spec, "requests", pod_level),
                    limits: amounts::of_pod(spec, "limits", pod_level),
                };
                constraint::check(limit, &asked, &mut problems);
            }
            _ => {}
        }
    }
    problems
}

/// Only the requests of claims are checked.
///
/// Upstream: plugin/pkg/admission/limitranger/admission.go, PersistentVolumeClaimValidateLimitFunc (v1.36.4).
fn claim_problems(spec: &Map, limits: &Map) -> Vec<String> {
    let requests = amounts::read(spec.map("resources").and_then(|it| it.map("requests")));
    let asked = constraint::Asked { requests, limits: Amounts::new() };
    let mut problems = Vec::new();
    for limit in limits.maps("limits").filter(|it| it.str("type") == Some("PersistentVolumeClaim")) {
        constraint::check_requests(limit, &asked, &mut problems);
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{claim_problems, pod_problems};
    use crate::amounts::PodLevel;
    use crate::testing::map;

    #[track_caller]
    fn check(limit: &str, spec: &str, expected: &[&str]) {
        let limits = map(&format!(r#"{{"limits":[{limit}]}}"#));
        let spec = map(spec);
        let seen = match limit.contains("Claim") {
            true => claim_problems(&spec, &limits),
            false => pod_problems(&spec, &limits, PodLevel::Counts),
        };
        assert_eq!(seen, expected);
    }

    fn pod(requests: &str, limits: &str) -> String {
        format!(r#"{{"containers":[{{"resources":{{"requests":{requests},"limits":{limits}}}}}]}}"#)
    }

    #[test]
    fn a_container_stays_between_the_least_and_the_most() {
        let least = r#"{"type":"Container","min":{"cpu":"100m"}}"#;
        check(least, &pod(r#"{"cpu":"100m"}"#, "{}"), &[]);
        check(
            least,
            &pod("{}", "{}"),
            &["minimum cpu usage per Container is 100m.  No request is specified"],
        );
        check(
            least,
            &pod(r#"{"cpu":"50m"}"#, "{}"),
            &["minimum cpu usage per Container is 100m, but request is 50m"],
        );
        let most = r#"{"type":"Container","max":{"memory":"1Gi"}}"#;
        check(most, &pod("{}", "{}"), &["maximum memory usage per Container is 1Gi.  No limit is specified"]);
        check(
            most,
            &pod("{}", r#"{"memory":"2Gi"}"#),
            &["maximum memory usage per Container is 1Gi, but limit is 2Gi"],
        );
        check(most, &pod("{}", r#"{"memory":"1024Mi"}"#), &[]);
    }

    #[test]
    fn a_limit_is_not_far_above_the_request() {
        let ratio = r#"{"type":"Container","maxLimitRequestRatio":{"cpu":"2"}}"#;
        check(ratio, &pod(r#"{"cpu":"1"}"#, r#"{"cpu":"2"}"#), &[]);
        check(
            ratio,
            &pod(r#"{"cpu":"1"}"#, r#"{"cpu":"2500m"}"#),
            &["cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000"],
        );
        check(
            ratio,
            &pod("{}", r#"{"cpu":"1"}"#),
            &[
                "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
            ],
        );
    }

    #[test]
    fn a_pod_is_as_large_as_its_containers_together() {
        let most = r#"{"type":"Pod","max":{"cpu":"2"}}"#;
        let two = |init: &str, level: &str| {
            let one = r#"{"resources":{"limits":{"cpu":"1"}}}"#;
            let init = format!(r#"{{"resources":{{"limits":{{"cpu":"{init}"}}}}}}"#);
            format!(r#"{{"containers":[{one},{one}],"initContainers":[{init}]{level}}}"#)
        };
        check(most, &two("2", ""), &[]);
        check(most, &two("3", ""), &["maximum cpu usage per Pod is 2, but limit is 3"]);
        let level = r#","resources":{"limits":{"cpu":"4"}}"#;
        check(most, &two("1", level), &["maximum cpu usage per Pod is 2, but limit is 4"]);
    }

    #[test]
    fn a_claim_is_no_larger_than_it_may_be() {
        let claim = r#"{"resources":{"requests":{"storage":"3Gi"}}}"#;
        check(
            r#"{"type":"PersistentVolumeClaim","max":{"storage":"2Gi"}}"#,
            claim,
            &["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"],
        );
        check(
            r#"{"type":"PersistentVolumeClaim","min":{"storage":"4Gi"}}"#,
            claim,
            &["minimum storage usage per PersistentVolumeClaim is 4Gi, but request is 3Gi"],
        );
    }
}
