//! ResourceSlice: some of the devices of a pool.
//!
//! In v1 the properties of a device are in the device, in v1beta1 under `basic`:
//!
//! ```json
//! {"name": "gpu-0", "attributes": {"model": {"string": "a"}}}
//! {"name": "gpu-0", "basic": {"attributes": {"model": {"string": "a"}}}}
//! ```

use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Conversion, Strategy};

use super::{slice_rules, taint_rule};
use crate::catalog::Settings;
use crate::shared::cells;
use crate::shared::edit::{part, parts};
use crate::shared::gated::{Feature, Off};

pub(crate) const V1BETA1: Conversion = Conversion { to_stored: from_v1beta1, from_stored: to_v1beta1 };

/// Upstream: pkg/registry/resource/resourceslice/strategy.go, dropDisabledFields (v1.36.4).
const FEATURES: &[Feature] = &[
    Feature { gates: &["DRADeviceTaints"], paths: &["spec.devices.*.taints"], signs: &[] },
    Feature {
        gates: &["DRAPartitionableDevices"],
        paths: &[
            "spec.sharedCounters",
            "spec.perDeviceNodeSelection",
            "spec.devices.*.consumesCounters",
            "spec.devices.*.nodeName",
            "spec.devices.*.nodeSelector",
            "spec.devices.*.allNodes",
        ],
        signs: &[],
    },
    Feature {
        gates: &["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"],
        paths: &[
            "spec.devices.*.bindingConditions",
            "spec.devices.*.bindingFailureConditions",
            "spec.devices.*.bindsToNode",
        ],
        signs: &[],
    },
    Feature {
        gates: &["DRAConsumableCapacity"],
        paths: &["spec.devices.*.allowMultipleAllocations", "spec.devices.*.capacity.*.requestPolicy"],
        signs: &[],
    },
    Feature {
        gates: &["DRANodeAllocatableResources"],
        paths: &["spec.devices.*.nodeAllocatableResourceMappings"],
        signs: &[],
    },
    Feature {
        gates: &["DRAListTypeAttributes"],
        paths: &[
            "spec.devices.*.attributes.*.bools",
            "spec.devices.*.attributes.*.ints",
            "spec.devices.*.attributes.*.strings",
            "spec.devices.*.attributes.*.versions",
        ],
        signs: &[],
    },
];

pub(crate) struct ResourceSlice(Off);

impl ResourceSlice {
    pub(crate) fn new(settings: &Settings) -> ResourceSlice {
        ResourceSlice(Off::of(settings, FEATURES))
    }
}

pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::text("Node", "spec.nodeName"),
        Column::text("Driver", "spec.driver"),
        Column::text("Pool", "spec.pool.name"),
        Column::age(),
    ]
}

impl Strategy for ResourceSlice {
    /// Upstream: pkg/apis/resource/v1/defaults.go, SetDefaults_Device, and v1beta1/defaults.go,
    /// SetDefaults_BasicDevice (v1.36.4). When a taint was added is filled in where the time is known.
    fn default(&self, object: &mut Object) {
        for device in devices(object) {
            let device = if device.map("basic").is_some() { device.map_mut("basic") } else { device };
            let mappings = part(device, "nodeAllocatableResourceMappings");
            for (_, mapping) in mappings.into_iter().flat_map(Map::iter_mut) {
                if let Some(mapping) = mapping.as_map_mut() {
                    mapping.default_to("allocationMultiplier", "1");
                }
            }
        }
    }

    fn prepare_create(&self, context: &Context, object: &mut Object) {
        date_taints(context, object);
        generation::begin(object);
        self.0.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, context: &Context, object: &mut Object, old: &Object) {
        date_taints(context, object);
        generation::advance(object, old, &["spec"]);
        self.0.drop_new(&mut object.fields, Some(&old.fields));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, Some(old), errors);
    }

    /// Upstream: pkg/registry/resource/resourceslice/strategy.go, WarningsOnCreate (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let driver = cells::text(object, "spec.driver");
        if driver == driver.to_lowercase() {
            return Vec::new();
        }
        vec![format!(
            "spec.driver: driver names should be lowercase; {driver:?} contains uppercase characters"
        )]
    }
}

fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let empty = Map::new();
    let spec = object.fields.map("spec").unwrap_or(&empty);
    slice_rules::check(spec, old.and_then(|it| it.fields.map("spec")), &Path::root("spec"), errors);
}

fn date_taints(context: &Context, object: &mut Object) {
    for device in devices(object) {
        parts(device, "taints").for_each(|taint| taint_rule::date(context, taint));
    }
}

/// Upstream: pkg/apis/resource/v1beta1/conversion.go, Convert_v1beta1_Device_To_resource_Device (v1.36.4).
fn from_v1beta1(object: &mut Object) {
    drop_zeros(object);
    for device in devices(object) {
        if let Some(Value::Map(basic)) = device.remove("basic") {
            basic.into_iter().for_each(|(field, value)| device.set(field, value));
        }
    }
}

fn to_v1beta1(object: &mut Object) {
    drop_zeros(object);
    for device in devices(object) {
        let name = device.remove("name");
        let basic = std::mem::take(device);
        if let Some(name) = name {
            device.push_new("name", name);
        }
        device.push_new("basic", basic);
    }
}

/// In v1beta1 an empty node name counts as absent, and `false` is not written.
fn drop_zeros(object: &mut Object) {
    if let Some(spec) = part(&mut object.fields, "spec") {
        spec.retain(|field, value| !matches!(field, "nodeName" | "allNodes") || !value.is_empty());
    }
}

