//! ResourceClaim: a request for devices, and the allocated devices.

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Conversion, Strategy};

use super::claim_rules::{self, Constraints};
use super::{admin_access, claim_spec, forms, status_rules};
use crate::catalog::Settings;
use crate::shared::edit::{part, parts};
use crate::shared::gated::{Feature, Off};
use crate::shared::status;

pub(crate) const V1BETA1: Conversion = Conversion {
    to_stored: |object| part(&mut object.fields, "spec").into_iter().for_each(claim_spec::from_v1beta1),
    from_stored: |object| part(&mut object.fields, "spec").into_iter().for_each(claim_spec::to_v1beta1),
};

pub(super) const DEVICE_STATUS: &str = "DRAResourceClaimDeviceStatus";

/// Upstream: pkg/registry/resource/resourceclaim/strategy.go, dropDisabledStatusFields (v1.36.4).
const STATUS_FEATURES: &[Feature] = &[
    Feature { gates: &[DEVICE_STATUS], paths: &["status.devices"], signs: &[] },
    Feature {
        gates: &["DRAConsumableCapacity"],
        paths: &[
            "status.allocation.devices.results.*.shareID",
            "status.allocation.devices.results.*.consumedCapacity",
            "status.devices.*.shareID",
        ],
        signs: &[
            "spec.devices.constraints.*.distinctAttribute",
            "spec.devices.requests.*.exactly.capacity",
            "spec.devices.requests.*.firstAvailable.*.capacity",
        ],
    },
    Feature {
        gates: &["DRADeviceBindingConditions"],
        paths: &[
            "status.allocation.devices.results.*.bindingConditions",
            "status.allocation.devices.results.*.bindingFailureConditions",
        ],
        signs: &[],
    },
];

/// Features that v1.36 has for good.
const GRADUATED_OF_STATUS: &[Feature] = &[Feature {
    gates: &["DRAAdminAccess"],
    paths: &["status.allocation.devices.results.*.adminAccess"],
    signs: &["spec.devices.requests.*.exactly.adminAccess"],
}];

pub(crate) struct ResourceClaim {
    off: Off,
    off_in_status: Off,
    /// Whether drivers may report the status of devices.
    has_devices: bool,
    constraints: Constraints,
}

impl ResourceClaim {
    pub(crate) fn new(settings: &Settings) -> ResourceClaim {
        ResourceClaim {
            off: Off::of(settings, claim_spec::FEATURES).and_missing(settings, claim_spec::GRADUATED),
            off_in_status: Off::of(settings, STATUS_FEATURES).and_missing(settings, GRADUATED_OF_STATUS),
            has_devices: settings.is_on(DEVICE_STATUS),
            constraints: Constraints::of(settings),
        }
    }
}

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("State", state), Column::age()]
}

/// Upstream: pkg/printers/internalversion/printers.go, resourceClaimState (v1.36.4).
fn state(object: &Object) -> Cell {
    let going = object.meta.is_being_deleted();
    let status = object.fields.map("status");
    let allocated = status.is_some_and(|it| it.map("allocation").is_some());
    let reserved = status.is_some_and(|it| !it.list("reservedFor").is_empty());
    let states = [
        ("deleted", going),
        ("pending", !allocated && !going),
        ("allocated", allocated),
        ("reserved", allocated && reserved),
    ];
    let holding: Vec<&str> = states.iter().filter(|(_, holds)| *holds).map(|(state, _)| *state).collect();
    Cell::from(holding.join(","))
}

impl Strategy for ResourceClaim {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    fn default(&self, object: &mut Object) {
        part(&mut object.fields, "spec").into_iter().for_each(claim_spec::default);
        let allocation = part(&mut object.fields, "status").and_then(|it| part(it, "allocation"));
        if let Some(devices) = allocation.and_then(|it| part(it, "devices")) {
            parts(devices, "results").for_each(claim_spec::default_tolerations);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
        part(&mut object.fields, "spec").into_iter().for_each(|spec| self.off.drop_new(spec, None));
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
        let old = old.fields.map("spec");
        part(&mut object.fields, "spec").into_iter().for_each(|spec| self.off.drop_new(spec, old));
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
        self.off_in_status.drop_new(&mut object.fields, Some(&old.fields));
        let reported = old.fields.map("status").is_some_and(|it| !it.list("devices").is_empty());
        if self.has_devices || reported {
            drop_deallocated(object, old);
        }
    }

    fn validate(&self, context: &Context, object: &Object, errors: &mut FieldErrors) {
        let spec = object.fields.map("spec");
        admin_access::check_requests(context, &object.meta.namespace, spec, errors);
        if let Some(spec) = spec {
            claim_rules::check(spec, self.constraints, &Path::root("spec"), errors);
        }
    }

    /// The spec of a claim is immutable.
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let (now, before) = (object.fields.map("spec"), old.fields.map("spec"));
        forms::check_unchanged(now, before, forms::SPEC, &Path::root("spec"), errors);
    }

    /// Permissions come before this: see [`super::status_access`].
    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        status_rules::check(object, old, errors);
    }
}

