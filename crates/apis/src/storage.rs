//! `storage.k8s.io`: where volumes come from and how they get to nodes.

mod csi_driver;
mod storage_class;

use keelson_object::{Cell, Object, Path};
use keelson_registry::{Column, Group, Resource, Strategy, Version};

use crate::catalog::Settings;
use crate::shared::default_columns::default_columns;
use crate::shared::{cells, node_labels, status};

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
                .columns([Column::name(), Column::counted("Drivers", drivers), Column::age()])
                .version(Version::stored("v1"))
                .conditional_update()
                .returns_deleted(),
        )
        .serve(
            Resource::namespaced("CSIStorageCapacity", "csistoragecapacities")
                .columns(default_columns())
                .version(Version::stored("v1"))
                .conditional_update()
                .strategy(CsiStorageCapacity),
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
                .columns(attachment_columns())
                .version(Version::stored("v1"))
                .with_status()
                .conditional_update()
                .returns_deleted()
                .strategy(status::Apart),
        )
        .serve(
            Resource::cluster("VolumeAttributesClass", "volumeattributesclasses")
                .short_name("vac")
                .columns([Column::name(), Column::text("DriverName", "driverName"), Column::age()])
                .version(Version::stored("v1"))
                .version(Version::served("v1beta1"))
                .returns_deleted(),
        )
}

struct CsiStorageCapacity;

impl Strategy for CsiStorageCapacity {
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let topology = object.fields.map("nodeTopology");
        topology.map(|it| node_labels::selector_warnings(it, &Path::root("nodeTopology"))).unwrap_or_default()
    }
}

fn attachment_columns() -> [Column; 6] {
    [
        Column::name(),
        cells::named(Column::text("Attacher", "spec.attacher")),
        Column::text("PV", "spec.source.persistentVolumeName"),
        Column::text("Node", "spec.nodeName"),
        cells::boolean("Attached", |object| {
            Cell::Bool(cells::truth(object, "status.attached").unwrap_or(false))
        }),
        Column::age(),
    ]
}

fn drivers(object: &Object) -> Cell {
    Cell::Int(object.fields.map("spec").map_or(0, |spec| spec.list("drivers").len()) as i64)
}
