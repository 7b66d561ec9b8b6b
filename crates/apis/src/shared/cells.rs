//! Cells and columns that several kinds show.

use keelson_object::{Cell, Object, Value};
use keelson_registry::Column;

/// The whole number at a dotted path; 0 where there is none.
pub(crate) fn number(object: &Object, path: &str) -> i64 {
    object.fields.at(path).and_then(Value::as_int).unwrap_or_default()
}

/// The text at a dotted path; empty where there is none.
pub(crate) fn text<'o>(object: &'o Object, path: &str) -> &'o str {
    object.fields.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// A column that says whether something is so.
pub(crate) fn truth(name: &str, compute: fn(&Object) -> Cell) -> Column {
    let mut column = Column::computed(name, compute);
    column.kind = "boolean";
    column
}

/// Whether the status has a condition of this type, and it is true.
pub(crate) fn has_condition(object: &Object, kind: &str) -> bool {
    let mut conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    conditions.any(|it| it.str("type") == Some(kind) && it.str("status") == Some("True"))
}
