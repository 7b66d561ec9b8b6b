//! Quota usage of pods, and the requests and limits that containers must set where a quota counts cpu or
//! memory.

use std::collections::{BTreeMap, BTreeSet};

use keelson_object::scalar::Time;
use keelson_object::{Map, Object, SmolStr};

use super::scope::{PodTraits, Traits};
use crate::amounts::{Amounts, PodLevel, add, of_containers, pieces, raise, read};
use crate::pods::{is_best_effort, is_extended};

/// Resources that are counted under their own name and with the prefix `requests.`.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The names that belong to pods, but for huge pages and what others brought.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, podResources (v1.36.4).
const NAMES: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];

/// Requests and limits that every container must set if a quota counts them.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, validationSet (v1.36.4).
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/// The prefix of resource names that request devices by class.
pub(super) const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

static NONE: Map = Map::new();

/// Whether a quota of this resource name counts pods.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, podEvaluator.MatchingResources (v1.36.4).
pub(super) fn counts(name: &str) -> bool {
    let is_huge = |name: &str| name.starts_with("hugepages-");
    NAMES.contains(&name)
        || is_huge(name)
        || name.strip_prefix("requests.").is_some_and(is_huge)
        || is_extended_for_quota(name)
}

/// Whether a quota of this resource name counts an extended resource.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, isExtendedResourceNameForQuota (v1.36.4).
pub(super) fn is_extended_for_quota(name: &str) -> bool {
    name.strip_prefix("requests.").is_some_and(|rest| {
        rest.starts_with(DEVICE_CLASS) || (name.contains('/') && !name.contains("kubernetes.io/"))
    })
}

/// The usage of a pod at this time.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, PodUsageFunc (v1.36.4).
pub(super) fn usage(pod: &Object, pod_level: PodLevel, now: Time) -> Amounts {
    let mut usage = Amounts::from([("count/pods".into(), pieces(1))]);
    if !is_charged(pod, now) {
        return usage;
    }
    let requests = amounts(pod, "requests", pod_level);
    add(&mut usage, &named(&requests, &amounts(pod, "limits", pod_level)));
    usage
}

/// Whether the pod counts for more than `count/pods`: a pod that has ended, or should have, does not.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, QuotaV1Pod (v1.36.4).
fn is_charged(pod: &Object, now: Time) -> bool {
    let phase = pod.text_at("status.phase");
    if matches!(phase, Some("Failed" | "Succeeded")) {
        return false;
    }
    match (pod.meta.deletion_timestamp, pod.meta.deletion_grace_period_seconds) {
        (Some(deleted), Some(grace)) => now.unix() <= deleted.unix().saturating_add(grace),
        _ => true,
    }
}

/// The usage under the resource names of quotas.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, podComputeUsageHelper (v1.36.4).
fn named(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::from([("pods".into(), pieces(1))]);
    for (name, amount) in requests {
        let is_huge = name.starts_with("hugepages-");
        if COMPUTE.contains(&name.as_str()) || is_huge {
            usage.insert(name.clone(), amount.clone());
        } else if !is_extended(name) && !name.starts_with(DEVICE_CLASS) {
            continue;
        }
        usage.insert(format!("requests.{name}").into(), amount.clone());
    }
    for name in COMPUTE {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}").into(), amount.clone());
        }
    }
    usage
}

/// The `requests` or `limits` of a pod as a whole: the maximum of the spec and the status.
///
/// Upstream: component-helpers/resource/helpers.go, PodRequests and PodLimits (v1.36.4).
fn amounts(pod: &Object, which: &str, pod_level: PodLevel) -> Amounts {
    let spec = pod.fields.map("spec").unwrap_or(&NONE);
    let status = pod.fields.map("status").unwrap_or(&NONE);
    let mut together = of_containers(spec, |container| of_container(container, status, which));
    if pod_level == PodLevel::Counts {
        let of_pod = read(spec.map("resources").and_then(|it| it.map(which)));
        together.extend(of_pod.into_iter().filter(|(name, _)| is_pod_level(name)));
    }
    for (name, amount) in read(spec.map("overhead")) {
        match together.get_mut(&name) {
            Some(there) if which == "requests" || !there.is_zero() => there.add(&amount),
            None if which == "requests" => drop(together.insert(name, amount)),
            _ => {}
        }
    }
    together
}

