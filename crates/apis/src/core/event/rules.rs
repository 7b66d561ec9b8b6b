//! Validation of events: lenient for old ones, strict for those with an `eventTime`.

use keelson_object::scalar::{MicroTime, Time};
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::Event;
use crate::shared::go_form::{Field, Form, shown, shown_pointer};
use crate::shared::immutable::{self, IMMUTABLE};

/// The longest instance, action and reason.
const WORD_MAX: usize = 128;

/// The longest message.
const NOTE_MAX: usize = 1024;

/// Checks the rules for all events.
///
/// Upstream: pkg/apis/core/validation/events.go, legacyValidateEvent (v1.36.4).
pub(super) fn check(object: &Object, through: &Event, errors: &mut FieldErrors) {
    let (fields, namespace) = (&object.fields, object.meta.namespace.as_str());
    let of = fields.at("involvedObject.namespace").and_then(Value::as_str).unwrap_or_default();
    let is_new = event_time(object).is_some();
    let agrees = match (is_new, of) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, of) => of == namespace,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !agrees {
        errors.invalid(&Path::root("involvedObject.namespace"), of, "does not match event.namespace");
    }
    if is_new {
        check_new(fields, through, errors);
    }
    errors.invalid_each(&Path::root("namespace"), namespace, name_rules::dns1123_subdomain(namespace));
}

fn check_new(fields: &Map, through: &Event, errors: &mut FieldErrors) {
    let said = |field| fields.str(field).unwrap_or_default();
    let at = Path::root(match through {
        Event::Core => "reportingComponent",
        Event::Events => "reportingController",
    });
    let component = said("reportingComponent");
    if component.is_empty() {
        errors.required(&at, "");
    }
    errors.invalid_each(&at, component, name_rules::qualified_name(component));
    for field in ["reportingInstance", "action", "reason"] {
        if said(field).is_empty() {
            errors.required(&Path::root(field), "");
        }
        check_length(field, said(field), WORD_MAX, errors);
    }
    check_length("message", said("message"), NOTE_MAX, errors);
}

fn check_length(field: &str, text: &str, max: usize, errors: &mut FieldErrors) {
    if text.len() > max {
        errors.invalid(&Path::root(field), "", format!("can have at most {max} characters"));
    }
}

/// Checks the further rules for new events of `events.k8s.io`.
///
/// Upstream: pkg/apis/core/validation/events.go, ValidateEventCreate (v1.36.4).
pub(super) fn check_strictly(object: &Object, errors: &mut FieldErrors) {
    let fields = &object.fields;
    check_series(fields, errors);
    if event_time(object).is_none() {
        errors.required(&Path::root("eventTime"), "");
    }
    let kind = fields.str("type").unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid(&Path::root("type"), "", format!("has invalid value: {kind}"));
    }
    let is_set = |field| match field {
        "count" => fields.int(field).unwrap_or_default() != 0,
        "source" => ["component", "host"]
            .iter()
            .any(|it| fields.map(field).and_then(|map| map.str(it)).is_some_and(|text| !text.is_empty())),
        _ => time(fields, field).is_some(),
    };
    for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
        if is_set(field) {
            errors.invalid(&Path::root(field), "", "needs to be unset");
        }
    }
}

/// Upstream: pkg/apis/core/validation/events.go, validateV1EventSeries (v1.36.4).
fn check_series(fields: &Map, errors: &mut FieldErrors) {
    let Some(series) = fields.map("series") else { return };
    if series.int("count").unwrap_or_default() < 2 {
        errors.invalid(&Path::root("series.count"), "", "should be at least 2");
    }
    if micro_time(series, "lastObservedTime").is_none() {
        errors.required(&Path::root("series.lastObservedTime"), "");
    }
}

/// Checks that nothing but the series of an event of `events.k8s.io` changes.
///
/// Upstream: pkg/apis/core/validation/events.go, ValidateEventUpdate (v1.36.4).
pub(super) fn check_kept(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let (new, old) = (&object.fields, &old.fields);
    if new.get("series") != old.get("series") {
        check_series(new, errors);
    }
    keep(new, old, "involvedObject", Shape::Record(&REFERENCE), errors);
    keep(new, old, "reason", Shape::Text, errors);
    keep(new, old, "message", Shape::Text, errors);
    keep(new, old, "source", Shape::Record(&SOURCE), errors);
    keep(new, old, "firstTimestamp", Shape::Plain, errors);
    keep(new, old, "lastTimestamp", Shape::Plain, errors);
    keep(new, old, "count", Shape::Number, errors);
    // Upstream checks this twice.
    keep(new, old, "reason", Shape::Text, errors);
    keep(new, old, "type", Shape::Text, errors);
    keep(new, old, "eventTime", Shape::Plain, errors);
    keep(new, old, "action", Shape::Text, errors);
    keep(new, old, "related", Shape::Pointer(&REFERENCE), errors);
    immutable::text("reportingComponent", new, old, &Path::root("reportingController"), errors);
    keep(new, old, "reportingInstance", Shape::Text, errors);
}

/// The Go type of a field, which determines how it is shown.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Plain,
    Record(&'static [Field]),
    Pointer(&'static [Field]),
}

/// Upstream: pkg/apis/core/types.go, ObjectReference (v1.36.4).
const REFERENCE: [Field; 7] = [
    Field("Kind", "kind", Form::Text),
    Field("Namespace", "namespace", Form::Text),
    Field("Name", "name", Form::Text),
    Field("UID", "uid", Form::Text),
    Field("APIVersion", "apiVersion", Form::Text),
    Field("ResourceVersion", "resourceVersion", Form::Text),
    Field("FieldPath", "fieldPath", Form::Text),
];

/// Upstream: pkg/apis/core/types.go, EventSource (v1.36.4).
const SOURCE: [Field; 2] = [Field("Component", "component", Form::Text), Field("Host", "host", Form::Text)];

fn keep(new: &Map, old: &Map, field: &str, shape: Shape, errors: &mut FieldErrors) {
    let (at, new, old) = (Path::root(field), new.get(field), old.get(field));
    if immutable::is_same(new, old) {
        return;
    }
    let (new, empty) = (new.unwrap_or(&Value::Null), Map::new());
    match shape {
        Shape::Text => errors.invalid(&at, new.as_str().unwrap_or_default(), IMMUTABLE),
        Shape::Number => errors.invalid(&at, new.as_int().unwrap_or_default(), IMMUTABLE),
        Shape::Plain => errors.invalid(&at, new, IMMUTABLE),
        Shape::Record(fields) => {
            errors.invalid_as(&at, shown(new.as_map().unwrap_or(&empty), fields), IMMUTABLE);
        }
        Shape::Pointer(fields) => errors.invalid_as(&at, shown_pointer(new.as_map(), fields), IMMUTABLE),
    }
}

fn event_time(object: &Object) -> Option<MicroTime> {
    micro_time(&object.fields, "eventTime")
}

fn micro_time(map: &Map, field: &str) -> Option<MicroTime> {
    MicroTime::parse(map.str(field)?).ok().filter(|it| !it.is_zero())
}

fn time(map: &Map, field: &str) -> Option<Time> {
    Time::parse(map.str(field)?).ok().filter(|it| !it.is_zero())
}
