//! `resource.k8s.io`: dynamic resource allocation, devices and claims for them.

mod admin_access;
mod attribute_rules;
mod binding_rules;
mod capacity_rules;
mod claim;
mod claim_rules;
mod claim_spec;
mod claim_template;
mod device_class;
mod device_rules;
mod forms;
mod pool_request_rules;
mod pool_status_request;
mod rules;
mod slice;
mod slice_rules;
mod status_access;
mod status_rules;
mod taint_rule;
mod taint_rules;

use keelson_object::SelectableField;
use keelson_registry::{Column, Group, Resource, Version};

use crate::catalog::Settings;

const GROUP: &str = "resource.k8s.io";

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new(GROUP)
        .serve(
            Resource::cluster("DeviceClass", "deviceclasses")
                .columns([Column::name(), Column::age()])
                .version(Version::stored("v1"))
                .version(Version::served("v1beta2"))
                .version(Version::served("v1beta1"))
                .returns_deleted()
                .strategy(device_class::DeviceClass::new(settings)),
        )
        .serve(
            Resource::cluster("DeviceTaintRule", "devicetaintrules")
                .columns(taint_rule::columns())
                .version(Version::served("v1beta2"))
                .version(Version::stored("v1alpha3"))
                .with_status()
                .returns_deleted()
                .strategy(taint_rule::DeviceTaintRule),
        )
        .serve(
            Resource::namespaced("ResourceClaim", "resourceclaims")
                .columns(claim::columns())
                .version(Version::stored("v1"))
                .version(Version::served("v1beta2"))
                .version(Version::served("v1beta1").converts(claim::V1BETA1))
                .with_status()
                .returns_deleted()
                .strategy(claim::ResourceClaim::new(settings))
                .guarded(status_access::StatusAccess::of(settings)),
        )
        .serve(
            Resource::namespaced("ResourceClaimTemplate", "resourceclaimtemplates")
                .columns([Column::name(), Column::age()])
                .version(Version::stored("v1"))
                .version(Version::served("v1beta2"))
                .version(Version::served("v1beta1").converts(claim_template::V1BETA1))
                .returns_deleted()
                .strategy(claim_template::ResourceClaimTemplate::new(settings)),
        )
        .serve(
            Resource::cluster("ResourcePoolStatusRequest", "resourcepoolstatusrequests")
                .columns(pool_status_request::columns())
                .version(Version::stored("v1alpha3"))
                .with_status()
                .conditional_update()
                .returns_deleted()
                .strategy(pool_status_request::ResourcePoolStatusRequest),
        )
        .serve(
            Resource::cluster("ResourceSlice", "resourceslices")
                .columns(slice::columns())
                .version(Version::stored("v1"))
                .version(Version::served("v1beta2"))
                .version(Version::served("v1beta1").converts(slice::V1BETA1))
                .indexed("spec.nodeName")
                .selectable(SelectableField::plain("spec.driver"))
                .returns_deleted()
                .strategy(slice::ResourceSlice::new(settings)),
        )
}
