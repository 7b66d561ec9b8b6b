//! `apps`: the workload kinds.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;

use keelson_registry::{Group, Resource, Scale, Version};

use crate::catalog::Settings;
use crate::shared::pod_template::Gates;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("apps")
        .serve(
            Resource::namespaced("ControllerRevision", "controllerrevisions")
                .version(Version::stored("v1"))
                .columns(controller_revision::columns())
                .strategy(controller_revision::ControllerRevision),
        )
        .serve(
            workload("DaemonSet", "daemonsets")
                .short_name("ds")
                .columns(daemon_set::columns())
                .strategy(daemon_set::DaemonSet(Gates::of(settings))),
        )
        .serve(
            workload("Deployment", "deployments")
                .short_name("deploy")
                .columns(deployment::columns())
                .with_scale(Scale::WORKLOAD)
                .strategy(deployment::Deployment::new(settings)),
        )
        .serve(
            workload("ReplicaSet", "replicasets")
                .short_name("rs")
                .columns(replica_set::columns())
                .with_scale(Scale::WORKLOAD)
                .strategy(replica_set::ReplicaSet::new(settings)),
        )
        .serve(
            workload("StatefulSet", "statefulsets")
                .short_name("sts")
                .columns(stateful_set::columns())
                .with_scale(Scale::WORKLOAD)
                .strategy(stateful_set::StatefulSet::new(settings)),
        )
}

fn workload(kind: &str, plural: &str) -> Resource {
    Resource::namespaced(kind, plural).category("all").version(Version::stored("v1")).with_status()
}
