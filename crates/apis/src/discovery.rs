//! `discovery.k8s.io`: EndpointSlices, the endpoints behind a service.

mod endpoint_slice;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("discovery.k8s.io").serve(
        Resource::namespaced("EndpointSlice", "endpointslices")
            .columns(endpoint_slice::columns())
            .version(Version::stored("v1"))
            .strategy(endpoint_slice::EndpointSlice::new(settings)),
    )
}
