//! Columns of `kubectl get hpa`.
//!
//! Upstream: pkg/printers/internalversion/printers.go, printHorizontalPodAutoscaler (v1.36.4).

use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::Column;

use crate::shared::cells::{number, text};

/// More metrics than these are only counted.
const SHOWN: usize = 2;

pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::computed("Reference", reference),
        Column::computed("Targets", targets),
        Column::computed("MinPods", min_pods),
        Column::computed("MaxPods", |object| Cell::Int(number(object, "spec.maxReplicas"))),
        Column::computed("Replicas", |object| Cell::Int(number(object, "status.currentReplicas"))),
        Column::age(),
    ]
}

/// `Deployment/web`
pub(super) fn reference(object: &Object) -> Cell {
    let field = |name: &str| text(object, name);
    Cell::from(format!("{}/{}", field("spec.scaleTargetRef.kind"), field("spec.scaleTargetRef.name")))
}

fn min_pods(object: &Object) -> Cell {
    match object.fields.at("spec.minReplicas").and_then(Value::as_int) {
        Some(number) => Cell::from(format!("{number}")),
        None => Cell::from("<unset>"),
    }
}

/// `cpu: 50%/80%, 10/20 + 3 more...`
pub(super) fn targets(object: &Object) -> Cell {
    let specs: Vec<&Map> = object.fields.map("spec").into_iter().flat_map(|it| it.maps("metrics")).collect();
    let statuses: Vec<&Map> =
        object.fields.map("status").into_iter().flat_map(|it| it.maps("currentMetrics")).collect();
    if specs.is_empty() {
        return Cell::from("<none>");
    }
    let shown: Vec<String> = specs
        .iter()
        .take(SHOWN)
        .enumerate()
        .map(|(position, spec)| target(spec, statuses.get(position).copied()))
        .collect();
    let shown = shown.join(", ");
    match specs.len().saturating_sub(SHOWN) {
        0 => Cell::from(shown),
        more => Cell::from(format!("{shown} + {more} more...")),
    }
}

/// Upstream: pkg/printers/internalversion/printers.go, formatHPAMetrics (v1.36.4).
fn target(spec: &Map, status: Option<&Map>) -> String {
    let source = match spec.str("type") {
        Some("External") => "external",
        Some("Pods") => "pods",
        Some("Object") => "object",
        Some("Resource") => "resource",
        Some("ContainerResource") => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = spec.map(source).and_then(|it| it.map("target"));
    // What is there without a value is shown as upstream shows no quantity.
    let current = status.and_then(|it| it.map(source)).map(|it| it.map("current"));
    let value = |field: &str| wanted.and_then(|it| it.str(field));
    let now = |field: &str| match current {
        Some(current) => current.and_then(|it| it.str(field)).unwrap_or("<nil>"),
        None => "<unknown>",
    };
    let average_if_known = || match now("averageValue") {
        "<nil>" => "<unknown>",
        known => known,
    };
    let percent = |side: Option<&Map>, missing: &str| match side.and_then(|it| it.int("averageUtilization")) {
        Some(number) => format!("{number}%"),
        None => missing.to_owned(),
    };
    let resource = || spec.map(source).and_then(|it| it.str("name")).unwrap_or_default();
    match (source, value("averageValue")) {
        ("pods", average) => format!("{}/{}", now("averageValue"), average.unwrap_or("<nil>")),
        ("external" | "object", Some(average)) => format!("{}/{average} (avg)", average_if_known()),
        ("external" | "object", None) => format!("{}/{}", now("value"), value("value").unwrap_or("<nil>")),
        (_, Some(average)) => format!("{}: {}/{average}", resource(), now("averageValue")),
        (_, None) => {
            let current = percent(current.flatten(), "<unknown>");
            format!("{}: {current}/{}", resource(), percent(wanted, "<auto>"))
        }
    }
}
