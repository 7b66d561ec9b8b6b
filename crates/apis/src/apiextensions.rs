//! API group `apiextensions.k8s.io`: CustomResourceDefinition.

mod custom_resource_definition;
#[cfg(test)]
mod tests;
mod v1beta1;

use keelson_registry::{Group, Resource, Version};

use crate::shared::default_columns::default_columns;
use custom_resource_definition::CustomResourceDefinition;

pub(crate) fn group() -> Group {
    Group::new("apiextensions.k8s.io").serve(
        Resource::cluster("CustomResourceDefinition", "customresourcedefinitions")
            .short_name("crd")
            .short_name("crds")
            .category("api-extensions")
            .storage_path("apiextensions.k8s.io/customresourcedefinitions")
            .json_in_store()
            .version(Version::stored("v1"))
            .reads("apiextensions.k8s.io/v1beta1", v1beta1::to_v1)
            .stored_as("apiextensions.k8s.io/v1beta1", v1beta1::from_v1)
            .columns(default_columns())
            .with_status()
            .conditional_update()
            .strategy(CustomResourceDefinition),
    )
}
