//! `flowcontrol.apiserver.k8s.io`: priority and fairness of requests.

mod flow_schema;
mod mandatory;
mod priority_level;
mod rules;

use keelson_registry::{Group, Resource, Version};

const NO_EFFECT: &str = "API priority and fairness is not there yet";

pub(crate) fn group() -> Group {
    Group::new("flowcontrol.apiserver.k8s.io")
        .serve(
            Resource::cluster("FlowSchema", "flowschemas")
                .version(Version::stored("v1"))
                .columns(flow_schema::columns())
                .with_status()
                .strategy(flow_schema::FlowSchema)
                .without_effect(NO_EFFECT),
        )
        .serve(
            Resource::cluster("PriorityLevelConfiguration", "prioritylevelconfigurations")
                .version(Version::stored("v1"))
                .columns(priority_level::columns())
                .with_status()
                .strategy(priority_level::PriorityLevel)
                .without_effect(NO_EFFECT),
        )
}
