//! Default columns, for kinds without their own columns upstream.

use keelson_object::{Cell, Object};
use keelson_registry::Column;

/// Name and time of creation.
///
/// Upstream: apiserver/pkg/registry/rest/table.go, defaultTableConvertor (v1.36.4).
pub(crate) fn default_columns() -> [Column; 2] {
    let mut created = Column::computed("Created At", created_at);
    created.kind = "date".into();
    [Column::name(), created.describe("When the object was created.")]
}

fn created_at(object: &Object) -> Cell {
    object.meta.creation_timestamp.map_or(Cell::Null, |time| Cell::from(time.to_string()))
}
