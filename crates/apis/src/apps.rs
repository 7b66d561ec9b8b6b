//! `apps`: the workload kinds.

mod deployment;
mod replica_set;

use keelson_registry::{Group, Resource, Scale, Version};

/// Where workloads keep the numbers of their scale.
const SCALE: Scale =
    Scale { replicas: "spec.replicas", current: "status.replicas", selector: "spec.selector" };

pub(crate) fn group() -> Group {
    Group::new("apps")
        .serve(
            Resource::namespaced("Deployment", "deployments")
                .short_name("deploy")
                .category("all")
                .version(Version::stored("v1").columns(deployment::columns()))
                .with_status()
                .with_scale(SCALE)
                .strategy(deployment::Deployment),
        )
        .serve(
            Resource::namespaced("ReplicaSet", "replicasets")
                .short_name("rs")
                .category("all")
                .version(Version::stored("v1").columns(replica_set::columns()))
                .selectable(keelson_object::SelectableField {
                    default: "0".into(),
                    ..keelson_object::SelectableField::plain("status.replicas")
                })
                .with_status()
                .with_scale(SCALE)
                .strategy(replica_set::ReplicaSet),
        )
}
