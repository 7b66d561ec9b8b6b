//! `node.k8s.io`: how containers are run on nodes.

mod runtime_class;

use keelson_registry::{Column, Group, Resource, Version};

pub(crate) fn group() -> Group {
    Group::new("node.k8s.io").serve(
        Resource::cluster("RuntimeClass", "runtimeclasses")
            .version(Version::stored("v1"))
            .columns([Column::name(), Column::text("Handler", "handler"), Column::age()])
            .creates_on_update()
            .conditional_update()
            .strategy(runtime_class::RuntimeClass),
    )
}