/// Reports on devices go with their allocation.
///
/// Upstream: pkg/registry/resource/resourceclaim/strategy.go, dropDeallocatedStatusDevices (v1.36.4).
fn drop_deallocated(object: &mut Object, old: &Object) {
    let (before, now) = (allocated(old), allocated(object));
    let Some(status) = part(&mut object.fields, "status") else { return };
    let Some(devices) = status.get_mut("devices").and_then(Value::as_list_mut) else { return };
    devices.retain(|device| {
        let device = device.as_map().map(identity).unwrap_or_default();
        !before.contains(&device) || now.contains(&device)
    });
    if devices.is_empty() {
        status.remove("devices");
    }
}

/// Driver, pool, device and share.
pub(super) type Identity = [String; 4];

pub(super) fn identity(device: &Map) -> Identity {
    ["driver", "pool", "device", "shareID"].map(|key| String::from(device.str(key).unwrap_or_default()))
}

fn allocated(object: &Object) -> Vec<Identity> {
    let devices = object.fields.at("status.allocation.devices").and_then(Value::as_map);
    devices.into_iter().flat_map(|it| it.maps("results")).map(identity).collect()
}

#[cfg(test)]
mod tests {
    use keelson_object::{Cell, Object, Value};
    use keelson_registry::Strategy;

    use super::{ResourceClaim, state};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text};

    fn claim(body: &str) -> Object {
        decoded(&ResourceClaim::new(&Settings::default()), "resource.k8s.io/v1 ResourceClaim", body)
    }

    #[test]
    fn access_for_administrators_came_with_a_feature() {
        const BODY: &str = r#"{"spec": {"devices": {"requests": [{"name": "r",
            "exactly": {"deviceClassName": "c", "adminAccess": true}}]}}}"#;
        let check = |off: &[&str], old: Option<&str>, expected: bool| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let strategy = ResourceClaim::new(&Settings { off, ..Settings::default() });
            let mut object = claim(BODY);
            match old {
                Some(old) => strategy.prepare_update(&context(), &mut object, &claim(old)),
                None => strategy.prepare_create(&context(), &mut object),
            }
            let spec = object.fields.get("spec").cloned().unwrap_or_default();
            assert_eq!(text(&spec).contains("adminAccess"), expected, "{old:?}");
        };
        check(&[], None, true);
        check(&["DRAAdminAccess"], None, false);
        check(&["DRAAdminAccess"], Some("{}"), false);
        check(&["DRAAdminAccess"], Some(BODY), true);
    }

    #[test]
    fn the_table_tells_how_far_a_claim_is() {
        let check = |body: &str, expected: &str| {
            assert_eq!(state(&claim(body)), Cell::from(expected), "{body}");
        };
        check("{}", "pending");
        check(r#"{"status": {"allocation": {}}}"#, "allocated");
        check(r#"{"status": {"allocation": {}, "reservedFor": [{"name": "p"}]}}"#, "allocated,reserved");
        let going = r#""metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}"#;
        check(&format!("{{{going}}}"), "deleted");
        check(&format!(r#"{{{going}, "status": {{"allocation": {{}}}}}}"#), "deleted,allocated");
    }

    #[test]
    fn reports_go_with_their_allocation() {
        let device = |name: &str| format!(r#"{{"driver": "d", "pool": "p", "device": "{name}"}}"#);
        let status = |allocated: &[&str], reported: &[&str]| {
            let list = |names: &[&str]| names.iter().map(|it| device(it)).collect::<Vec<_>>().join(",");
            claim(&format!(
                r#"{{"status": {{"allocation": {{"devices": {{"results": [{}]}}}}, "devices": [{}]}}}}"#,
                list(allocated),
                list(reported)
            ))
        };
        let check = |old: &Object, mut new: Object, expected: &[&str]| {
            ResourceClaim::new(&Settings::default()).prepare_status_update(&context(), &mut new, old);
            let devices = new.fields.at("status.devices").cloned().unwrap_or_default();
            let names = devices.as_list().unwrap_or_default().iter();
            let found: Vec<&str> = names.filter_map(|it| it.as_map()?.str("device")).collect();
            assert_eq!(found, expected, "{}", text(&devices));
        };
        let old = status(&["a", "b"], &["a", "b"]);
        check(&old, status(&["a", "b"], &["a", "b"]), &["a", "b"]);
        check(&old, status(&["a"], &["a", "b"]), &["a"]);
        check(&old, status(&[], &["a", "b"]), &[]);
        check(&old, status(&["a", "b"], &["a", "c"]), &["a", "c"]);
    }

    #[test]
    fn tolerations_of_what_was_allocated_are_filled_in() {
        let body =
            r#"{"status": {"allocation": {"devices": {"results": [{"tolerations": [{"key": "k"}]}]}}}}"#;
        let found = claim(body);
        let results = found.fields.at("status.allocation.devices.results").and_then(Value::as_list);
        let tolerations = results.unwrap()[0].as_map().unwrap().list("tolerations");
        assert_eq!(tolerations[0].as_map().unwrap().str("operator"), Some("Equal"));
    }
}
