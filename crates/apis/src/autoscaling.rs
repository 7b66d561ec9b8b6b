//! `autoscaling`: as many pods as the load needs.

mod horizontal_pod_autoscaler;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;
use horizontal_pod_autoscaler as hpa;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("autoscaling").serve(
        Resource::namespaced("HorizontalPodAutoscaler", "horizontalpodautoscalers")
            .short_name("hpa")
            .category("all")
            .version(Version::stored("v2"))
            .version(Version::served("v1").converts(hpa::CONVERSION))
            .columns(hpa::columns())
            .with_status()
            .strategy(hpa::HorizontalPodAutoscaler::new(settings)),
    )
}
