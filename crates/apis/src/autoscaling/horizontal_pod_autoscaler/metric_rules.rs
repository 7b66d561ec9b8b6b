//! Validation of the metrics of an autoscaler.

use std::cmp::Ordering;

use keelson_object::scalar::Quantity;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{Versions, check_reference};
use crate::shared::go_form::as_json;
use crate::shared::read::{given, sub, text};
use crate::shared::resource_names;

/// The types of metrics, sorted as messages name them.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// The fields in which metrics stand, in upstream's order, and their types.
const SOURCES: [(&str, &str); 5] = [
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateMetrics (v1.36.4).
pub(super) fn check(spec: &Map, versions: Versions, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, metric) in spec.maps("metrics").enumerate() {
        check_metric(metric, versions, &at.index(position), errors);
    }
    let is_outside = |metric: &Map| matches!(text(metric, "type"), "Object" | "External");
    if spec.int("minReplicas") == Some(0) && !spec.maps("metrics").any(is_outside) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(at, detail);
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateMetricSpec (v1.36.4), which refuses a type that
/// is none twice.
fn check_metric(metric: &Map, versions: Versions, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = text(metric, "type");
    let type_at = at.key("type");
    if kind.is_empty() {
        errors.required(&type_at, "must specify a metric source type");
    }
    let is_known = TYPES.contains(&kind);
    if !is_known {
        errors.not_supported(&type_at, kind, &TYPES);
    }
    let mut there = SOURCES.iter().filter(|(field, _)| given(metric, field).is_some());
    let first = there.next();
    if let Some((field, _)) = first {
        check_source(field, sub(metric, field), versions, (&at.key(field), errors));
    }
    let expected = SOURCES.iter().find(|(_, it)| *it == kind).map(|(field, _)| *field);
    match expected {
        Some(field) if given(metric, field).is_none() => {
            errors.required(&at.key(field), "must populate information for the given metric source");
        }
        Some(_) => {}
        None => errors.not_supported(&type_at, kind, &TYPES),
    }
    // A single source is not reported as too many, even if it is the wrong one.
    let more: Vec<_> = there.collect();
    if !more.is_empty() {
        for (field, _) in first.into_iter().chain(more).filter(|(field, _)| Some(*field) != expected) {
            errors.forbidden(&at.key(field), "must populate the given metric source only");
        }
    }
}

fn check_source(field: &str, source: &Map, versions: Versions, (at, errors): (&Path<'_>, &mut FieldErrors)) {
    let target = sub(source, "target");
    match field {
        "object" => {
            check_reference(sub(source, "describedObject"), versions, &at.key("describedObject"), errors);
            check_identifier(source, at, errors);
        }
        "external" | "pods" => check_identifier(source, at, errors),
        "containerResource" => check_container(source, at, errors),
        _ if text(source, "name").is_empty() => {
            errors.required(&at.key("name"), "must specify a resource name");
        }
        _ => {}
    }
    let at = at.key("target");
    check_target(target, &at, errors);
    check_amounts(field, target, &at, errors);
}

/// The amounts that a target may have, by the type of the metric.
fn check_amounts(field: &str, target: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let has = |name: &str| given(target, name).is_some();
    let (value, average, utilization) = (has("value"), has("averageValue"), has("averageUtilization"));
    let average_at = at.key("averageValue");
    match field {
        "object" if !value && !average => {
            errors.required(&average_at, "must set either a target value or averageValue");
        }
        "external" if !value && !average => {
            errors.required(&average_at, "must set either a target value for metric or a per-pod target");
        }
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.forbidden(&at.key("value"), detail);
        }
        "pods" if !average => {
            errors.required(&average_at, "must specify a positive target averageValue");
        }
        "resource" | "containerResource" if !utilization && !average => {
            let detail = "must set either a target raw value or a target utilization";
            errors.required(&at.key("averageUtilization"), detail);
        }
        "resource" | "containerResource" if utilization && average => {
            errors.forbidden(&average_at, "may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateContainerResourceSource (v1.36.4).
fn check_container(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match text(source, "name") {
        "" => errors.required(&at.key("name"), "must specify a resource name"),
        name => resource_names::check_of_container(name, &at.key("name"), errors),
    }
    match text(source, "container") {
        "" => errors.required(&at.key("container"), "must specify a container"),
        name => errors.invalid_each(&at.key("container"), name, name_rules::dns1123_label(name)),
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateMetricIdentifier (v1.36.4).
fn check_identifier(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let name_at = at.key("metric.name");
    match text(sub(source, "metric"), "name") {
        "" => errors.required(&name_at, "must specify a metric name"),
        name => errors.invalid_each(&name_at, name, name_rules::path_segment_name(name)),
    }
}

/// Upstream: pkg/apis/autoscaling/validation/validation.go, validateMetricTarget (v1.36.4).
fn check_target(target: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = text(target, "type");
    if kind.is_empty() {
        errors.required(&at.key("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.invalid_as(&at.key("type"), as_json(&Value::from(kind)), detail);
    }
    for field in ["value", "averageValue"] {
        let Some(amount) = given(target, field).and_then(|it| Quantity::from_value(it).ok()) else {
            continue;
        };
        if amount.sign() != Ordering::Greater {
            let shown = as_json(&Value::from(amount.to_string()));
            errors.invalid_as(&at.key(field), shown, "must be positive");
        }
    }
    if let Some(utilization) = target.int("averageUtilization").filter(|it| *it < 1) {
        errors.invalid(&at.key("averageUtilization"), utilization, "must be greater than 0");
    }
}