/// Upstream: component-helpers/resource/helpers.go, determineEffectiveRequests and determineEffectiveLimits (v1.36.4).
fn of_container(container: &Map, status: &Map, which: &str) -> Amounts {
    let wanted = read(container.map("resources").and_then(|it| it.map(which)));
    let Some(reported) = report(container, status) else { return wanted };
    let Some(actual) = reported.map("resources") else { return wanted };
    let mut amounts = if is_infeasible(status) { Amounts::new() } else { wanted };
    raise(&mut amounts, &read(actual.map(which)));
    if which == "requests" {
        raise(&mut amounts, &read(reported.map("allocatedResources")));
    }
    amounts
}

/// The status of a running container.
fn report<'s>(container: &Map, status: &'s Map) -> Option<&'s Map> {
    let name = container.str("name")?;
    let find = |list: &str| status.maps(list).find(|it| it.str("name") == Some(name));
    // The resources of a regular init container cannot be resized.
    let is_sidecar = container.str("restartPolicy") == Some("Always");
    find("containerStatuses").or_else(|| find("initContainerStatuses").filter(|_| is_sidecar))
}

/// Whether the requested resize is infeasible.
fn is_infeasible(status: &Map) -> bool {
    let pending = status.maps("conditions").find(|it| it.str("type") == Some("PodResizePending"));
    pending.is_some_and(|it| it.str("reason") == Some("Infeasible"))
}

/// Upstream: component-helpers/resource/helpers.go, IsSupportedPodLevelResource (v1.36.4).
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// The traits that scopes test.
pub(super) fn traits(pod: &Object) -> Traits {
    let spec = pod.fields.map("spec").unwrap_or(&NONE);
    Traits::Pod(PodTraits {
        is_terminating: is_terminating(pod),
        is_best_effort: is_best_effort(pod),
        looks_elsewhere: looks_elsewhere(spec),
        priority_class: spec.str("priorityClassName").unwrap_or_default().into(),
    })
}

/// Whether a pod is of the scope Terminating: it has a deadline.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, IsTerminating (v1.36.4).
pub(super) fn is_terminating(pod: &Object) -> bool {
    let spec = pod.fields.map("spec");
    spec.and_then(|it| it.int("activeDeadlineSeconds")).is_some_and(|seconds| seconds >= 0)
}

/// Whether a pod has affinity terms for other namespaces.
///
/// Upstream: pkg/quota/v1/evaluator/core/pods.go, usesCrossNamespacePodAffinity (v1.36.4).
fn looks_elsewhere(spec: &Map) -> bool {
    let elsewhere =
        |term: &Map| !term.list("namespaces").is_empty() || term.get("namespaceSelector").is_some();
    let affinity = spec.map("affinity").unwrap_or(&NONE);
    ["podAffinity", "podAntiAffinity"].into_iter().filter_map(|it| affinity.map(it)).any(|it| {
        let mut preferred = it.maps("preferredDuringSchedulingIgnoredDuringExecution");
        it.maps("requiredDuringSchedulingIgnoredDuringExecution").any(elsewhere)
            || preferred.any(|it| it.map("podAffinityTerm").is_some_and(elsewhere))
    })
}

/// The requests and limits that the containers of a pod set.
#[derive(Clone, Debug, Default)]
pub(super) struct Said(Vec<(SmolStr, BTreeSet<SmolStr>)>);

impl Said {
    /// Those of this pod's containers. A pod with pod-level resources does not need them in its containers.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/pods.go, podEvaluator.Constraints (v1.36.4).
    pub(super) fn by(pod: &Object, pod_level: PodLevel) -> Said {
        let spec = pod.fields.map("spec").unwrap_or(&NONE);
        let of = |map: &Map, which: &str| read(map.map("resources").and_then(|it| it.map(which)));
        let speaks = ["requests", "limits"].iter().any(|it| of(spec, it).keys().any(|it| is_pod_level(it)));
        if pod_level == PodLevel::Counts && speaks {
            return Said::default();
        }
        let containers = spec.maps("containers").chain(spec.maps("initContainers"));
        let said = containers.map(|it| {
            let names = named(&of(it, "requests"), &of(it, "limits")).into_keys();
            (it.str("name").unwrap_or_default().into(), names.collect())
        });
        Said(said.collect())
    }

    /// The requests and limits that quotas require and that are missing, with their containers.
    pub(super) fn check(&self, wanted: &BTreeSet<SmolStr>) -> Result<(), String> {
        let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for name in wanted.iter().filter(|it| REQUIRED.contains(&it.as_str())) {
            for (container, _) in self.0.iter().filter(|(_, said)| !said.contains(name)) {
                missing.entry(name).or_default().insert(container);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let texts = missing.into_iter().map(|(name, containers)| {
            format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(","))
        });
        Err(format!("must specify {}", texts.collect::<Vec<_>>().join("; ")))
    }
}

#[cfg(test)]
mod tests;
