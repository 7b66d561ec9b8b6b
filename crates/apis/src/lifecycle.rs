//! API lifecycle: since when versions of kinds are deprecated, and which release removes them.

use keelson_registry::{Deprecation, Group};

/// A version of some kinds, and its deprecation.
struct Lifecycle {
    api_version: &'static str,
    kinds: &'static [&'static str],
    deprecation: Deprecation,
}

const fn since(since: &'static str, removed: &'static str) -> Deprecation {
    Deprecation { since, removed, instead: "" }
}

/// The APIs that are deprecated in v1.36. APIs that v1.36 no longer serves are not listed.
///
/// Upstream: the methods APILifecycleDeprecated, APILifecycleRemoved and APILifecycleReplacement of
/// api/**/zz_generated.prerelease-lifecycle.go and api/core/v1/lifecycle.go (v1.36.4).
const DEPRECATED: &[Lifecycle] = &[
    Lifecycle { api_version: "v1", kinds: &["ComponentStatus"], deprecation: since("1.19", "") },
    Lifecycle {
        api_version: "v1",
        kinds: &["Endpoints"],
        deprecation: Deprecation { instead: "discovery.k8s.io/v1 EndpointSlice", ..since("1.33", "") },
    },
    Lifecycle {
        api_version: "admissionregistration.k8s.io/v1alpha1",
        kinds: &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"],
        deprecation: since("1.35", "1.38"),
    },
    Lifecycle {
        api_version: "certificates.k8s.io/v1alpha1",
        kinds: &["ClusterTrustBundle"],
        deprecation: since("1.34", "1.37"),
    },
    Lifecycle {
        api_version: "coordination.k8s.io/v1alpha2",
        kinds: &["LeaseCandidate"],
        deprecation: since("1.35", "1.38"),
    },
    Lifecycle {
        api_version: "coordination.k8s.io/v1beta1",
        kinds: &["LeaseCandidate"],
        deprecation: since("1.36", "1.39"),
    },
    Lifecycle {
        api_version: "networking.k8s.io/v1beta1",
        kinds: &["IPAddress", "ServiceCIDR"],
        deprecation: since("1.34", "1.37"),
    },
    Lifecycle {
        api_version: "resource.k8s.io/v1alpha3",
        kinds: &["DeviceTaintRule"],
        deprecation: since("1.36", "1.39"),
    },
    Lifecycle {
        api_version: "resource.k8s.io/v1beta1",
        kinds: &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
        deprecation: since("1.35", "1.38"),
    },
    Lifecycle {
        api_version: "resource.k8s.io/v1beta2",
        kinds: &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"],
        deprecation: since("1.36", "1.39"),
    },
    Lifecycle {
        api_version: "storage.k8s.io/v1beta1",
        kinds: &["VolumeAttributesClass"],
        deprecation: Deprecation {
            instead: "storage.k8s.io/v1 VolumeAttributesClass",
            ..since("1.34", "1.37")
        },
    },
];

/// The APIs introduced after v1.33, the oldest version that can be emulated, with their minor version.
///
/// Upstream: the methods APILifecycleIntroduced of api/**/zz_generated.prerelease-lifecycle.go (v1.36.4).
const INTRODUCED: &[(&str, &[&str], u8)] = &[
    ("admissionregistration.k8s.io/v1", &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"], 36),
    (
        "admissionregistration.k8s.io/v1beta1",
        &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"],
        34,
    ),
    ("certificates.k8s.io/v1beta1", &["PodCertificateRequest"], 35),
    ("resource.k8s.io/v1", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"], 34),
    ("resource.k8s.io/v1alpha3", &["ResourcePoolStatusRequest"], 36),
    ("resource.k8s.io/v1beta2", &["DeviceTaintRule"], 36),
    ("storage.k8s.io/v1", &["VolumeAttributesClass"], 34),
    ("storagemigration.k8s.io/v1beta1", &["StorageVersionMigration"], 35),
];

/// Sets on the versions in `groups` when they were introduced, and whether they are deprecated.
pub(crate) fn mark(groups: &mut [Group]) {
    for resource in groups.iter_mut().flat_map(|group| &mut group.resources) {
        for version in &mut resource.versions {
            let is_it = |it: &&Lifecycle| {
                it.api_version == version.api_version && it.kinds.contains(&resource.kind.as_str())
            };
            version.deprecation = DEPRECATED.iter().find(is_it).map(|it| it.deprecation);
            let came = INTRODUCED.iter().find(|(api_version, kinds, _)| {
                *api_version == version.api_version && kinds.contains(&resource.kind.as_str())
            });
            version.introduced = came.map_or(0, |(_, _, minor)| *minor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPRECATED, INTRODUCED};
    use crate::catalog::{Settings, groups};

    #[test]
    fn what_is_deprecated_is_still_there() {
        let groups = groups(&Settings::default());
        let resources = groups.iter().flat_map(|group| &group.resources);
        let marked = resources.flat_map(|it| &it.versions).filter(|it| it.deprecation.is_some()).count();
        assert_eq!(marked, DEPRECATED.iter().map(|it| it.kinds.len()).sum::<usize>());
    }

    #[test]
    fn what_was_introduced_is_there() {
        let groups = groups(&Settings::default());
        let resources = groups.iter().flat_map(|group| &group.resources);
        let marked = resources.flat_map(|it| &it.versions).filter(|it| it.introduced > 0).count();
        assert_eq!(marked, INTRODUCED.iter().map(|(_, kinds, _)| kinds.len()).sum::<usize>());
    }
}
