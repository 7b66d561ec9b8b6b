//! `storagemigration.k8s.io`: bringing stored objects to the version in which they are stored today.

use keelson_object::{Cell, Object};
use keelson_registry::{Column, Group, Resource, Version};

use crate::shared::{cells, status};

pub(crate) fn group() -> Group {
    Group::new("storagemigration.k8s.io").serve(
        Resource::cluster("StorageVersionMigration", "storageversionmigrations")
            .columns([
                Column::computed("Name", |object| Cell::from(&*object.meta.name)),
                Column::computed("Resource", resource),
                Column::computed("Status", progress),
            ])
            .version(Version::stored("v1beta1").gate("StorageVersionMigrator"))
            .with_status()
            .conditional_update()
            .strategy(status::Apart),
    )
}

/// `deployments.apps`
fn resource(object: &Object) -> Cell {
    let (group, resource) =
        (cells::text(object, "spec.resource.group"), cells::text(object, "spec.resource.resource"));
    if group.is_empty() { Cell::from(resource) } else { Cell::from(format!("{resource}.{group}")) }
}

/// The last of the conditions that hold.
fn progress(object: &Object) -> Cell {
    let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let holds = conditions.filter(|it| it.str("status") == Some("True")).filter_map(|it| it.str("type"));
    let known = holds.filter(|it| ["Running", "Failed", "Succeeded"].contains(it));
    Cell::from(known.last().unwrap_or("Unknown"))
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{progress, resource};
    use crate::shared::status::Apart;
    use crate::shared::testing::decoded;

    #[track_caller]
    fn check(text: &str, expected: [&str; 2]) {
        let kind = "storagemigration.k8s.io/v1beta1 StorageVersionMigration";
        let object = decoded(&Apart, kind, text);
        assert_eq!([resource(&object), progress(&object)], expected.map(Cell::from), "{text}");
    }

    #[test]
    fn the_table_tells_what_is_brought_over_and_how_far_it_is() {
        check("{}", ["", "Unknown"]);
        check(r#"{"spec": {"resource": {"resource": "pods"}}}"#, ["pods", "Unknown"]);
        check(
            r#"{"spec": {"resource": {"group": "apps", "resource": "deployments"}},
                "status": {"conditions": [{"type": "Succeeded", "status": "True"}, {"type": "Running", "status": "False"},
                {"type": "Other", "status": "True"}]}}"#,
            ["deployments.apps", "Succeeded"],
        );
    }
}
