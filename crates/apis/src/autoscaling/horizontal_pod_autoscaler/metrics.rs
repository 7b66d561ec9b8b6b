//! Metrics: fields in `v2`, and an annotation with other names in `v1`.
//!
//! A metric of `v2`
//!
//! ```json
//! {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "10"}}}
//! ```
//!
//! is in the annotation
//!
//! ```json
//! {"type": "Pods", "pods": {"metricName": "hits", "targetAverageValue": "10"}}
//! ```
//!
//! The tables below pair the names. The type of a target is not there; it follows from what is set.

use keelson_object::scalar::Quantity;
use keelson_object::{Map, Value};

/// An invalid annotation. Readers ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// A metric source: its field, and the pairs of names of the fields in it.
pub(super) type Source = (&'static str, &'static [Pair]);

/// A name in the annotation, a path in `v2`, and the type of the value.
pub(super) type Pair = (&'static str, &'static str, Shape);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Text that is written even if it is empty.
    Text,
    /// The described object: kind, name, version.
    Reference,
    /// An amount that is written even if it is zero.
    Amount,
    /// A quantity, or absent.
    AmountOrNone,
    /// A number, or absent.
    NumberOrNone,
    /// A label selector, or absent.
    Selector,
}

/// Metrics of a spec, in the order in which `v1` writes them.
///
/// Upstream: staging/src/k8s.io/api/autoscaling/v1/types.go, MetricSpec (v1.36.4).
pub(super) const SPECS: [Source; 5] = [
    (
        "object",
        &[
            ("target", "describedObject", Shape::Reference),
            ("metricName", "metric.name", Shape::Text),
            ("targetValue", "target.value", Shape::Amount),
            ("selector", "metric.selector", Shape::Selector),
            ("averageValue", "target.averageValue", Shape::AmountOrNone),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name", Shape::Text),
            ("targetAverageValue", "target.averageValue", Shape::Amount),
            ("selector", "metric.selector", Shape::Selector),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name", Shape::Text),
            ("targetAverageUtilization", "target.averageUtilization", Shape::NumberOrNone),
            ("targetAverageValue", "target.averageValue", Shape::AmountOrNone),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name", Shape::Text),
            ("targetAverageUtilization", "target.averageUtilization", Shape::NumberOrNone),
            ("targetAverageValue", "target.averageValue", Shape::AmountOrNone),
            ("container", "container", Shape::Text),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name", Shape::Text),
            ("metricSelector", "metric.selector", Shape::Selector),
            ("targetValue", "target.value", Shape::AmountOrNone),
            ("targetAverageValue", "target.averageValue", Shape::AmountOrNone),
        ],
    ),
];

/// Metrics of a status.
///
/// Upstream: staging/src/k8s.io/api/autoscaling/v1/types.go, MetricStatus (v1.36.4).
pub(super) const STATUSES: [Source; 5] = [
    (
        "object",
        &[
            ("target", "describedObject", Shape::Reference),
            ("metricName", "metric.name", Shape::Text),
            ("currentValue", "current.value", Shape::Amount),
            ("selector", "metric.selector", Shape::Selector),
            ("averageValue", "current.averageValue", Shape::AmountOrNone),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name", Shape::Text),
            ("currentAverageValue", "current.averageValue", Shape::Amount),
            ("selector", "metric.selector", Shape::Selector),
        ],
    ),
    (
        "resource",
        &[
            ("name", "name", Shape::Text),
            ("currentAverageUtilization", "current.averageUtilization", Shape::NumberOrNone),
            ("currentAverageValue", "current.averageValue", Shape::Amount),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name", Shape::Text),
            ("currentAverageUtilization", "current.averageUtilization", Shape::NumberOrNone),
            ("currentAverageValue", "current.averageValue", Shape::Amount),
            ("container", "container", Shape::Text),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name", Shape::Text),
            ("metricSelector", "metric.selector", Shape::Selector),
            ("currentValue", "current.value", Shape::Amount),
            ("currentAverageValue", "current.averageValue", Shape::AmountOrNone),
        ],
    ),
];

