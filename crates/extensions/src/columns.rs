//! Printer columns of custom resources: `additionalPrinterColumns`, and Age where a version has none.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go (v1.36.4).

use std::sync::Arc;

use keelson_object::{Cell, Map, Object};
use keelson_registry::Column;
use keelson_structural::columns::{PrinterCell, PrinterColumn, columns};

/// The columns of a version: the name, then those that it defines.
pub fn of_version(definitions: &[Map]) -> Vec<Column> {
    let mut all = vec![Column::name()];
    match definitions.is_empty() {
        true => all.push(age()),
        false => all.extend(columns(definitions).into_iter().map(column)),
    }
    all
}

fn age() -> Column {
    let cell = |object: &Object| Cell::Age(object.meta.creation_timestamp);
    Column::custom("Age", "date", Arc::new(cell)).describe("How long ago the object was created.")
}

fn column(printed: PrinterColumn) -> Column {
    let (name, kind) = (printed.name.clone(), printed.kind.clone());
    let (format, priority) = (printed.format.clone(), printed.priority);
    let description = printed.description.clone();
    let cell = move |object: &Object| cell(printed.cell(&object.clone().into_value()));
    let mut column = Column::custom(&name, &kind, Arc::new(cell)).describe(&description);
    (column.format, column.priority) = (format, priority);
    column
}

fn cell(printed: PrinterCell) -> Cell {
    match printed {
        PrinterCell::Null => Cell::Null,
        PrinterCell::Text(text) => Cell::from(text),
        PrinterCell::Int(number) => Cell::Int(number),
        PrinterCell::Float(number) => Cell::Float(number),
        PrinterCell::Bool(truth) => Cell::Bool(truth),
        PrinterCell::Age(time) => Cell::Age(time),
    }
}
