//! Columns of `kubectl get jobs`.
//!
//! Upstream: pkg/printers/internalversion/printers.go, printJob (v1.36.4).

use keelson_object::scalar::Time;
use keelson_object::{Cell, Object, Value};
use keelson_registry::Column;
use keelson_registry::column::human_age;

use crate::shared::cells::{has_condition, number};
use crate::shared::workload_columns;

pub(crate) fn columns() -> Vec<Column> {
    let columns = [
        Column::name(),
        Column::computed("Status", status),
        Column::computed("Completions", completions),
        Column::computed("Duration", duration),
        Column::age(),
    ];
    columns.into_iter().chain(workload_columns::wide()).collect()
}

pub(super) fn status(object: &Object) -> Cell {
    let first = |conditions: &[&'static str]| conditions.iter().copied().find(|it| has_condition(object, it));
    let status = first(&["Complete", "Failed"])
        .or_else(|| object.meta.is_being_deleted().then_some("Terminating"))
        .or_else(|| first(&["Suspended", "FailureTarget", "SuccessCriteriaMet"]));
    Cell::from(status.unwrap_or("Running"))
}

/// `2/5`; `2/1 of 5` where any number of pods will do and several run at a time.
pub(super) fn completions(object: &Object) -> Cell {
    let done = number(object, "status.succeeded");
    if let Some(wanted) = object.fields.at("spec.completions").and_then(Value::as_int) {
        return Cell::from(format!("{done}/{wanted}"));
    }
    match number(object, "spec.parallelism") {
        several if several > 1 => Cell::from(format!("{done}/1 of {several}")),
        _ => Cell::from(format!("{done}/1")),
    }
}

pub(super) fn duration(object: &Object) -> Cell {
    let time = |path| Time::parse(object.fields.at(path).and_then(Value::as_str)?).ok();
    match (time("status.startTime"), time("status.completionTime")) {
        (None, _) => Cell::from(""),
        (start, None) => Cell::Age(start),
        (start, Some(end)) => Cell::from(human_age(start, end)),
    }
}
