//! `coordination.k8s.io`: leader election.

mod lease;
mod lease_candidate;
mod version;

use keelson_registry::{Column, Group, Resource, Version};

use crate::catalog::Settings;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("coordination.k8s.io")
        .serve(
            Resource::namespaced("Lease", "leases")
                .version(Version::stored("v1"))
                .columns(lease::columns())
                .creates_on_update()
                .conditional_update()
                .strategy(lease::Lease::new(settings)),
        )
        .serve(
            Resource::namespaced("LeaseCandidate", "leasecandidates")
                .version(Version::stored("v1beta1"))
                .version(Version::served("v1alpha2"))
                .columns([
                    Column::name(),
                    Column::text("LeaseName", "spec.leaseName"),
                    Column::text("BinaryVersion", "spec.binaryVersion"),
                    Column::text("EmulationVersion", "spec.emulationVersion"),
                    Column::age(),
                ])
                .creates_on_update()
                .conditional_update()
                .strategy(lease_candidate::LeaseCandidate),
        )
}