/// A metric of `v2` as the annotation has it.
pub(super) fn to_annotation(metric: &Map, sources: &[Source]) -> Value {
    let mut all = Map::new();
    all.push_new("type", metric.str("type").unwrap_or_default());
    for (name, pairs) in sources {
        let Some(source) = metric.map(name) else { continue };
        let mut written = Map::new();
        for (old, path, shape) in *pairs {
            let value = source.at(path).filter(|it| !it.is_null());
            if let Some(value) = value.cloned().or_else(|| shape.zero()) {
                written.push_new(*old, value);
            }
        }
        all.push_new(*name, written);
    }
    Value::Map(all)
}

/// A metric of an annotation as `v2` has it.
pub(super) fn from_annotation(value: &Value, sources: &[Source]) -> Result<Value, Unreadable> {
    let Some(metric) = as_struct(Some(value))? else { return Ok(Value::Map(Map::new())) };
    let mut all = Map::new();
    all.push_new("type", Shape::Text.read(field(metric, "type"))?.unwrap_or_default());
    for (name, pairs) in sources {
        let Some(source) = as_struct(field(metric, name))? else { continue };
        let mut read = Map::new();
        for (old, path, shape) in *pairs {
            if let Some(value) = shape.read(field(source, old))? {
                set_at(&mut read, path, value);
            }
        }
        if pairs.iter().any(|(_, path, _)| path.starts_with("target.")) {
            finish_target(name, read.map_mut("target"));
        }
        all.push_new(*name, read);
    }
    Ok(Value::Map(all))
}

/// Sets the type of the target.
///
/// Upstream: pkg/apis/autoscaling/v1/conversion.go, Convert_v1_*MetricSource_To_autoscaling_*MetricSource (v1.36.4).
fn finish_target(source: &str, target: &mut Map) {
    let has = |field: &str| target.contains(field);
    let kind = match source {
        "object" if !has("averageValue") => "Value",
        "external" if has("value") => "Value",
        "resource" | "containerResource" if has("averageUtilization") => "Utilization",
        _ => "AverageValue",
    };
    // The annotation cannot leave the value out, and zero is not a target.
    if source == "object" && kind == "AverageValue" {
        target.retain(|field, value| field != "value" || value.as_str() != Some("0"));
    }
    target.set("type", kind);
}

impl Shape {
    fn zero(self) -> Option<Value> {
        match self {
            Shape::Text => Some(Value::from("")),
            Shape::Amount => Some(Value::from("0")),
            Shape::Reference => Some(Value::Map(reference(&Map::new(), |map, name| map.get(name)))),
            Shape::AmountOrNone | Shape::NumberOrNone | Shape::Selector => None,
        }
    }

    fn read(self, value: Option<&Value>) -> Result<Option<Value>, Unreadable> {
        let Some(value) = value.filter(|it| !it.is_null()) else { return Ok(self.zero()) };
        let read = match (self, value) {
            (Shape::Text, Value::String(_)) => value.clone(),
            (Shape::NumberOrNone, Value::Int(number)) if i32::try_from(*number).is_ok() => value.clone(),
            (Shape::Amount | Shape::AmountOrNone, _) => {
                Value::from(Quantity::from_value(value).map_err(|_| Unreadable)?.to_string())
            }
            (Shape::Reference, Value::Map(map)) => Value::Map(reference(map, field)),
            (Shape::Selector, Value::Map(_)) => value.clone(),
            _ => return Err(Unreadable),
        };
        Ok(Some(read))
    }
}

fn reference(map: &Map, field: for<'m> fn(&'m Map, &str) -> Option<&'m Value>) -> Map {
    let text = |name: &str| field(map, name).and_then(Value::as_str).unwrap_or_default();
    let mut reference = Map::new();
    reference.push_new("kind", text("kind"));
    reference.push_new("name", text("name"));
    if !text("apiVersion").is_empty() {
        reference.push_new("apiVersion", text("apiVersion"));
    }
    reference
}

/// The value of a field as Go finds it: by its name, else whatever the case.
pub(super) fn field<'m>(map: &'m Map, name: &str) -> Option<&'m Value> {
    map.get(name)
        .or_else(|| map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

/// A struct, if the value is present; anything else is an error.
fn as_struct(value: Option<&Value>) -> Result<Option<&Map>, Unreadable> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_map().map(Some).ok_or(Unreadable),
    }
}

fn set_at(map: &mut Map, path: &str, value: Value) {
    match path.split_once('.') {
        Some((first, rest)) => set_at(map.map_mut(first), rest, value),
        None => map.set(path, value),
    }
}
