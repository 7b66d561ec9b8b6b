//! `scheduling.k8s.io`: what runs first, and what runs together.

mod pod_group;
mod priority_class;
mod workload;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;

pub(crate) fn group(settings: &Settings) -> Group {
    let features = pod_group::Features {
        topology: settings.is_on("TopologyAwareWorkloadScheduling"),
        claims: settings.is_on("DRAWorkloadResourceClaims"),
        preemption: settings.is_on("WorkloadAwarePreemption"),
    };
    Group::new("scheduling.k8s.io")
        .serve(
            Resource::cluster("PriorityClass", "priorityclasses")
                .short_name("pc")
                .version(Version::stored("v1"))
                .columns(priority_class::columns())
                .strategy(priority_class::PriorityClass),
        )
        .serve(
            Resource::namespaced("PodGroup", "podgroups")
                .version(Version::stored("v1alpha2").gate("GenericWorkload"))
                .columns(pod_group::columns())
                .with_status()
                .strategy(pod_group::PodGroup(features)),
        )
        .serve(
            Resource::namespaced("Workload", "workloads")
                .version(Version::stored("v1alpha2").gate("GenericWorkload"))
                .strategy(workload::Workload(features)),
        )
}
