//! Claim spec: the same in ResourceClaims and ResourceClaimTemplates.
//!
//! A request is for devices of a class, or for the first of several alternatives. In v1 the former is under
//! `exactly`; in v1beta1 it is in the request itself:
//!
//! ```json
//! {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}}
//! {"name": "gpu", "deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}
//! ```

use keelson_object::{Map, Value};

use crate::shared::edit::{fill, part, parts};
use crate::shared::gated::Feature;

/// Fields that are in the request in v1beta1 and under `exactly` in v1.
const EXACTLY: [&str; 7] =
    ["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];

/// Fields of features, seen from the spec of a claim.
///
/// Upstream: pkg/api/resourceclaimspec/util.go, DropDisabledFields (v1.36.4).
pub(crate) const FEATURES: &[Feature] = &[
    Feature { gates: &["DRAPrioritizedList"], paths: &["devices.requests.*.firstAvailable"], signs: &[] },
    Feature {
        gates: &["DRADeviceTaints"],
        paths: &["devices.requests.*.exactly.tolerations", "devices.requests.*.firstAvailable.*.tolerations"],
        signs: &[],
    },
    Feature {
        gates: &["DRAConsumableCapacity"],
        paths: &[
            "devices.constraints.*.distinctAttribute",
            "devices.requests.*.exactly.capacity",
            "devices.requests.*.firstAvailable.*.capacity",
        ],
        signs: &[],
    },
];

/// Features that v1.36 has for good, seen from the spec of a claim.
pub(crate) const GRADUATED: &[Feature] =
    &[Feature { gates: &["DRAAdminAccess"], paths: &["devices.requests.*.exactly.adminAccess"], signs: &[] }];

/// Fills in requests of either form.
///
/// Upstream: pkg/apis/resource/v1/defaults.go and v1beta1/defaults.go (v1.36.4).
pub(crate) fn default(spec: &mut Map) {
    for request in requests(spec) {
        if request.str("deviceClassName").is_some_and(|it| !it.is_empty()) {
            default_count(request);
        }
        default_tolerations(request);
        if let Some(exactly) = part(request, "exactly") {
            default_count(exactly);
            default_tolerations(exactly);
        }
        for choice in parts(request, "firstAvailable") {
            default_count(choice);
            default_tolerations(choice);
        }
    }
}

fn default_count(request: &mut Map) {
    fill(request, "allocationMode", "ExactCount");
    if request.str("allocationMode") == Some("ExactCount") {
        fill(request, "count", 1);
    }
}

/// A toleration without operator is for the value it names.
pub(crate) fn default_tolerations(map: &mut Map) {
    for toleration in parts(map, "tolerations") {
        fill(toleration, "operator", "Equal");
    }
}

/// Converts from v1beta1 to v1. Nothing is lost, even if the combination makes no sense.
///
/// Upstream: pkg/apis/resource/v1beta1/conversion.go, Convert_v1beta1_DeviceRequest_To_resource_DeviceRequest
/// (v1.36.4).
pub(crate) fn from_v1beta1(spec: &mut Map) {
    for request in requests(spec) {
        let mut exactly = Map::new();
        for field in EXACTLY {
            if let Some(value) = request.remove(field) {
                exactly.push_new(field, value);
            }
        }
        if exactly.iter().any(|(field, value)| says_something(field, value)) {
            request.set("exactly", exactly);
        }
    }
}

/// Zero values count as absent, except in `adminAccess` and `capacity`.
fn says_something(field: &str, value: &Value) -> bool {
    match field {
        "adminAccess" | "capacity" => !value.is_null(),
        _ => !value.is_empty(),
    }
}

/// Converts from v1 to v1beta1.
pub(crate) fn to_v1beta1(spec: &mut Map) {
    for request in requests(spec) {
        if let Some(Value::Map(exactly)) = request.remove("exactly") {
            exactly.into_iter().for_each(|(field, value)| request.set(field, value));
        }
    }
}

fn requests(spec: &mut Map) -> impl Iterator<Item = &mut Map> {
    part(spec, "devices").into_iter().flat_map(|devices| parts(devices, "requests"))
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use super::{default, from_v1beta1, to_v1beta1};
    use crate::shared::testing::tree;

    fn spec(request: &str) -> Map {
        tree(&format!(r#"{{"devices": {{"requests": [{request}]}}}}"#)).as_map().unwrap().clone()
    }

    #[test]
    fn a_request_is_for_one_device_and_tolerates_what_it_names() {
        let check = |request: &str, expected: &str| {
            let mut found = spec(request);
            default(&mut found);
            assert_eq!(found, spec(expected), "{request}");
        };
        check("{}", "{}");
        check(r#"{"exactly": {}}"#, r#"{"exactly": {"allocationMode": "ExactCount", "count": 1}}"#);
        check(r#"{"exactly": {"allocationMode": "All"}}"#, r#"{"exactly": {"allocationMode": "All"}}"#);
        check(
            r#"{"exactly": {"count": 3, "tolerations": [{"key": "a"}, {"operator": "Exists"}]}}"#,
            r#"{"exactly": {"allocationMode": "ExactCount", "count": 3,
                "tolerations": [{"key": "a", "operator": "Equal"}, {"operator": "Exists"}]}}"#,
        );
        check(
            r#"{"firstAvailable": [{"tolerations": [{}]}]}"#,
            r#"{"firstAvailable": [{"allocationMode": "ExactCount", "count": 1, "tolerations": [{"operator": "Equal"}]}]}"#,
        );
        check(r#"{"deviceClassName": ""}"#, r#"{"deviceClassName": ""}"#);
        check(
            r#"{"deviceClassName": "c", "tolerations": [{}]}"#,
            r#"{"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, "tolerations": [{"operator": "Equal"}]}"#,
        );
    }

    #[test]
    fn what_stood_in_the_request_stands_under_exactly_and_back() {
        let check = |old: &str, new: &str| {
            let mut found = spec(old);
            from_v1beta1(&mut found);
            assert_eq!(found, spec(new), "{old}");
            to_v1beta1(&mut found);
            assert_eq!(found, spec(old), "{new}");
        };
        check(
            r#"{"name": "a", "deviceClassName": "c", "count": 2, "adminAccess": false, "selectors": [{}]}"#,
            r#"{"name": "a", "exactly": {"deviceClassName": "c", "count": 2, "adminAccess": false, "selectors": [{}]}}"#,
        );
        check(
            r#"{"name": "a", "deviceClassName": "", "adminAccess": true, "firstAvailable": [{"name": "b"}]}"#,
            r#"{"name": "a", "exactly": {"deviceClassName": "", "adminAccess": true}, "firstAvailable": [{"name": "b"}]}"#,
        );
        check(r#"{"name": "a"}"#, r#"{"name": "a"}"#);
    }

    #[test]
    fn a_request_that_says_nothing_is_not_for_exactly_anything() {
        let mut found = spec(r#"{"name": "a", "deviceClassName": "", "firstAvailable": [{"name": "b"}]}"#);
        from_v1beta1(&mut found);
        assert_eq!(found, spec(r#"{"name": "a", "firstAvailable": [{"name": "b"}]}"#));
    }
}
