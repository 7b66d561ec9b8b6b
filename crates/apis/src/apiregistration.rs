//! `apiregistration.k8s.io`: API groups that other servers serve.

mod api_service;

use keelson_registry::{Group, Resource, Version};

pub(crate) fn group() -> Group {
    Group::new("apiregistration.k8s.io").serve(
        Resource::cluster("APIService", "apiservices")
            .category("api-extensions")
            .storage_path("apiregistration.k8s.io/apiservices")
            .json_in_store()
            .version(Version::stored("v1"))
            .columns(api_service::columns())
            .with_status()
            .conditional_update()
            .strategy(api_service::ApiService)
            .without_effect("requests are not passed on to other servers yet"),
    )
}
