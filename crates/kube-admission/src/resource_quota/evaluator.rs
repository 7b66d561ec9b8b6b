//! Evaluator: the usage of objects of a resource, and the names under which quotas count it.

use std::collections::BTreeSet;

use keelson_object::scalar::Time;
use keelson_object::{GroupResource, Object, SmolStr};
use keelson_registry::admission::{Operation, Request};

use super::devices::Devices;
use super::pods::{self, Said};
use super::scope::Traits;
use super::{services, volumes};
use crate::amounts::{Amounts, PodLevel, pieces};

/// Resources that quotas never count; most of them are not even stored.
///
/// Upstream: pkg/quota/v1/install/registry.go, ignoredResources (v1.36.4).
const IGNORED: [(&str, &str); 10] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
    ("events.k8s.io", "events"),
];

/// Resources that are counted under their plain name, too.
///
/// Upstream: pkg/quota/v1/evaluator/core/registry.go, legacyObjectCountAliases (v1.36.4).
const PLAIN: [&str; 4] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/// How the usage of objects of a resource is measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Evaluator {
    Pods,
    Services,
    VolumeClaims,
    DeviceClaims,
    /// Objects are only counted.
    Count(GroupResource),
}

/// The usage and the traits of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) usage: Amounts,
    pub(super) traits: Traits,
}

/// The information needed to measure objects.
pub(super) struct Surroundings {
    pub(super) pod_level: PodLevel,
    pub(super) now: Time,
    pub(super) devices: Devices,
}

impl Evaluator {
    /// The evaluator of a resource, unless it is never counted.
    pub(super) fn of(group: &SmolStr, plural: &SmolStr) -> Option<Evaluator> {
        if IGNORED.contains(&(group, plural)) {
            return None;
        }
        Some(match (group.as_str(), plural.as_str()) {
            ("", "pods") => Evaluator::Pods,
            ("", "services") => Evaluator::Services,
            ("", "persistentvolumeclaims") => Evaluator::VolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Evaluator::DeviceClaims,
            _ => Evaluator::Count(GroupResource::new(group.clone(), plural.clone())),
        })
    }

    /// Whether a request of this kind may change the usage. The object decides about the rest.
    pub(super) fn handles(&self, request: &Request<'_>) -> bool {
        match (request.operation, request.subresource) {
            (Operation::Create, "") => true,
            (Operation::Update, "") => !self.is_blind(),
            (Operation::Update, "resize") => *self == Evaluator::Pods,
            (Operation::Update, "status") => *self == Evaluator::VolumeClaims,
            _ => false,
        }
    }

    /// Whether an update of an object matters: apart from a resize, an update of a pod can only change its
    /// scopes.
    ///
    /// Upstream: pkg/quota/v1/evaluator/core/pods.go, podEvaluator.Handles (v1.36.4).
    pub(super) fn concerns(&self, request: &Request<'_>, object: &Object) -> bool {
        match (self, request.old, request.subresource) {
            (Evaluator::Pods, Some(old), "") => pods::is_terminating(old) != pods::is_terminating(object),
            _ => true,
        }
    }

    /// Those of some names under which these objects are counted.
    pub(super) fn counted<'n>(
        &self,
        names: impl Iterator<Item = &'n SmolStr>,
        devices: &Devices,
    ) -> BTreeSet<SmolStr> {
        let is_counted = |name: &&SmolStr| match self {
            Evaluator::Pods => pods::counts(name),
            Evaluator::Services => services::NAMES.contains(&name.as_str()),
            Evaluator::VolumeClaims => volumes::counts(name),
            Evaluator::DeviceClaims => devices.count(name),
            Evaluator::Count(own) => names_of(own).contains(*name),
        };
        names.filter(is_counted).cloned().collect()
    }

    /// Whether all objects have the same usage.
    pub(super) fn is_blind(&self) -> bool {
        matches!(self, Evaluator::Count(_))
    }

    /// The usage and the traits of an object.
    pub(super) fn measure(&self, object: &Object, around: &Surroundings) -> Measured {
        let of_pod = |pod: &Object| pods::usage(pod, around.pod_level, around.now);
        let (usage, traits) = match self {
            Evaluator::Pods => (of_pod(object), pods::traits(object)),
            Evaluator::Services => (services::usage(object), Traits::None),
            Evaluator::VolumeClaims => (volumes::usage(object), volumes::traits(object)),
            Evaluator::DeviceClaims => (around.devices.usage(object, of_pod), Traits::None),
            Evaluator::Count(of) => {
                (names_of(of).into_iter().map(|it| (it, pieces(1))).collect(), Traits::None)
            }
        };
        Measured { usage, traits }
    }

    /// The requests and limits that the containers of an object set, for quotas that require them.
    pub(super) fn said(&self, object: &Object, around: &Surroundings) -> Said {
        match self {
            Evaluator::Pods => Said::by(object, around.pod_level),
            _ => Said::default(),
        }
    }
}

/// The names under which objects are counted that are only counted.
fn names_of(resource: &GroupResource) -> Vec<SmolStr> {
    let GroupResource { group, resource: plural } = resource;
    match group.as_str() {
        "" if PLAIN.contains(&plural.as_str()) => vec![format!("count/{plural}").into(), plural.clone()],
        "" => vec![format!("count/{plural}").into()],
        group => vec![format!("count/{plural}.{group}").into()],
    }
}

#[cfg(test)]
mod tests {
    use super::Evaluator;
    use crate::resource_quota::devices::Devices;

    #[track_caller]
    fn check(group: &str, plural: &str, name: &str, expected: bool) {
        let names = [name.into()];
        let evaluator = Evaluator::of(&group.into(), &plural.into());
        let counted = evaluator.is_some_and(|it| !it.counted(names.iter(), &Devices::default()).is_empty());
        assert_eq!(counted, expected, "{name} of {plural}");
    }

    #[test]
    fn every_resource_is_counted_under_its_own_name() {
        check("apps", "deployments", "count/deployments.apps", true);
        check("apps", "deployments", "count/deployments", false);
        check("", "secrets", "count/secrets", true);
        check("", "secrets", "secrets", true);
        check("", "serviceaccounts", "serviceaccounts", false);
        check("", "serviceaccounts", "count/serviceaccounts", true);
        check("", "events", "count/events", false);
        check("", "pods", "limits.cpu", true);
        check("", "pods", "requests.hugepages-2Mi", true);
        check("", "pods", "requests.example.com/gpu", true);
        check("", "pods", "requests.storage", false);
        check("", "services", "services.nodeports", true);
        check("", "persistentvolumeclaims", "requests.storage", true);
        check("resource.k8s.io", "resourceclaims", "gpu.deviceclass.resource.k8s.io/devices", true);
    }
}