fn devices(object: &mut Object) -> impl Iterator<Item = &mut Map> {
    part(&mut object.fields, "spec").into_iter().flat_map(|spec| parts(spec, "devices"))
}

#[cfg(test)]
mod tests {
    use keelson_object::{Object, Value};
    use keelson_registry::Strategy;

    use super::{ResourceSlice, V1BETA1};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text, tree};

    /// With taints, without the other features.
    fn strategy() -> ResourceSlice {
        let features = [String::from("DRADeviceTaints")].into();
        ResourceSlice::new(&Settings { features, ..Settings::default() })
    }

    fn slice(version: &str, spec: &str) -> Object {
        let strategy = strategy();
        let kind = format!("resource.k8s.io/{version} ResourceSlice");
        decoded(&strategy, &kind, &format!(r#"{{"spec": {spec}}}"#))
    }

    fn devices(object: &Object) -> Value {
        object.fields.at("spec.devices").cloned().unwrap_or_default()
    }

    #[test]
    fn properties_of_a_device_were_once_under_basic() {
        let check = |old: &str, new: &str| {
            let mut object = slice("v1beta1", &format!(r#"{{"devices": {old}}}"#));
            (V1BETA1.to_stored)(&mut object);
            assert_eq!(devices(&object), tree(new), "{old}: {}", text(&devices(&object)));
            (V1BETA1.from_stored)(&mut object);
            assert_eq!(devices(&object), tree(old), "{new}: {}", text(&devices(&object)));
        };
        check(r#"[{"name": "a", "basic": {}}]"#, r#"[{"name": "a"}]"#);
        check(
            r#"[{"name": "a", "basic": {"attributes": {"m": {"string": "s"}}, "nodeName": "n", "allNodes": false}}]"#,
            r#"[{"name": "a", "attributes": {"m": {"string": "s"}}, "nodeName": "n", "allNodes": false}]"#,
        );
    }

    #[test]
    fn an_empty_node_is_no_node_for_the_old_version() {
        let mut object = slice("v1", r#"{"nodeName": "", "allNodes": false, "driver": "d"}"#);
        assert!(object.fields.at("spec.nodeName").is_some());
        (V1BETA1.from_stored)(&mut object);
        assert!(object.fields.at("spec.nodeName").is_none());
        assert!(object.fields.at("spec.allNodes").is_none());
    }

    #[test]
    fn a_mapping_is_one_to_one_in_either_version() {
        let mappings = r#"{"nodeAllocatableResourceMappings": {"cpu": {}}}"#;
        let expected = r#"{"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "1"}}}"#;
        let new = slice("v1", &format!(r#"{{"devices": [{mappings}]}}"#));
        let old = slice("v1beta1", &format!(r#"{{"devices": [{{"basic": {mappings}}}]}}"#));
        let first = |object: &Object| devices(object).as_list().unwrap()[0].as_map().unwrap().clone();
        let mappings_of = |value: Option<&Value>| {
            value.and_then(|it| it.as_map()?.get("nodeAllocatableResourceMappings").cloned())
        };
        let wanted = mappings_of(Some(&tree(expected)));
        assert_eq!(mappings_of(Some(&Value::Map(first(&new)))), wanted);
        assert_eq!(mappings_of(first(&old).get("basic")), wanted);
    }

    #[test]
    fn a_taint_knows_since_when() {
        let mut object = slice(
            "v1",
            r#"{"devices": [{"taints": [{"key": "a", "effect": "NoSchedule"},
                {"key": "b", "effect": "NoSchedule", "timeAdded": "2025-01-01T00:00:00Z"}]}]}"#,
        );
        strategy().prepare_create(&context(), &mut object);
        let found = text(&devices(&object));
        assert!(
            found.contains(r#""key":"a","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z""#),
            "{found}"
        );
        assert!(
            found.contains(r#""key":"b","effect":"NoSchedule","timeAdded":"2025-01-01T00:00:00Z""#),
            "{found}"
        );
    }

    #[test]
    fn drivers_with_capitals_are_frowned_upon() {
        let warnings = |spec: &str| strategy().warnings(&slice("v1", spec), None);
        assert_eq!(warnings(r#"{"driver": "a.example"}"#), Vec::<String>::new());
        assert_eq!(
            warnings(r#"{"driver": "A.example"}"#),
            ["spec.driver: driver names should be lowercase; \"A.example\" contains uppercase characters"]
        );
    }

    #[test]
    fn fields_of_features_that_are_off_are_dropped_unless_they_were_there() {
        let spec = r#"{"sharedCounters": [{"name": "c"}], "devices": [{"name": "a", "allNodes": true, "bindsToNode": true,
            "attributes": {"x": {"ints": [1]}}, "capacity": {"m": {"value": "1", "requestPolicy": {}}},
            "nodeAllocatableResourceMappings": {"cpu": {}}}]}"#;
        let mut new = slice("v1", spec);
        strategy().prepare_create(&context(), &mut new);
        let found = devices(&new);
        assert!(new.fields.at("spec.sharedCounters").is_none());
        let expected = r#"[{"name": "a", "attributes": {"x": {}}, "capacity": {"m": {"value": "1"}}}]"#;
        assert_eq!(found, tree(expected), "{}", text(&found));
        let (old, mut changed) = (slice("v1", spec), slice("v1", spec));
        strategy().prepare_update(&context(), &mut changed, &old);
        assert_eq!(changed.fields, old.fields);
    }
}
