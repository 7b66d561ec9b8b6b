//! Conversion between `v1` and `v2`: `v1` keeps fields that it lacks in annotations.
//!
//! Upstream: pkg/apis/autoscaling/v1/conversion.go (v1.36.4).

use keelson_codec::json;
use keelson_object::scalar::Time;
use keelson_object::{Map, Object, ObjectMeta, Value};
use keelson_registry::Conversion;

use super::metrics::{self, Unreadable};
use super::{behavior, cpu_metric};

/// `v2` is stored.
pub(crate) const CONVERSION: Conversion = Conversion { to_stored, from_stored };

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// All annotations, current and old, that stand for fields of `v2`.
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    CURRENT_METRICS,
    CONDITIONS,
];

const TARGET_CPU: &str = "targetCPUUtilizationPercentage";
const CURRENT_CPU: &str = "currentCPUUtilizationPercentage";

fn to_stored(object: &mut Object) {
    let annotation = |name: &str| {
        let text = object.meta.annotations.get(name)?;
        json::read(text.as_bytes()).ok().map(|it| it.value)
    };
    let specs = annotation(METRICS)
        .and_then(|it| list(&it, |one| metrics::from_annotation(one, &metrics::SPECS)).ok());
    let statuses = annotation(CURRENT_METRICS)
        .and_then(|it| list(&it, |one| metrics::from_annotation(one, &metrics::STATUSES)).ok());
    let conditions = annotation(CONDITIONS).and_then(|it| list(&it, condition).ok());
    let rules = annotation(BEHAVIOR).and_then(|it| behavior::from_annotation(&it).ok().flatten());
    drop_annotations(&mut object.meta);

    let spec = object.fields.map_mut("spec");
    let cpu = spec.remove(TARGET_CPU).and_then(|it| it.as_int());
    let mut metrics = specs.unwrap_or_default();
    metrics.extend(cpu.map(|cpu| Value::Map(cpu_metric(cpu))));
    spec.set("metrics", metrics);
    if let Some(rules) = rules {
        spec.set("behavior", rules);
    }

    let status = object.fields.map_mut("status");
    let cpu = status.remove(CURRENT_CPU).and_then(|it| it.as_int());
    let statuses = statuses.or_else(|| cpu.map(|cpu| vec![Value::Map(cpu_status(cpu))]));
    status.set("currentMetrics", statuses.unwrap_or_default());
    status.set("conditions", conditions.unwrap_or_default());
}

fn from_stored(object: &mut Object) {
    drop_annotations(&mut object.meta);
    let spec = object.fields.map_mut("spec");
    let all = spec.remove("metrics").unwrap_or_default();
    let all = || all.as_list().unwrap_or_default().iter().filter_map(Value::as_map);
    let cpu = all().find_map(|metric| cpu_utilization(metric, "target"));
    if let Some(cpu) = cpu {
        spec.set(TARGET_CPU, cpu);
    }
    let others = all().filter(|metric| cpu_utilization(metric, "target").is_none());
    let others = others.map(|metric| metrics::to_annotation(metric, &metrics::SPECS)).collect();
    let rules = spec.remove("behavior").and_then(|it| it.as_map().map(behavior::to_annotation));

    let status = object.fields.map_mut("status");
    let current = status.remove("currentMetrics").unwrap_or_default();
    let current = || current.as_list().unwrap_or_default().iter().filter_map(Value::as_map);
    if let Some(cpu) = current().rev().find_map(|metric| cpu_utilization(metric, "current")) {
        status.set(CURRENT_CPU, cpu);
    }
    let statuses = current().map(|metric| metrics::to_annotation(metric, &metrics::STATUSES)).collect();
    let conditions = match status.remove("conditions") {
        Some(Value::List(conditions)) => conditions,
        _ => Vec::new(),
    };

    let mut annotate = |name: &str, value: &Value| {
        object.meta.annotations.set(name, String::from_utf8_lossy(&json::to_bytes(value)).as_ref());
    };
    for (name, items) in [(METRICS, others), (CURRENT_METRICS, statuses), (CONDITIONS, conditions)] {
        if !items.is_empty() {
            annotate(name, &Value::List(items));
        }
    }
    if let Some(rules) = rules {
        annotate(BEHAVIOR, &rules);
    }
}

/// Upstream: pkg/apis/autoscaling/helpers.go, DropRoundTripHorizontalPodAutoscalerAnnotations (v1.36.4).
pub(super) fn drop_annotations(meta: &mut ObjectMeta) {
    for name in ANNOTATIONS {
        meta.annotations.remove(name);
    }
}

/// The CPU utilization of the metric, target or current, if it is a CPU metric.
fn cpu_utilization(metric: &Map, side: &str) -> Option<i64> {
    let resource = metric.map("resource").filter(|_| metric.str("type") == Some("Resource"))?;
    resource.map(side).filter(|_| resource.str("name") == Some("cpu"))?.int("averageUtilization")
}

/// Processors are busy to this part.
fn cpu_status(utilization: i64) -> Map {
    let mut resource = Map::new();
    resource.push_new("name", "cpu");
    resource.map_mut("current").push_new("averageUtilization", utilization);
    let mut metric = Map::new();
    metric.push_new("type", "Resource");
    metric.push_new("resource", resource);
    metric
}

fn list(value: &Value, read: impl Fn(&Value) -> Result<Value, Unreadable>) -> Result<Vec<Value>, Unreadable> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::List(items) => items.iter().map(read).collect(),
        _ => Err(Unreadable),
    }
}

fn condition(value: &Value) -> Result<Value, Unreadable> {
    let empty = Map::new();
    let map = match value {
        Value::Null => &empty,
        value => value.as_map().ok_or(Unreadable)?,
    };
    let mut condition = Map::new();
    for name in ["type", "status", "lastTransitionTime", "reason", "message"] {
        match metrics::field(map, name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if name == "lastTransitionTime" => {
                let time = Time::parse(text).map_err(|_| Unreadable)?;
                condition.push_new(name, format!("{time}"));
            }
            Some(Value::String(text)) => condition.push_new(name, text.clone()),
            Some(_) => return Err(Unreadable),
        }
    }
    Ok(Value::Map(condition))
}
