//! Event: as `events.k8s.io` sees it.

use keelson_object::{Object, SelectableField, SmolStr};
use keelson_registry::{Conversion, Resource};

/// Objects are stored as the core group has them.
pub(super) const CONVERSION: Conversion =
    Conversion { to_stored: |object| rename(object, 1, 0), from_stored: |object| rename(object, 0, 1) };

/// Fields that have different names in the core group and here. All others are the same.
///
/// Upstream: pkg/apis/events/v1/conversion.go, Convert_core_Event_To_v1_Event (v1.36.4).
const NAMES: [[&str; 2]; 7] = [
    ["involvedObject", "regarding"],
    ["message", "note"],
    ["source", "deprecatedSource"],
    ["firstTimestamp", "deprecatedFirstTimestamp"],
    ["lastTimestamp", "deprecatedLastTimestamp"],
    ["count", "deprecatedCount"],
    ["reportingComponent", "reportingController"],
];

/// The selectable fields, here and in the core group.
///
/// Upstream: pkg/apis/events/v1/conversion.go, AddFieldLabelConversionsForEvent (v1.36.4).
const SELECTABLE: [[&str; 2]; 10] = [
    ["reason", "reason"],
    ["regarding.kind", "involvedObject.kind"],
    ["regarding.namespace", "involvedObject.namespace"],
    ["regarding.name", "involvedObject.name"],
    ["regarding.uid", "involvedObject.uid"],
    ["regarding.apiVersion", "involvedObject.apiVersion"],
    ["regarding.resourceVersion", "involvedObject.resourceVersion"],
    ["regarding.fieldPath", "involvedObject.fieldPath"],
    ["reportingController", "reportingComponent"],
    ["type", "type"],
];

pub(super) fn selectable(resource: Resource) -> Resource {
    SELECTABLE.iter().fold(resource, |resource, [label, path]| {
        resource.selectable(SelectableField {
            label: (*label).into(),
            paths: vec![(*path).into()],
            default: SmolStr::default(),
        })
    })
}

/// The schema of the version that the object arrives at brings the fields into their order.
fn rename(object: &mut Object, from: usize, to: usize) {
    for names in NAMES {
        if let Some(value) = object.fields.remove(names[from]) {
            object.fields.set(names[to], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::Strategy;
    use keelson_schema::Schema;

    use super::CONVERSION;
    use crate::shared::testing::{decoded, text};

    struct Plain;

    impl Strategy for Plain {}

    const HERE: &str = r#"{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"a"},"eventTime":"2024-01-01T00:00:00.000001Z","series":{"count":2,"lastObservedTime":"2024-01-01T00:00:00.000002Z"},"reportingController":"c","reportingInstance":"i","action":"act","reason":"because","regarding":{"kind":"Pod","name":"p"},"related":{"kind":"Node"},"note":"hello","type":"Normal","deprecatedSource":{"component":"x"},"deprecatedFirstTimestamp":"2024-01-01T00:00:00Z","deprecatedLastTimestamp":"2024-01-02T00:00:00Z","deprecatedCount":3}"#;
    const THERE: &str = r#"{"kind":"Event","apiVersion":"v1","metadata":{"name":"a"},"involvedObject":{"kind":"Pod","name":"p"},"reason":"because","message":"hello","source":{"component":"x"},"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-02T00:00:00Z","count":3,"type":"Normal","eventTime":"2024-01-01T00:00:00.000001Z","series":{"count":2,"lastObservedTime":"2024-01-01T00:00:00.000002Z"},"action":"act","related":{"kind":"Node"},"reportingComponent":"c","reportingInstance":"i"}"#;

    #[track_caller]
    fn check(from: (&str, &str), convert: fn(&mut keelson_object::Object), to: (&str, &str, &str)) {
        let mut object = decoded(&Plain, from.0, from.1);
        convert(&mut object);
        object.api_version = if to.0.is_empty() { to.1.into() } else { format!("{}/{}", to.0, to.1).into() };
        Schema::builtin(to.0, to.1, "Event").expect("built in").arrange(&mut object);
        assert_eq!(text(&object.into_value()), to.2);
    }

    #[test]
    fn events_have_other_names_in_the_core_group() {
        check(("events.k8s.io/v1 Event", HERE), CONVERSION.to_stored, ("", "v1", THERE));
        check(("v1 Event", THERE), CONVERSION.from_stored, ("events.k8s.io", "v1", HERE));
    }
}
