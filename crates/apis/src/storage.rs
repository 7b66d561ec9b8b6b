//! `storage.k8s.io`: where volumes come from and how they get to nodes.

mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod parameters;
mod storage_class;
mod topology;
mod volume_attachment;
mod volume_attributes_class;

use keelson_registry::{Column, Group, Resource, Version};

use crate::catalog::Settings;
use crate::shared::default_columns::default_columns;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("storage.k8s.io")
        .serve(
            Resource::cluster("CSIDriver", "csidrivers")
                .columns(csi_driver::columns())
                .version(Version::stored("v1"))
                .conditional_update()
                .returns_deleted()
                .strategy(csi_driver::CsiDriver::new(settings)),
        )
        .serve(
            Resource::cluster("CSINode", "csinodes")
                .columns(csi_node::columns())
                .version(Version::stored("v1"))
                .conditional_update()
                .returns_deleted()
                .strategy(csi_node::CsiNode),
        )
        .serve(
            Resource::namespaced("CSIStorageCapacity", "csistoragecapacities")
                .columns(default_columns())
                .version(Version::stored("v1"))
                .conditional_update()
                .strategy(csi_storage_capacity::CsiStorageCapacity),
        )
        .serve(
            Resource::cluster("StorageClass", "storageclasses")
                .short_name("sc")
                .columns(storage_class::columns())
                .version(Version::stored("v1"))
                .returns_deleted()
                .strategy(storage_class::StorageClass),
        )
        .serve(
            Resource::cluster("VolumeAttachment", "volumeattachments")
                .columns(volume_attachment::columns())
                .version(Version::stored("v1"))
                .with_status()
                .conditional_update()
                .returns_deleted()
                .strategy(volume_attachment::VolumeAttachment),
        )
        .serve(
            Resource::cluster("VolumeAttributesClass", "volumeattributesclasses")
                .short_name("vac")
                .columns([Column::name(), Column::text("DriverName", "driverName"), Column::age()])
                .version(Version::stored("v1"))
                .version(Version::served("v1beta1"))
                .returns_deleted()
                .strategy(volume_attributes_class::VolumeAttributesClass),
        )
}
