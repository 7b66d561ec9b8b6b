//! Printer columns of custom resources: `additionalPrinterColumns`, and Age where a version has none.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go (v1.36.4).

use std::sync::Arc;

use keelson_object::scalar::Time;
use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::Column;
use keelson_structural::jsonpath::{Column as Found, JsonPath};

/// The first column of every table.
pub fn name() -> Column {
    Column::name()
}

/// The columns of a version. A path that cannot be read ends them.
pub fn read(columns: &[Map]) -> Vec<Column> {
    if columns.is_empty() {
        return vec![age()];
    }
    columns.iter().map_while(column).collect()
}

fn age() -> Column {
    let cell = |object: &Object| Cell::Age(object.meta.creation_timestamp);
    Column::custom("Age", "date", Arc::new(cell)).describe("How long ago the object was created.")
}

fn column(column: &Map) -> Option<Column> {
    let text = |key: &str| column.str(key).unwrap_or_default();
    let path_text = text("jsonPath");
    let path = JsonPath::of_column(path_text).ok()?;
    let kind = text("type").to_owned();
    let description = match text("description") {
        "" => format!("Custom resource definition column (in JSONPath format): {path_text}"),
        said => said.to_owned(),
    };
    let cell_kind = kind.clone();
    let cell = move |object: &Object| cell(path.cell(&whole(object), &cell_kind));
    let mut column_of = Column::custom(text("name"), &kind, Arc::new(cell)).describe(&description);
    column_of.format = text("format").into();
    column_of.priority = column.int("priority").and_then(|it| i32::try_from(it).ok()).unwrap_or_default();
    Some(column_of)
}

fn whole(object: &Object) -> Value {
    object.clone().into_value()
}

fn cell(found: Found) -> Cell {
    match found {
        Found::Null => Cell::Null,
        Found::Text(text) => Cell::from(text),
        Found::Int(number) => Cell::Int(number),
        Found::Float(number) => Cell::Float(number),
        Found::Bool(truth) => Cell::Bool(truth),
        Found::Date(text) => match Time::parse(&text) {
            Ok(time) => Cell::Age(Some(time)),
            Err(_) => Cell::from("<invalid>"),
        },
    }
}
