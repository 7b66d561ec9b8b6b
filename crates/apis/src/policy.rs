//! `policy`: how much may be disturbed at a time.

mod pod_disruption_budget;

use keelson_registry::{Group, Resource, Version};

pub(crate) fn group() -> Group {
    Group::new("policy").serve(
        Resource::namespaced("PodDisruptionBudget", "poddisruptionbudgets")
            .short_name("pdb")
            .version(Version::stored("v1"))
            .columns(pod_disruption_budget::columns())
            .with_status()
            .conditional_update()
            .strategy(pod_disruption_budget::PodDisruptionBudget),
    )
}
