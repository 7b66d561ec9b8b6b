//! Printed forms of claims, allocations and pool statuses in messages.

use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::go_form::Form::{AsIs, Many, Maybe, Number, Struct, Text};
use crate::shared::go_form::{Field, Shape, as_json, form};

const SELECTOR: &[Field] = &[Field("CEL", "cel", Maybe(&[Field("Expression", "expression", Text)]))];

const TOLERATION: &[Field] = &[
    Field("Key", "key", Text),
    Field("Operator", "operator", Text),
    Field("Value", "value", Text),
    Field("Effect", "effect", Text),
    Field("TolerationSeconds", "tolerationSeconds", AsIs),
];

const CAPACITY: &[Field] = &[Field("Requests", "requests", AsIs)];

const OPAQUE: &[Field] = &[Field("Driver", "driver", Text), Field("Parameters", "parameters", AsIs)];

const REQUEST: &[Field] = &[
    Field("Name", "name", Text),
    Field(
        "Exactly",
        "exactly",
        Maybe(&[
            Field("DeviceClassName", "deviceClassName", Text),
            Field("Selectors", "selectors", Many(SELECTOR)),
            Field("AllocationMode", "allocationMode", Text),
            Field("Count", "count", Number),
            Field("AdminAccess", "adminAccess", AsIs),
            Field("Tolerations", "tolerations", Many(TOLERATION)),
            Field("Capacity", "capacity", Maybe(CAPACITY)),
        ]),
    ),
    Field(
        "FirstAvailable",
        "firstAvailable",
        Many(&[
            Field("Name", "name", Text),
            Field("DeviceClassName", "deviceClassName", Text),
            Field("Selectors", "selectors", Many(SELECTOR)),
            Field("AllocationMode", "allocationMode", Text),
            Field("Count", "count", Number),
            Field("Tolerations", "tolerations", Many(TOLERATION)),
            Field("Capacity", "capacity", Maybe(CAPACITY)),
        ]),
    ),
];

/// The spec of a claim.
pub(super) const SPEC: &[Field] = &[Field(
    "Devices",
    "devices",
    Struct(&[
        Field("Requests", "requests", Many(REQUEST)),
        Field(
            "Constraints",
            "constraints",
            Many(&[
                Field("Requests", "requests", AsIs),
                Field("MatchAttribute", "matchAttribute", AsIs),
                Field("DistinctAttribute", "distinctAttribute", AsIs),
            ]),
        ),
        Field(
            "Config",
            "config",
            Many(&[Field("Requests", "requests", AsIs), Field("Opaque", "opaque", Maybe(OPAQUE))]),
        ),
    ]),
)];

const REQUIREMENT: &[Field] =
    &[Field("Key", "key", Text), Field("Operator", "operator", Text), Field("Values", "values", AsIs)];

const TERM: &[Field] = &[
    Field("MatchExpressions", "matchExpressions", Many(REQUIREMENT)),
    Field("MatchFields", "matchFields", Many(REQUIREMENT)),
];

const RESULT: &[Field] = &[
    Field("Request", "request", Text),
    Field("Driver", "driver", Text),
    Field("Pool", "pool", Text),
    Field("Device", "device", Text),
    Field("AdminAccess", "adminAccess", AsIs),
    Field("Tolerations", "tolerations", Many(TOLERATION)),
    Field("BindingConditions", "bindingConditions", AsIs),
    Field("BindingFailureConditions", "bindingFailureConditions", AsIs),
    Field("ShareID", "shareID", AsIs),
    Field("ConsumedCapacity", "consumedCapacity", AsIs),
];

/// The allocation of a claim.
pub(super) const ALLOCATION: &[Field] = &[
    Field(
        "Devices",
        "devices",
        Struct(&[
            Field("Results", "results", Many(RESULT)),
            Field(
                "Config",
                "config",
                Many(&[
                    Field("Source", "source", Text),
                    Field("Requests", "requests", AsIs),
                    Field("Opaque", "opaque", Maybe(OPAQUE)),
                ]),
            ),
        ]),
    ),
    Field(
        "NodeSelector",
        "nodeSelector",
        Maybe(&[Field("NodeSelectorTerms", "nodeSelectorTerms", Many(TERM))]),
    ),
    Field("AllocationTimestamp", "allocationTimestamp", AsIs),
];

/// The status of a ResourcePoolStatusRequest.
pub(super) const ANSWER: &[Field] = &[
    Field("PoolCount", "poolCount", AsIs),
    Field(
        "Pools",
        "pools",
        Many(&[
            Field("Driver", "driver", Text),
            Field("PoolName", "poolName", Text),
            Field("Generation", "generation", Number),
            Field("ResourceSliceCount", "resourceSliceCount", AsIs),
            Field("TotalDevices", "totalDevices", AsIs),
            Field("AllocatedDevices", "allocatedDevices", AsIs),
            Field("AvailableDevices", "availableDevices", AsIs),
            Field("UnavailableDevices", "unavailableDevices", AsIs),
            Field("NodeName", "nodeName", AsIs),
            Field("ValidationError", "validationError", AsIs),
        ]),
    ),
    Field("Conditions", "conditions", AsIs),
];

/// An attribute of a device.
pub(super) const ATTRIBUTE: &[Field] = &[
    Field("IntValue", "int", AsIs),
    Field("BoolValue", "bool", AsIs),
    Field("StringValue", "string", AsIs),
    Field("VersionValue", "version", AsIs),
    Field("IntValues", "ints", AsIs),
    Field("BoolValues", "bools", AsIs),
    Field("StringValues", "strings", AsIs),
    Field("VersionValues", "versions", AsIs),
];

/// The list `nodeSelectorTerms` of a selector.
pub(super) fn terms(selector: &Map) -> Value {
    let terms = selector.maps("nodeSelectorTerms").map(|it| Value::Map(form(it, TERM)));
    Value::List(terms.collect())
}

/// The spec of a template, in which the metadata is inlined.
pub(super) fn template(spec: &Map) -> String {
    let mut shown = spec.map("metadata").cloned().unwrap_or_default();
    let empty = Map::new();
    shown.push_new("Spec", form(spec.map("spec").unwrap_or(&empty), SPEC));
    as_json(&Value::Map(shown))
}

/// Reports `now` at `at` if it differs from the old value.
pub(super) fn check_unchanged(
    now: Option<&Map>,
    old: Option<&Map>,
    fields: &'static [Field],
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if now != old {
        let empty = Map::new();
        errors.invalid(at, Shape(now.unwrap_or(&empty), fields), "field is immutable");
    }
}
