//! Event: a report about an object. Events have a TTL of an hour.

mod rules;

use keelson_object::scalar::{MicroTime, Time};
use keelson_object::{Cell, FieldErrors, Map, Object, SelectableField, SmolStr, Value};
use keelson_registry::{Column, Context, NameRule, Resource, Strategy};

/// Events, by the API group of the request.
pub(crate) enum Event {
    /// The core group keeps its old, lenient rules.
    Core,
    /// `events.k8s.io` is strict.
    Events,
}

impl Strategy for Event {
    /// The core group does not validate names.
    fn name_rule(&self) -> NameRule {
        match self {
            Event::Core => NameRule::PathSegmentLast,
            Event::Events => NameRule::Subdomain,
        }
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object, self, errors);
        if matches!(self, Event::Events) {
            rules::check_strictly(object, errors);
        }
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check(object, self, errors);
        if matches!(self, Event::Events) {
            rules::check_kept(object, old, errors);
        }
    }
}

pub(crate) fn columns() -> [Column; 10] {
    [
        Column::computed("Last Seen", last_seen),
        Column::text("Type", "type"),
        Column::text("Reason", "reason"),
        Column::computed("Object", target),
        Column::text("Subobject", "involvedObject.fieldPath").wide(),
        Column::computed("Source", source).wide(),
        Column::computed("Message", message),
        Column::computed("First Seen", |object| Cell::Age(first_seen(object))).wide(),
        Column::computed("Count", count).wide(),
        Column::name().wide(),
    ]
}

/// Upstream: pkg/apis/core/v1/conversion.go, AddFieldLabelConversionsForEvent (v1.36.4).
pub(crate) fn selectable(resource: Resource) -> Resource {
    let plain = [
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "type",
    ];
    let resource = plain.iter().fold(resource, |it, path| it.selectable(SelectableField::plain(path)));
    resource.selectable(SelectableField {
        label: "source".into(),
        paths: vec!["source.component".into(), "reportingComponent".into()],
        default: SmolStr::default(),
    })
}

fn time(map: &Map, field: &str) -> Option<Time> {
    Time::parse(map.str(field)?).ok()
}

fn micro_time(value: Option<&Value>) -> Option<Time> {
    let micro = MicroTime::parse(value?.as_str()?).ok()?;
    Some(Time::from_unix(micro.unix_micros().div_euclid(1_000_000)))
}

fn first_seen(object: &Object) -> Option<Time> {
    time(&object.fields, "firstTimestamp").or_else(|| micro_time(object.fields.get("eventTime")))
}

fn last_seen(object: &Object) -> Cell {
    if let Some(series) = object.fields.map("series") {
        return Cell::Age(micro_time(series.get("lastObservedTime")));
    }
    Cell::Age(time(&object.fields, "lastTimestamp").or_else(|| first_seen(object)))
}

fn target(object: &Object) -> Cell {
    let text = |path| object.fields.at(path).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("involvedObject.kind").to_lowercase(), text("involvedObject.name"));
    Cell::from(if name.is_empty() { kind } else { format!("{kind}/{name}") })
}

fn source(object: &Object) -> Cell {
    let text = |path| object.fields.at(path).and_then(Value::as_str).filter(|it| !it.is_empty());
    let component = text("source.component").or(text("reportingComponent")).unwrap_or_default();
    match text("source.host").or(text("reportingInstance")) {
        Some(instance) => Cell::from(format!("{component}, {instance}")),
        None => Cell::from(component),
    }
}

fn message(object: &Object) -> Cell {
    Cell::from(object.fields.str("message").unwrap_or_default().trim())
}

/// An event of the new form that did not repeat has no count.
fn count(object: &Object) -> Cell {
    if let Some(series) = object.fields.map("series") {
        return Cell::Int(series.int("count").unwrap_or_default());
    }
    Cell::Int(object.fields.int("count").filter(|count| *count != 0).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::{Event, columns};
    use crate::shared::testing::{cells, decoded};

    #[test]
    fn a_row_tells_what_happened_to_what() {
        let row = |text: &str| cells(&columns(), &decoded(&Event::Core, "v1 Event", text));
        let old = row(
            r#"{"metadata": {"name": "e"}, "type": "Normal", "reason": "Started", "message": " hello ", "count": 3,
                "involvedObject": {"kind": "Pod", "name": "a", "fieldPath": "spec"},
                "source": {"component": "kubelet", "host": "n"}}"#,
        );
        assert_eq!(old[1..7], ["Normal", "Started", "pod/a", "spec", "kubelet, n", "hello"]);
        assert_eq!(old[8..], ["3", "e"]);
        let new = row(
            r#"{"reportingComponent": "c", "involvedObject": {"kind": "Node"}, "series": {"count": 7}, "count": 3}"#,
        );
        assert_eq!((new[3].as_str(), new[5].as_str(), new[8].as_str()), ("node", "c", "7"));
        assert_eq!(row("{}")[8], "1");
    }
}
