//! `scheduling.k8s.io`: priority classes, pod groups and workloads.

mod pod_group;
mod priority_class;
mod rules;
mod workload;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("scheduling.k8s.io")
        .serve(
            Resource::cluster("PriorityClass", "priorityclasses")
                .short_name("pc")
                .version(Version::stored("v1"))
                .columns(priority_class::columns())
                .seen_at_once()
                .strategy(priority_class::PriorityClass),
        )
        .serve(
            Resource::namespaced("PodGroup", "podgroups")
                .version(Version::stored("v1alpha2").gate("GenericWorkload"))
                .columns(pod_group::columns())
                .with_status()
                .strategy(pod_group::PodGroup::new(settings)),
        )
        .serve(
            Resource::namespaced("Workload", "workloads")
                .version(Version::stored("v1alpha2").gate("GenericWorkload"))
                .strategy(workload::Workload::new(settings)),
        )
}
